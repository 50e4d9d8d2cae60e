package redisstore

import (
	"sync"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// hangar keeps calls for another use. It belongs to one store: timers and channels must not
// wander between the bubbles of testing/synctest.
type hangar struct {
	calls sync.Pool
	now   func() time.Time // the store's clock, for limits that follow a calendar
}

func (h *hangar) newCall(op operation, buckets []core.Bucket, out []core.Outcome) (*call, error) {
	c := h.emptyCall(op)
	for i := range buckets {
		if err := c.enter(i, buckets, out, h.now); err != nil {
			h.release(c)
			return nil, err
		}
	}
	return c, nil
}

func (h *hangar) emptyCall(op operation) *call {
	c, ok := h.calls.Get().(*call)
	if !ok {
		c = &call{done: make(chan struct{}, 1), timer: time.NewTimer(time.Hour)}
		c.timer.Stop()
	}
	c.op, c.units = op, c.room[:0]
	c.state.Store(waiting)
	return c
}

// release gives a call up for another use. It keeps nothing of its caller's alive.
func (h *hangar) release(c *call) {
	clear(c.room[:])
	c.units, c.err = nil, nil
	h.calls.Put(c)
}
