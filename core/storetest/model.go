package storetest

import (
	"math/big"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// model is a token bucket written to be obviously right: it remembers every charge, and adds up
// from the first one each time it is asked. Only the rounding of one unit's time is shared.
type model struct {
	charges []charge
}

type charge struct {
	at   time.Time
	cost *big.Int // nanoseconds
}

func unitTime(l core.Limit) *big.Int {
	ns, rest := new(big.Int).DivMod(big.NewInt(int64(l.Period)), big.NewInt(l.Quota), new(big.Int))
	if rest.Sign() > 0 {
		ns.Add(ns, big.NewInt(1))
	}
	return ns
}

func (m *model) debt(now time.Time) *big.Int {
	debt, last := new(big.Int), time.Time{}
	drain := func(to time.Time) {
		debt.Sub(debt, big.NewInt(int64(to.Sub(last))))
		if debt.Sign() < 0 {
			debt.SetInt64(0)
		}
		last = to
	}
	for i, c := range m.charges {
		if i == 0 {
			last = c.at
		}
		drain(c.at)
		debt.Add(debt, c.cost)
	}
	if len(m.charges) > 0 {
		drain(now)
	}
	return debt
}

// take answers as a store's Take of one bucket would.
func (m *model) take(now time.Time, l core.Limit, units int64) core.Outcome {
	unit := unitTime(l)
	capacity := new(big.Int).Mul(unit, big.NewInt(l.Capacity()))
	cost := new(big.Int).Mul(unit, big.NewInt(units))
	debt := m.debt(now)
	over := new(big.Int).Sub(new(big.Int).Add(debt, cost), capacity)
	var o core.Outcome
	if over.Sign() <= 0 {
		o.Admits, o.Charged = true, true
		m.charges = append(m.charges, charge{now, cost})
		debt.Add(debt, cost)
	} else {
		o.RetryAfter = time.Duration(over.Int64())
	}
	free := new(big.Int).Sub(capacity, debt)
	o.Remaining = new(big.Int).Div(free, unit).Int64()
	if debt.Sign() > 0 {
		next := new(big.Int).Mod(debt, unit)
		if next.Sign() == 0 {
			next = unit
		}
		o.ResetAfter = time.Duration(next.Int64())
	}
	return o
}

var modelTests = map[string]func(*testing.T, *harness){
	"agrees with a slow model at random": func(t *testing.T, h *harness) {
		seed := uint64(time.Now().UnixNano())
		r := rand.New(rand.NewPCG(seed, 0))
		for round := range 20 {
			l := randomLimit(r)
			b, m := bucket(string(rune('a'+round)), l), new(model)
			for step := range 100 {
				h.Clock.Advance(randomGap(r, l))
				units := 1 + r.Int64N(min(l.Capacity(), 5))
				got, want := h.take(t, costing(b, units))[0], m.take(h.Clock.Now(), l, units)
				got.Source, got.Receipt = want.Source, want.Receipt
				if got != want {
					t.Fatalf("seed %d, %v, step %d, cost %d:\n got %s\nwant %s", seed, l, step, units, show(got), show(want))
				}
			}
		}
	},
}

func randomLimit(r *rand.Rand) core.Limit {
	periods := []time.Duration{100 * time.Millisecond, time.Second, 7 * time.Second, time.Minute, time.Hour, day}
	l := core.Per(1+r.Int64N(1000), periods[r.IntN(len(periods))])
	if r.IntN(2) == 0 {
		l.Burst = 1 + r.Int64N(50)
	}
	return l
}

// randomGap is about a unit's time, often exactly one, sometimes long.
func randomGap(r *rand.Rand, l core.Limit) time.Duration {
	unit := time.Duration(unitTime(l).Int64())
	switch r.IntN(6) {
	case 0:
		return 0
	case 1:
		return unit
	case 2:
		return unit - 1
	case 3:
		return time.Duration(r.Int64N(int64(unit) * 20))
	}
	return time.Duration(r.Int64N(int64(unit)))
}
