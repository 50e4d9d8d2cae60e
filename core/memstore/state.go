package memstore

import (
	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/counter"
)

// state is a slot's bucket where that is more than an instant. It is a copy: what a denied request
// makes of it is forgotten. Nothing is looked up in it once the shard is unlocked, for a log may
// be in the same memory as the one that is stored.
type state struct {
	counter.Counter

	held    counter.State
	cost    int64 // units
	view    counter.View
	receipt core.Receipt
}

// judge brings the state up to now, and reports whether that has to be stored.
func (st *state) judge(now int64) (stale bool) {
	stale = st.Roll(&st.held, now)
	st.view = st.Look(&st.held, now, st.cost)
	return stale
}

func (st *state) charge(now int64) {
	st.receipt = st.Charge(&st.held, now, st.cost)
	left := st.Look(&st.held, now, st.cost)
	st.view.Remaining, st.view.Next = left.Remaining, left.Next
}

func (st *state) tell(o *core.Outcome) {
	if !o.Admits {
		o.RetryAfter = st.view.Retry()
	}
	o.Receipt = st.receipt
	o.Remaining, o.ResetAfter = st.view.Remaining, st.view.Next
}
