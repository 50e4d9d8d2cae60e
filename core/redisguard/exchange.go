package redisguard

import (
	"context"
	"time"
)

// chunkSize is how many counters one command raises, so that Redis is not held up by it.
const chunkSize = 1024

// chunk is the counters of one command. It is kept until Redis has told of all of them.
type chunk struct {
	at     []uint32
	n      []uint32
	raised bool // the slice itself has been told of; the one before it not yet
}

func (c *chunk) clear() { c.at, c.n, c.raised = c.at[:0], c.n[:0], false }

// run exchanges until ctx ends.
func (g *Guard) run(ctx context.Context) {
	defer close(g.ended)
	tick := time.NewTicker(g.interval)
	defer tick.Stop()
	for {
		err := g.meet(ctx)
		if ctx.Err() != nil {
			return
		}
		g.report(err)
		g.measure()
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// meet sends all that is unsent, and learns what the others have counted in the same counters: in the
// slice before as well.
func (g *Guard) meet(ctx context.Context) error {
	now := g.now()
	g.turn(now)
	v := g.current.Load()
	if err := g.push(ctx, v, v.prev, nil); err != nil {
		return err
	}
	if err := g.push(ctx, v, v.cur, v.prev); err != nil {
		return err
	}
	if g.now().Before(v.ends) {
		g.contact.Store(int64(now.Sub(g.start)))
	}
	return nil
}

// push exchanges what is unsent of a slice. It ends with the view, so that the next slice is not late.
func (g *Guard) push(ctx context.Context, v *view, m, before *mirror) error {
	c := &m.pending
	rest := before != nil || len(c.at) > 0 // with nothing to send too: the others count on
	for i := range m.marks {
		if c.raised || len(c.at) > chunkSize-block {
			if err := g.send(ctx, m, before); err != nil {
				return err
			}
			if !g.now().Before(v.ends) {
				break
			}
		}
		if m.marks[i].Load() != 0 {
			m.marks[i].Store(0)
			m.collect(i)
			rest = true
		}
	}
	if !rest {
		return nil
	}
	return g.send(ctx, m, before)
}

// collect takes what is unsent of a block.
func (m *mirror) collect(i int) {
	for at := i * block; at < min((i+1)*block, len(m.told)); at++ {
		if n := m.take(uint32(at)); n > 0 { //nolint:gosec // at most countmin.MaxCells
			m.pending.at, m.pending.n = append(m.pending.at, uint32(at)), append(m.pending.n, n) //nolint:gosec // as above
		}
	}
}

// send raises the pending counters of a slice, and asks for those of the one before it.
func (g *Guard) send(ctx context.Context, m, before *mirror) error {
	c := &m.pending
	if !c.raised {
		if err := g.raise(ctx, m, c); err != nil {
			return err
		}
		c.raised = true
	}
	if before != nil {
		if before.total() == 0 {
			if err := g.ask(ctx, before, nil); err != nil {
				return err
			}
		}
		if before.total() > 0 {
			if err := g.ask(ctx, before, c.at); err != nil {
				return err
			}
		}
	}
	c.clear()
	return nil
}

func (g *Guard) raise(ctx context.Context, m *mirror, c *chunk) error {
	if err := g.make(ctx, m); err != nil {
		return err
	}
	counted := m.counted()
	args := append(make([]any, 0, 8+4*len(c.at)), "bitfield", g.name(m.index), "overflow", "sat")
	for i, at := range c.at {
		args = append(args, "incrby", "u32", place(at), c.n[i])
	}
	told, err := g.do(ctx, len(c.at)+1, append(args, "incrby", "i64", place(g.totalAt()), counted-m.sent.Load())...)
	if err != nil {
		if !unsent(err) {
			// It may have run. Raised by nothing the second time, the counters are read.
			clear(c.n)
			m.all.Add(counted - m.sent.Load())
			m.sent.Store(counted)
		}
		return err
	}
	for i, at := range c.at {
		m.learn(at, told[i])
	}
	all := uint64(told[len(c.at)]) //nolint:gosec // a sum of units
	forgot := all < m.all.Load()+counted-m.sent.Load()
	m.all.Store(max(m.all.Load(), all))
	m.sent.Store(counted)
	if forgot {
		return g.expire(ctx, m)
	}
	return nil
}

func (g *Guard) ask(ctx context.Context, m *mirror, at []uint32) error {
	args := append(make([]any, 0, 5+3*len(at)), "bitfield", g.name(m.index))
	for _, at := range at {
		args = append(args, "get", "u32", place(at))
	}
	told, err := g.do(ctx, len(at)+1, append(args, "get", "i64", place(g.totalAt()))...)
	if err != nil {
		return err
	}
	for i, at := range at {
		m.learn(at, told[i])
	}
	m.all.Store(max(m.all.Load(), uint64(told[len(at)]))) //nolint:gosec // sums of units
	return nil
}
