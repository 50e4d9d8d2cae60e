package core_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

// network makes a prefix of a family, bits and some bytes, near the others of its kind.
func network(family, bits, a, b byte) netip.Prefix {
	addr := netip.AddrFrom4([4]byte{10, a & 3, b, a})
	switch family % 3 {
	case 1:
		addr = netip.AddrFrom16([16]byte{0: 0x20, 1: 1, 6: a & 3, 7: b, 8: a, 15: b})
	case 2:
		addr = netip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: 10, 13: a & 3, 14: b, 15: a})
	}
	length := int(bits) % (addr.BitLen() + 1)
	if addr.Is4In6() {
		length = 96 + int(bits)%33
	}
	return netip.PrefixFrom(addr, length).Masked()
}

// holds is what a list means, the slow way.
func holds(prefixes []netip.Prefix, addr netip.Addr) bool {
	for _, p := range prefixes {
		if p.Addr().Is4In6() {
			p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96)
		}
		if p.Contains(addr.Unmap().WithZone("")) {
			return true
		}
	}
	return false
}

func FuzzListedAddresses(f *testing.F) {
	f.Add([]byte{0, 8, 0, 0, 0, 32, 1, 2, 1, 64, 3, 4, 2, 24, 1, 1}, []byte{10, 1, 2, 1})
	f.Add([]byte{0, 0, 0, 0}, []byte{0: 0x20, 1: 1, 15: 0})
	f.Add([]byte{1, 0, 0, 0, 1, 128, 7, 7, 1, 127, 7, 7}, []byte{0: 0x20, 1: 1, 7: 7, 8: 7, 15: 7})
	for seed := range uint64(8) {
		random, many := rand.New(rand.NewPCG(seed, 1)), []byte{}
		for range 400 {
			many = binary.LittleEndian.AppendUint32(many, random.Uint32())
		}
		f.Add(many, many[:4])
	}
	f.Fuzz(func(t *testing.T, networks, address []byte) {
		var list core.List
		var probes []netip.Addr
		for ; len(networks) >= 4 && len(list.IPs) < 500; networks = networks[4:] {
			p := network(networks[0], networks[1], networks[2], networks[3])
			list.IPs = append(list.IPs, p)
			probes = append(probes, p.Addr(), p.Addr().Prev(), p.Addr().Next(), p.Addr().Unmap(), network(networks[0], 255, networks[3], networks[2]).Addr())
		}
		if addr, ok := netip.AddrFromSlice(address); ok {
			probes = append(probes, addr, addr.Prev(), addr.Next(), addr.WithZone("eth0"))
		}
		l := limiter(t, scripted(), core.Exempt, core.WithDenyList(list))
		for _, addr := range probes {
			d := l.Check(ctx, core.Request{IP: addr})
			if want := holds(list.IPs, addr); d.Allowed == want || (d.Reason == core.Listed) != want {
				t.Fatalf("%v: %+v, want it listed %v in %v", addr, d, want, list.IPs)
			}
		}
	})
}
