package redisstore_test

import (
	"sync/atomic"
	"time"
)

// steps is a clock that goes on by itself, as a real one, and is moved as well.
type steps struct {
	start time.Time
	ahead atomic.Int64
}

func newSteps() *steps { return &steps{start: time.Now()} }

func (c *steps) Now() time.Time { return time.Now().Add(time.Duration(c.ahead.Load())) }

func (c *steps) Advance(d time.Duration) { c.ahead.Add(int64(d)) }
