package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// spread is a check whose buckets lie on several tags.
type spread struct {
	cluster *cluster
	op      operation
	parts   []part
	ends    time.Time // of the budget
}

// fly sends all parts at once and waits for each, within one budget.
func (s *spread) fly(ctx context.Context) {
	for i := range s.parts {
		p := &s.parts[i]
		s.cluster.store.denials.track(p.call)
		if err := p.node.queue.join(p.call); err != nil {
			p.err = p.node.fault(err)
			p.call.state.Store(answered)
			p.call.done <- struct{}{}
		}
	}
	s.wait(ctx)
}

// wait takes the answers of all parts that fly, and leaves those whose answer does not come.
func (s *spread) wait(ctx context.Context) {
	timer := time.NewTimer(time.Until(s.ends))
	defer timer.Stop()
	var over error
	for i := range s.parts {
		p := &s.parts[i]
		if over == nil {
			select {
			case <-p.call.done:
				s.note(p)
				continue
			case <-timer.C:
				over = errBudget
			case <-ctx.Done():
				over = gone(ctx)
			}
		}
		if p.call.abandon() {
			p.left = true
			p.err = over
			if errors.Is(over, errBudget) {
				p.err = p.node.fault(over)
			}
			continue
		}
		<-p.call.done
		s.note(p)
	}
}

// note takes an answer, unless there is none because the queue did not take the part.
func (s *spread) note(p *part) {
	if p.err == nil {
		p.err = p.call.err
	}
}

// conclude makes one answer of the parts': all or nothing. A part without an answer is an error of its
// buckets, for their OnFailure to judge, as long as any part has one.
func (s *spread) conclude(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	var failed error
	answers, refused := 0, false
	for i := range s.parts {
		switch p := &s.parts[i]; {
		case p.err == nil:
			answers++
			refused = refused || !p.call.admitted()
		case failed == nil || core.FaultOf(p.err) == core.FaultCaller:
			failed = p.err
		}
	}
	whole := failed != nil && (answers == 0 || !s.op.judges() || core.FaultOf(failed) == core.FaultCaller)
	if failed != nil && !whole {
		refused = s.mark(buckets, out) || refused
	}
	for i := range s.parts {
		if p := &s.parts[i]; p.err == nil && s.op.judges() && !whole {
			if !refused || !p.call.admitted() {
				s.cluster.store.denials.learn(p.call)
			}
			p.call.outcomes(out, p.call.admitted() && !refused)
		}
	}
	s.undo(ctx, refused, whole)
	if whole {
		return failed
	}
	return nil
}

// mark notes on each bucket of a failed part that it was not judged, and reports whether the request is
// refused for one of them whatever the others say.
func (s *spread) mark(buckets []core.Bucket, out []core.Outcome) (refused bool) {
	for i := range buckets {
		b, tag := &buckets[i], tagOf(buckets[i].Key)
		for j := range s.parts {
			if p := &s.parts[j]; p.tag == tag && p.err != nil {
				out[i] = core.Outcome{Source: core.FromNothing, Err: p.err}
				refused = refused || (!b.Shadow && (b.OnFailure == core.Closed || b.Cost > b.Limit.Capacity()))
			}
		}
	}
	return refused
}

// undo gives back what a refused request was charged, and all where nobody learns of the charge. It is
// worth waiting for as long as the budget lasts: a caller who was told no may ask again at once.
func (s *spread) undo(ctx context.Context, refused, whole bool) {
	back := s.parts[:0]
	for _, p := range s.parts {
		if p.left {
			continue
		}
		if c := p.call; p.err == nil && (refused || whole) && c.giveBack(!whole) {
			c.state.Store(waiting)
			p.node = s.cluster.table.Load()[p.tag]
			p.node.queue.add(c)
			back = append(back, p)
		} else {
			p.node.queue.release(c)
		}
	}
	if s.parts = back; len(back) == 0 {
		return
	}
	s.wait(ctx)
	for _, p := range back {
		if !p.left {
			if p.call.err == nil && refused {
				s.cluster.store.denials.relearn(p.call)
			}
			p.node.queue.release(p.call)
		}
	}
}
