package redisstore_test

import (
	"context"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestConfirmedByReplicasOrAFailure(t *testing.T) {
	t.Parallel()
	sentinel := redistest.StartSentinel(t)
	s := open(t, sentinel.Client(t), redisstore.WithBudget(time.Second), redisstore.WithWait(1))
	b := bucket("b", core.PerHour(100))
	if o := take(t, s, b)[0]; !o.Charged || o.Remaining != 99 {
		t.Fatalf("with the replica there: %+v", o)
	}
	direct := open(t, sentinel.Replica().Client(t), redisstore.WithBudget(patient))
	if left := peek(t, direct, b).Remaining; left != 99 {
		t.Errorf("%d left at the replica", left)
	}
	two := open(t, sentinel.Client(t), redisstore.WithBudget(200*time.Millisecond), redisstore.WithWait(2))
	start := time.Now()
	_, err := try(two, b)
	if took := time.Since(start); err == nil || core.FaultOf(err) != core.FaultStore || took > time.Second {
		t.Errorf("two replicas of one: error %v after %v", err, took)
	}
	sentinel.Replica().Stop()
	defer sentinel.Replica().Cont()
	w := watching(s)
	if _, err := try(s, b); err == nil || core.FaultOf(err) != core.FaultStore {
		t.Errorf("with the replica stopped: error %v", err)
	}
	idle(t, s)
	if _, bad := w.reports(); len(bad) == 0 {
		t.Error("nobody was told")
	}
}

func TestClusterConfirmsToo(t *testing.T) {
	t.Parallel()
	cluster := redistest.StartCluster(t)
	s := open(t, cluster.Client(t), redisstore.WithBudget(patient), redisstore.WithWait(1))
	for _, o := range take(t, s, levels("confirmed")...) {
		if !o.Charged {
			t.Errorf("with a replica each: %+v", o)
		}
	}
	two := open(t, cluster.Client(t), redisstore.WithBudget(200*time.Millisecond), redisstore.WithWait(2))
	take(t, s, levels("confirmed")...) // the slot map is known by now
	if _, err := try(two, bucket("b", core.PerHour(100))); err == nil || core.FaultOf(err) != core.FaultStore {
		t.Errorf("two replicas of one: error %v", err)
	}
}

func TestWaitOptions(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, n := range []int{-1, 101} {
		if _, err := redisstore.New(server.Client(t), redisstore.WithWait(n)); err == nil {
			t.Errorf("WithWait(%d) is accepted", n)
		}
	}
	if _, err := redisstore.New(single{server.Client(t)}, redisstore.WithWait(1)); err == nil {
		t.Error("a client without pipelines is accepted")
	}
}

// single is a client that can do nothing but one command at a time.
type single struct{ client *redis.Client }

func (c single) Process(ctx context.Context, cmd redis.Cmder) error {
	return c.client.Process(ctx, cmd)
}
