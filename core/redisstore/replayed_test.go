package redisstore_test

import (
	"cmp"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/ledger"
)

// replay is what all processes saw, told to the model.
type replay struct {
	t       *testing.T
	memory  bool // denials are remembered
	told    []told
	ledgers map[string]ledger.Ledger
	charged map[[2]int][]*ledger.Entry // by the process and number of a take, of each of its buckets
	cases   map[string]*tally
	open    []*recall

	decided, joined, remembered, stale, differences int
	least                                           time.Duration // between two calls
}

// told is an event of a process.
type told struct {
	*event
	process, number int
}

type tally struct{ admitted, refused int }

func newReplay(t *testing.T, memory bool) *replay {
	return &replay{
		t: t, memory: memory, ledgers: map[string]ledger.Ledger{}, charged: map[[2]int][]*ledger.Entry{}, cases: map[string]*tally{}, least: time.Hour,
	}
}

func (r *replay) add(process, number int, e *event) {
	r.told = append(r.told, told{e, process, number})
}

// run goes through everything in the order in which it was decided: by the server's clock, and where many checks were in
// one call, as they stood there. The server's clock gives no two calls the same instant: it runs one after the other,
// and each takes longer than a microsecond.
func (r *replay) run() {
	r.t.Helper()
	slices.SortFunc(r.told, func(a, b told) int {
		return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.process, b.process), cmp.Compare(a.Call, b.Call), cmp.Compare(a.Place, b.Place))
	})
	last := told{event: &event{}}
	for _, e := range r.told {
		if e.remembered() {
			r.recalled(e)
			continue
		}
		if e.process != last.process || e.Call != last.Call {
			if e.At.Equal(last.At) {
				r.t.Fatalf("two calls at %v: nobody knows which came first", e.At)
			}
			r.least = min(r.least, e.At.Sub(last.At))
		}
		last = e
		r.apply(e)
		r.confirm(e.At)
	}
	r.confirm(last.At.Add(time.Hour))
	r.conclude()
}

func (r *replay) conclude() {
	r.t.Helper()
	for i := range shared {
		if c := r.cases[shared[i].name]; c == nil || c.admitted == 0 || c.refused == 0 {
			r.t.Errorf("%s: %+v, want some of each", shared[i].name, c)
		}
	}
	if !r.memory && r.remembered > 0 || r.memory && r.remembered == 0 && !raceEnabled {
		r.t.Errorf("%d refused from memory, which is on: %v", r.remembered, r.memory)
	}
	if r.joined == 0 {
		r.t.Error("no call held several checks")
	}
	r.t.Logf("%d decisions of %d processes, %d of them behind others in one call, %d differences; %d more were refused from memory, %d of them though another process had given something back; calls were %v apart or more",
		r.decided, processes, r.joined, r.differences, r.remembered, r.stale, r.least)
}

// apply tells the model of one event, and holds the answer to what that says.
func (r *replay) apply(e told) {
	r.t.Helper()
	buckets := e.buckets()
	if e.Op == "take" || e.Op == "peek" {
		r.judge(e, buckets)
		return
	}
	for i, b := range buckets {
		g := r.ledgers[b.Key]
		switch e.Op {
		case "debit":
			g.Note("debited", b.Limit, e.At, b.Cost, nil)
		case "reset":
			g.Note("reset", b.Limit, e.At, 0, nil)
		case "refund":
			if of := r.charged[[2]int{e.process, e.Of}][i]; of != nil {
				g.Note("refunded", b.Limit, e.At, b.Cost, of)
			}
		}
		r.ledgers[b.Key] = g
	}
}

func (r *replay) judge(e told, buckets []core.Bucket) {
	r.t.Helper()
	want, all := make([]core.Outcome, len(buckets)), true
	for i, b := range buckets {
		want[i] = r.ledgers[b.Key].Read(b.Limit, e.At, b.Cost, e.Out[i])
		all = all && (want[i].Admits || b.Shadow)
	}
	entries := make([]*ledger.Entry, len(buckets))
	for i, b := range buckets {
		g := r.ledgers[b.Key]
		if e.Op == "take" {
			g.Note("judged", b.Limit, e.At, 0, nil)
		}
		if e.Op == "take" && want[i].Admits && (all || b.Shadow) {
			entries[i] = g.Charge(b.Limit, e.At, b.Cost)
			delay := want[i].Delay
			want[i] = g.Read(b.Limit, e.At, 1, e.Out[i])
			want[i].Admits, want[i].Charged, want[i].Delay, want[i].RetryAfter = true, true, delay, 0
		}
		r.ledgers[b.Key] = g
		r.compare(e, b, e.Out[i], want[i])
	}
	r.charged[[2]int{e.process, e.number}] = entries
	if r.decided++; e.Place > 1 {
		r.joined++
	}
	if e.Op == "take" {
		r.count(e, all)
	}
}

func (r *replay) count(e told, admitted bool) {
	name := shared[e.Round/len(mixes)%len(shared)].name
	if r.cases[name] == nil {
		r.cases[name] = new(tally)
	}
	if admitted {
		r.cases[name].admitted++
	} else {
		r.cases[name].refused++
	}
}

func (r *replay) compare(e told, b core.Bucket, got, want core.Outcome) {
	r.t.Helper()
	want.Source = core.FromShared
	got.Receipt = core.Receipt{}
	if b.Cost > b.Limit.Capacity() {
		got.RetryAfter = want.RetryAfter // never, whatever it says
	}
	if got == want {
		return
	}
	if r.differences++; r.differences <= 5 {
		r.t.Errorf("%s: process %d, %s at %d of %v, cost %d, shadow %v:\n got %+v\nwant %+v\nafter%s", b.Level, e.process, e.Op, e.At.UnixNano(), b.Limit, b.Cost, b.Shadow, got, want, r.ledgers[b.Key])
	}
}

// recall is a refusal from memory that the model has not confirmed yet.
type recall struct {
	told
	said string
}

// recalled holds a refusal from memory to the model, which has to refuse as well at some instant between question and
// answer: when it came, or right after something else that was decided meanwhile.
func (r *replay) recalled(e told) {
	r.t.Helper()
	r.remembered++
	r.count(e, false)
	for _, o := range e.Out {
		if o.Charged {
			r.t.Errorf("charged from memory: %+v", o)
		}
	}
	r.open = append(r.open, &recall{told: e})
	r.confirm(e.At)
}

// confirm asks the model about the refusals from memory that it has not confirmed. What one process has given back,
// the others may not know.
func (r *replay) confirm(now time.Time) {
	r.t.Helper()
	r.open = slices.DeleteFunc(r.open, func(e *recall) bool {
		if now.After(e.Until) {
			if r.stale++; !givesBack(e.Round) {
				r.t.Errorf("process %d refused from memory at %d what the model admits:%s", e.process, e.At.UnixNano(), e.said)
			}
			return true
		}
		for i, b := range e.buckets() {
			o := r.ledgers[b.Key].Read(b.Limit, now, b.Cost, core.Outcome{})
			if !o.Admits && !b.Shadow {
				return true
			}
			e.said += fmt.Sprintf("\n%v, cost %d: %+v, the model at %d %+v", b.Limit, b.Cost, e.Out[i], now.UnixNano(), o)
		}
		return false
	})
}
