package redisstore

import (
	"hash/maphash"
	"math/bits"
)

// keyring numbers the keys of a batch, from 1, so that each is sent once however many checks share it.
type keyring struct {
	seed    maphash.Seed
	numbers []uint16 // of every bucket of every call, in order
	keys    []string // those with a number of their own
	table   []uint16 // number by hash, open addressing; empty while no key can be there twice
}

// open makes room for the keys of some calls. No check has a key twice.
func (r *keyring) open(calls []*call) {
	r.numbers, r.keys, r.table = r.numbers[:0], r.keys[:0], r.table[:0]
	if len(calls) < 2 {
		return
	}
	if r.seed == (maphash.Seed{}) {
		r.seed = maphash.MakeSeed()
	}
	n := 0
	for _, c := range calls {
		n += len(c.units)
	}
	size := 1 << bits.Len(uint(2*n))
	if cap(r.table) < size {
		r.table = make([]uint16, size)
	}
	r.table = r.table[:size]
	clear(r.table)
}

// add notes the number of the next bucket's key and reports whether it is a new one.
func (r *keyring) add(key string) bool {
	place := (*uint16)(nil)
	if mask := uint64(len(r.table) - 1); len(r.table) > 0 {
		at := maphash.String(r.seed, key) & mask
		for ; r.table[at] != 0; at = (at + 1) & mask {
			if n := r.table[at]; r.keys[n-1] == key {
				r.numbers = append(r.numbers, n)
				return false
			}
		}
		place = &r.table[at]
	}
	r.keys = append(r.keys, key)
	n := uint16(len(r.keys))
	if place != nil {
		*place = n
	}
	r.numbers = append(r.numbers, n)
	return true
}

// clear forgets the keys.
func (r *keyring) clear() { clear(r.keys) }
