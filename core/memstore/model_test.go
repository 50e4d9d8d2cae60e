package memstore_test

import (
	"math/big"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// model is a token bucket as a textbook has it: a number of tokens, exact, that grows with time.
// It shares no arithmetic with the store.
type model struct {
	tokens *big.Rat
	limit  core.Limit
	at     int64 // ns
}

func rat(n int64) *big.Rat { return new(big.Rat).SetInt64(n) }

// unitTime is Period/Quota rounded up to a nanosecond, as the design says.
func unitTime(l core.Limit) *big.Rat {
	return rat(ceil(new(big.Rat).SetFrac64(int64(l.Period), l.Quota)))
}

func ceil(r *big.Rat) int64 {
	q, m := new(big.Int).DivMod(r.Num(), r.Denom(), new(big.Int))
	if m.Sign() > 0 {
		q.Add(q, big.NewInt(1))
	}
	return q.Int64()
}

func floor(r *big.Rat) int64 { return new(big.Int).Div(r.Num(), r.Denom()).Int64() }

func newModel(l core.Limit, now int64) *model {
	return &model{tokens: rat(l.Capacity()), limit: l, at: now}
}

// as gives the bucket at an instant under a limit: what is owed is time.
func (m *model) as(l core.Limit, now int64) *model {
	capacity := rat(m.limit.Capacity())
	refill := new(big.Rat).Quo(rat(now-m.at), unitTime(m.limit))
	tokens := new(big.Rat).Add(m.tokens, refill)
	if tokens.Cmp(capacity) > 0 {
		tokens.Set(capacity)
	}
	if l != m.limit {
		owed := new(big.Rat).Sub(capacity, tokens)
		owed.Mul(owed, unitTime(m.limit)) // ns
		owed.Quo(owed, unitTime(l))       // units at the new rate
		tokens = owed.Sub(rat(l.Capacity()), owed)
	}
	return &model{tokens: tokens, limit: l, at: now}
}

// forgiven is the bucket without what it owes beyond the time from empty to full. A judgement
// forgives it; what merely moves the bucket does not.
func (m *model) forgiven() *model {
	if m.tokens.Sign() < 0 {
		m.tokens.SetInt64(0)
	}
	return m
}

// debit takes what there is, down to empty.
func (m *model) debit(units int64) {
	if m.admits(units) {
		m.add(rat(-units))
	} else if m.tokens.Sign() > 0 {
		m.tokens.SetInt64(0)
	}
}

func (m *model) admits(cost int64) bool { return m.tokens.Cmp(rat(cost)) >= 0 }

func (m *model) remaining() int64 { return floor(m.tokens) }

// until is how long it takes to hold that many tokens.
func (m *model) until(tokens int64) time.Duration {
	missing := new(big.Rat).Sub(rat(tokens), m.tokens)
	if missing.Sign() <= 0 {
		return 0
	}
	return time.Duration(ceil(missing.Mul(missing, unitTime(m.limit))))
}

func (m *model) next() time.Duration {
	if m.tokens.Cmp(rat(m.limit.Capacity())) >= 0 {
		return 0
	}
	return m.until(m.remaining() + 1)
}

func (m *model) add(units *big.Rat) {
	m.tokens.Add(m.tokens, units)
	if capacity := rat(m.limit.Capacity()); m.tokens.Cmp(capacity) > 0 {
		m.tokens.Set(capacity)
	}
}
