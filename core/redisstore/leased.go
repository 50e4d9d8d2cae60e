package redisstore

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// leased is a request that leases are to serve as far as they can. What a lease holds for it is
// spent before Redis is asked about the rest, and put back if that comes to nothing.
type leased struct {
	buckets []core.Bucket
	out     []core.Outcome
	parts   []draw
	now     int64
}

// draw is where a bucket of a request is charged.
type draw struct {
	lease  *lease // nil: it has none
	number uint64 // the grant; 0: in Redis
}

// takeLeased is Take for requests of which a bucket may be leased.
func (s *Store) takeLeased(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	if ctx.Err() != nil {
		return gone(ctx)
	}
	var room [8]draw
	t := leased{buckets: buckets, out: out, parts: append(room[:0], make([]draw, len(buckets))...), now: s.leases.now()}
	if t.spend(&s.leases) == 0 {
		return nil
	}
	return t.ask(ctx, s)
}

// spend charges what leases hold and returns for how many buckets they do not.
func (t *leased) spend(ls *leases) (missing int) {
	for i := range t.buckets {
		b, p := &t.buckets[i], &t.parts[i]
		if p.lease = ls.of(b, t.now); p.lease != nil {
			p.number = p.lease.spend(b.Cost, t.now, &t.out[i])
		}
		if p.number == 0 {
			missing++
		}
	}
	return missing
}

// ask has Redis decide about the rest.
func (t *leased) ask(ctx context.Context, s *Store) error {
	var bucketRoom [4]core.Bucket
	var outcomeRoom [4]core.Outcome
	buckets, outcomes := bucketRoom[:0], outcomeRoom[:0]
	for i := range t.parts {
		if p := &t.parts[i]; p.number == 0 {
			buckets, outcomes = append(buckets, t.buckets[i]), append(outcomes, core.Outcome{})
			s.fetch(p.lease, &t.buckets[i], t.now)
		}
	}
	err := s.do(ctx, opTake, buckets, outcomes)
	admitted := err == nil
	for i := range outcomes {
		admitted = admitted && (outcomes[i].Admits || buckets[i].Shadow)
	}
	t.settle(&s.leases, outcomes, admitted)
	return err
}

// fetch has a block on its way before Redis is asked: the two may share a call.
func (s *Store) fetch(l *lease, b *core.Bucket, now int64) {
	if l == nil {
		return
	}
	if block, resets := l.wants(b.Cost, now); block > 0 {
		f := &fetch{lease: l, bucket: *b, resets: resets}
		f.bucket.Key, f.bucket.Cost = l.key, block
		s.leases.start(s, f)
	}
}

// settle fills in what Redis said, and undoes what was spent for a request that it refused.
func (t *leased) settle(ls *leases, outcomes []core.Outcome, admitted bool) {
	for i := range t.parts {
		p, b, o := &t.parts[i], &t.buckets[i], &t.out[i]
		switch {
		case p.number == 0:
			*o, outcomes = outcomes[0], outcomes[1:]
			if p.lease != nil && o.Charged {
				p.lease.charged(b.Cost, t.now)
			}
		case !admitted:
			ls.giveBack(p.lease, p.lease.putBack(p.number, b.Cost, ls.now(), o.Receipt))
			*o = unspent(*o, b.Cost, b.Limit.Capacity())
		}
	}
}
