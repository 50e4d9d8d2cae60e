package core

import (
	"cmp"
	"net/netip"
	"slices"
)

// prefixSet is prefixes of which none holds another, in the order of their addresses: whatever
// holds an address is the last one that does not begin after it.
type prefixSet []netip.Prefix

// newPrefixSet wants prefixes that are masked and not 4-in-6.
func newPrefixSet(prefixes []netip.Prefix) prefixSet {
	sorted := slices.SortedFunc(slices.Values(prefixes), func(a, b netip.Prefix) int {
		return cmp.Or(a.Addr().Compare(b.Addr()), cmp.Compare(a.Bits(), b.Bits()))
	})
	var set prefixSet
	for _, p := range sorted {
		if last := len(set) - 1; last < 0 || !set[last].Contains(p.Addr()) {
			set = append(set, p)
		}
	}
	return slices.Clip(set)
}

// has takes an address in any form; the zero one is in no prefix.
func (s prefixSet) has(addr netip.Addr) bool {
	if len(s) == 0 {
		return false
	}
	addr = addr.Unmap().WithZone("")
	low, high := 0, len(s)
	for low < high {
		middle := int(uint(low+high) >> 1)
		if s[middle].Addr().Compare(addr) <= 0 {
			low = middle + 1
		} else {
			high = middle
		}
	}
	return low > 0 && s[low-1].Contains(addr)
}
