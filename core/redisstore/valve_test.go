package redisstore_test

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// valve is a client that holds calls with some operation: before they are made, or their answers. Its
// server is so far away that what is held does not keep other calls from leaving.
type valve struct {
	redisstore.Client
	mu            sync.Mutex
	before, after map[string]chan struct{}
	held          atomic.Int64 // calls, so far
}

// shut holds calls with op from now on, until the function that it returns is called.
func (v *valve) shut(m *map[string]chan struct{}, op string) (open func()) {
	v.mu.Lock()
	defer v.mu.Unlock()
	held := make(chan struct{})
	if *m == nil {
		*m = map[string]chan struct{}{}
	}
	(*m)[op] = held
	return func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		delete(*m, op)
		close(held)
	}
}

// wait holds a call whose checks are all of one operation: another's caller, who may share the call, would
// be held with it.
func (v *valve) wait(m *map[string]chan struct{}, cmd redis.Cmder) {
	ops := map[string]bool{}
	for _, arg := range cmd.Args() {
		if s, ok := arg.(*string); ok && slices.Contains([]string{"take", "peek", "debit", "refund", "reset"}, *s) {
			ops[*s] = true
		}
	}
	for op := range ops {
		v.mu.Lock()
		held := (*m)[op]
		v.mu.Unlock()
		if held != nil && len(ops) == 1 {
			v.held.Add(1)
			<-held
		}
	}
}

func (v *valve) Process(_ context.Context, cmd redis.Cmder) error {
	time.Sleep(2 * time.Millisecond)
	v.wait(&v.before, cmd)
	err := v.Client.Process(context.Background(), cmd)
	v.wait(&v.after, cmd)
	return err
}

// A block may be charged before a reset and told of after it. Redis has forgotten the charge then.
func TestBlockOnItsWayDuringAResetIsDropped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	v := &valve{Client: server.Client(t)}
	s, other := open(t, v, redisstore.WithBudget(patient)), open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	heat(t, s, b)
	for s.Leased(b.Key) > 0 {
		take(t, s, b)
	}
	before := peek(t, other, b).Remaining
	answer := v.shut(&v.after, "take")
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = try(s, b) })
	eventually(t, 10*time.Second, "block charged", func() bool { return peek(t, other, b).Remaining < before-1 })
	reset(t, s, b)
	answer()
	wg.Wait()
	eventually(t, 10*time.Second, "end of the fetch", func() bool { return !s.Fetching(b.Key) })
	take(t, other, costing(b, 1000))
	if o := take(t, s, b)[0]; o.Charged {
		t.Errorf("admitted of an empty bucket: %+v", o)
	}
	_ = s.Close()
	if o := peek(t, other, b); o.Remaining != 0 {
		t.Errorf("%d given back of what Redis had forgotten", o.Remaining)
	}
}

// A block may also be charged and told of while a reset is on its way.
func TestBlockThatArrivesBeforeAResetIsDropped(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	v := &valve{Client: server.Client(t)}
	s, other := open(t, v, redisstore.WithBudget(patient)), open(t, server.Client(t), redisstore.WithBudget(patient))
	b := leased("b", still)
	take(t, s, b)
	giveBack, doReset := v.shut(&v.before, "refund"), v.shut(&v.before, "reset")
	var wg sync.WaitGroup
	wg.Go(func() { _ = s.Reset(context.Background(), []core.Bucket{b}) })
	eventually(t, 10*time.Second, "reset on its way", func() bool { return v.held.Load() == 1 })
	heat(t, s, b)
	doReset()
	wg.Wait()
	if n := s.Leased(b.Key); n != 0 {
		t.Errorf("%d units are leased after a reset", n)
	}
	take(t, other, costing(b, 1000))
	giveBack()
	_ = s.Close()
	if o := peek(t, other, b); o.Remaining != 0 {
		t.Errorf("%d given back of what Redis had forgotten", o.Remaining)
	}
}
