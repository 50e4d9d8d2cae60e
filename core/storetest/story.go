package storetest

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// buckets are some of the keys, each once, in any order. One that does not start full is alone: in a
// Cluster a charge that is given back at once is a use of it as well, for how long it stays known.
func (s *trial) buckets() (keys []int, buckets []core.Bucket) {
	keys = s.r.Perm(len(s.keys))[:1+s.r.IntN(len(s.keys))]
	for _, k := range keys {
		l := s.limits[k][0]
		if s.r.IntN(10) == 0 { // the policy has changed
			l = s.limits[k][s.r.IntN(len(s.limits[k]))]
		}
		b := costing(bucket(s.keys[k], l), 1+s.r.Int64N(1+s.r.Int64N(4)))
		b.Shadow = s.r.IntN(6) == 0
		if s.r.IntN(10) == 0 {
			b.Cost = l.Capacity() + s.r.Int64N(2)
		}
		if l.Start() < l.Capacity() {
			return []int{k}, []core.Bucket{b}
		}
		buckets = append(buckets, b)
	}
	return keys, buckets
}

func (s *trial) judge(charge bool) {
	keys, buckets := s.buckets()
	now, all := s.h.Clock.Now(), true
	want := make([]core.Outcome, len(keys))
	for i, k := range keys {
		want[i] = s.ledgers[k].Read(buckets[i].Limit, now, buckets[i].Cost, core.Outcome{})
		all = all && (want[i].Admits || buckets[i].Shadow)
	}
	got, what := []core.Outcome(nil), "peek"
	if charge {
		got, what = s.h.take(s.t, buckets...), "take"
	} else {
		got = s.h.peek(s.t, buckets...)
	}
	for i, k := range keys {
		b, g := buckets[i], &s.ledgers[k]
		if charge && got[i].Source != core.FromCache { // from which nothing was asked
			g.Note("judged", b.Limit, now, 0, nil)
		}
		if charge && want[i].Admits && (all || b.Shadow) {
			p := paid{k, b, got[i], g.Charge(b.Limit, now, b.Cost)}
			delay := want[i].Delay
			want[i] = g.Read(b.Limit, now, 1, core.Outcome{})
			want[i].Admits, want[i].Charged, want[i].Delay, want[i].RetryAfter = true, true, delay, 0
			s.paid = append(s.paid, p)
		}
		s.compare(fmt.Sprintf("%s %d of %d", what, i, len(keys)), k, b, got[i], want[i])
	}
}

func (s *trial) compare(what string, k int, b core.Bucket, got, want core.Outcome) {
	s.t.Helper()
	if got.Source == core.FromCache && !want.Charged {
		return // a refusal, which may know of no later debit
	}
	got.Source, got.Receipt = want.Source, want.Receipt
	if b.Cost > b.Limit.Capacity() {
		got.RetryAfter = want.RetryAfter // never, whatever it says
	}
	if got != want && !s.late() {
		s.t.Errorf("%s, at %d: %s of %v, cost %d, shadow %v:\n got %s\nwant %s\nafter%s", s.name, s.h.Clock.Now().UnixNano(), what, b.Limit, b.Cost, b.Shadow, show(got), show(want), s.ledgers[k])
	}

	s.wait = []time.Duration{got.RetryAfter, got.ResetAfter, got.Delay}[s.r.IntN(3)]
}

func (s *trial) debit() {
	keys, buckets := s.buckets()
	s.h.debit(s.t, buckets...)
	for i, k := range keys {
		s.ledgers[k].Note("debited", buckets[i].Limit, s.h.Clock.Now(), buckets[i].Cost, nil)
	}
}

// refund gives back some of one charge.
func (s *trial) refund() {
	i := s.r.IntN(len(s.paid))
	p := s.paid[i]
	s.paid = slices.Delete(s.paid, i, i+1)
	p.bucket.Cost = 1 + s.r.Int64N(p.bucket.Cost)
	s.h.refund(s.t, []core.Bucket{p.bucket}, []core.Outcome{p.outcome})
	s.ledgers[p.key].Note("refunded", p.bucket.Limit, s.h.Clock.Now(), p.bucket.Cost, p.entry)
}

// reset forgets the charges too: to give one back would give back another's.
func (s *trial) reset() {
	keys, buckets := s.buckets()
	if err := s.h.Store.Reset(context.Background(), buckets); err != nil {
		s.t.Fatalf("Reset: %v", err)
	}
	for i, k := range keys {
		s.ledgers[k].Note("reset", buckets[i].Limit, s.h.Clock.Now(), 0, nil)
		s.paid = slices.DeleteFunc(s.paid, func(p paid) bool { return p.key == k })
	}
}
