package core

// usualKey is room for a key with a hashed identity; longer ones make the account's keys an
// allocation of their own.
const usualKey = 56

// An account and the slices it hands to a store are one allocation, and most of what a decision
// costs is its size: it is made in the smallest of these that holds the plan's limits.
type (
	roomOf2 struct {
		account

		b [2]Bucket
		o [2]Outcome
		s [2]*planLimit
		k [2 * usualKey]byte
	}
	roomOf3 struct {
		account

		b [3]Bucket
		o [3]Outcome
		s [3]*planLimit
		k [3 * usualKey]byte
	}
	roomOf4 struct {
		account

		b [4]Bucket
		o [4]Outcome
		s [4]*planLimit
		k [4 * usualKey]byte
	}
	roomOf8 struct {
		account

		b [8]Bucket
		o [8]Outcome
		s [8]*planLimit
		k [8 * usualKey]byte
	}
)

// roomFor makes an account for n limits. LimitsFor may bring more than the policy has: the slices
// then grow beyond it.
func roomFor(n int) *account {
	switch {
	case n == 0: // exempt, or on a list: a flood from the deny list should cost little
		return new(account)
	case n <= 2:
		r := new(roomOf2)
		return r.with(r.b[:0], r.o[:0], r.s[:0], r.k[:0])
	case n == 3:
		r := new(roomOf3)
		return r.with(r.b[:0], r.o[:0], r.s[:0], r.k[:0])
	case n == 4:
		r := new(roomOf4)
		return r.with(r.b[:0], r.o[:0], r.s[:0], r.k[:0])
	case n <= 8:
		r := new(roomOf8)
		return r.with(r.b[:0], r.o[:0], r.s[:0], r.k[:0])
	}
	return new(account).with(make([]Bucket, 0, n), make([]Outcome, 0, n), make([]*planLimit, 0, n), nil)
}

func (a *account) with(b []Bucket, o []Outcome, s []*planLimit, k []byte) *account {
	a.buckets, a.outcomes, a.shown, a.keys = b, o, s, k
	return a
}
