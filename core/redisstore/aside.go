package redisstore

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

// mostAside bounds how many calls beside the queues a client that hangs can hold.
const mostAside = 8

var errAside = errors.New("redisstore: earlier calls have not returned")

// aside is the calls that serve no request. They are no part of a queue and nobody's breaker counts
// them: that they are refused, for want of a right, says nothing about requests.
type aside struct {
	mu     sync.Mutex
	under  int
	closed bool
	calls  sync.WaitGroup
}

// start runs f beside the caller, who may give it up.
func (a *aside) start(f func()) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	switch {
	case a.closed:
		return core.ErrClosed
	case a.under == mostAside:
		return &core.StoreError{Fault: core.FaultStore, Err: errAside}
	}
	a.under++
	a.calls.Go(func() {
		f()
		a.mu.Lock()
		a.under--
		a.mu.Unlock()
	})
	return nil
}

// wait lets no more calls start, and returns when none is under way or when most has passed.
func (a *aside) wait(most time.Duration) {
	a.mu.Lock()
	a.closed = true
	a.mu.Unlock()
	done := make(chan struct{})
	go func() {
		a.calls.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(most):
	}
}

// runAside runs a script on some keys of one tag, given without the prefix, and waits for its one number
// as long as for a connection and an answer at most.
func (s *Store) runAside(ctx context.Context, script *script, tag uint8, keys []string, args ...any) (int64, error) {
	if s.closed.Load() {
		return 0, core.ErrClosed
	}
	client, prefix, fault, err := s.sideClient(ctx, tag)
	if err != nil {
		return 0, err
	}
	full := make([]any, 0, head+len(keys)+2+len(args))
	full = append(full, "evalsha", script.sha, len(keys))
	for _, k := range keys {
		full = append(full, prefix+k)
	}
	sec, ns := s.time()
	full = append(append(full, sec, ns), args...)

	most := connectBudgets * s.budget
	within, cancel := context.WithTimeout(context.WithoutCancel(ctx), most)
	type answer struct {
		n   int64
		err error
	}
	got := make(chan answer, 1)
	err = s.aside.start(func() {
		defer cancel()
		n, err := callAside(within, client, script, full)
		got <- answer{n, err}
	})
	if err != nil {
		cancel()
		return 0, err
	}
	timer := time.NewTimer(most)
	defer timer.Stop()
	select {
	case a := <-got:
		if a.err != nil {
			return 0, fault(a.err)
		}
		return a.n, nil
	case <-timer.C:
		return 0, fault(errBudget)
	case <-ctx.Done():
		return 0, gone(ctx)
	}
}

// callAside sends EVALSHA, and EVAL where the server does not know the script.
func callAside(ctx context.Context, client Client, script *script, args []any) (int64, error) {
	for {
		cmd := once{redis.NewIntSliceCmd(ctx, args...)}
		cmd.SetFirstKeyPos(head)
		err := client.Process(ctx, cmd)
		if err != nil && isNoScript(err) && args[0] != "eval" {
			args[0], args[1] = "eval", script.text
			continue
		}
		if err == nil && len(cmd.Val()) != 1 {
			err = errOddReply
		}
		if err != nil {
			return 0, err
		}
		return cmd.Val()[0], nil
	}
}

// sideClient is who holds the keys of a tag, what they begin with, and what makes of an error that it gives
// one of the store's.
func (s *Store) sideClient(ctx context.Context, tag uint8) (client Client, prefix string, fault func(error) error, err error) {
	if s.cluster == nil {
		return s.client, s.prefix, classify, nil
	}
	table, _, err := s.cluster.known(ctx)
	if err != nil {
		return nil, "", nil, err
	}
	n := table[tag]
	return n.client, s.cluster.prefixes[tag], func(err error) error {
		if err = n.fault(err); core.FaultOf(err) == core.FaultStore {
			n.cluster.reload()
		}
		return err
	}, nil
}
