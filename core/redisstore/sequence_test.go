package redisstore_test

import (
	"context"
	"fmt"
	"regexp"
	"strconv"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

// moment is when a check was decided: the server's clock, the call it was in, of those of its process, and its
// place among the checks of that.
type moment struct {
	At          time.Time
	Call, Place int
}

// sequence finds the moments of checks by looking at the calls on their way. A caller has one check under
// way at a time. Where calls hold several, each has a bucket of its caller's own: keys stand in the order of the checks.
type sequence struct {
	mu     sync.Mutex
	calls  int
	latest map[int]moment // by caller
}

// alone stands for the caller of a process that has one.
const alone = -1

func newSequence() *sequence { return &sequence{latest: map[int]moment{}} }

var ownKey = regexp.MustCompile(`:own(\d+):`)

func ownBucket(round, caller int) core.Bucket {
	b := bucket("", core.PerSecond(1000))
	b.Key = inOneSlot(fmt.Sprintf("1t:replay::%d:own%d:", round, caller))
	return b
}

// at is when the latest check of a caller was decided.
func (s *sequence) at(caller int, only bool) moment {
	if only {
		caller = alone
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.latest[caller]
}

func (s *sequence) DialHook(next redis.DialHook) redis.DialHook { return next }

func (s *sequence) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		s.note(cmd)
		return err
	}
}

func (s *sequence) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			s.note(cmd)
		}
		return err
	}
}

// note reads the keys of a script call, and the clock in its reply.
func (s *sequence) note(cmd redis.Cmder) {
	c, ok := cmd.(interface{ Val() []int64 })
	if !ok || len(c.Val()) == 0 {
		return // of a handshake, or the server did not know the script
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	m := moment{time.Unix(c.Val()[0], c.Val()[1]), s.calls, 0}
	s.latest[alone] = m
	for _, key := range cmd.Args()[3 : 3+cmd.Args()[2].(int)] {
		if found := ownKey.FindStringSubmatch(*key.(*string)); found != nil {
			caller, _ := strconv.Atoi(found[1])
			m.Place++
			s.latest[caller] = m
		}
	}
}
