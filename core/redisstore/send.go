package redisstore

import (
	"context"
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

// connectBudgets is how many budgets a call may take that has to connect first: three round trips
// of a handshake and its own.
const connectBudgets = 4

var errOddReply = &core.StoreError{Fault: core.FaultRequest, Err: errors.New("redisstore: reply is not of the form that the script gives")}

// send makes one script call for a batch and hands out the answers. What was charged for a
// caller who has left is given back. The error is the call's, for all of the batch.
func (s *Store) send(b *batch) error {
	reply, err := s.run(b)
	if err != nil {
		err = classify(err)
	} else if !b.decode(reply) {
		err = errOddReply
	}
	s.deliver(&s.queue, b, err)
	return err
}

// deliver answers the checks of one script call.
func (s *Store) deliver(q *queue, b *batch, err error) {
	for _, c := range b.calls {
		s.denials.forget(c)
		switch {
		case c.answer(err):
		case c.giveBack(false):
			q.add(c)
		default:
			q.release(c)
		}
	}
}

// run sends EVALSHA, and EVAL where the server does not know the script: that error proves
// that nothing ran.
func (s *Store) run(b *batch) ([]int64, error) {
	// Nobody waits for longer than the budget, but a connection takes several round trips to
	// set up: one that came late is there for the next call.
	ctx, cancel := context.WithTimeout(context.Background(), connectBudgets*s.budget)
	defer cancel()
	sec, ns := s.time()
	args := b.encode(s.prefix, sec, ns)
	reply, err := s.process(ctx, args)
	if err != nil && isNoScript(err) {
		b.whole()
		reply, err = s.process(ctx, args)
	}
	return reply, err
}

// time is what the script takes for now; empty, it asks the server.
func (s *Store) time() (sec, ns string) {
	if s.clock == nil {
		return "", ""
	}
	now := s.clock()
	return strconv.FormatInt(now.Unix(), 10), strconv.Itoa(now.Nanosecond())
}

func (s *Store) process(ctx context.Context, args []any) ([]int64, error) {
	cmd := once{redis.NewIntSliceCmd(ctx, args...)}
	cmd.SetFirstKeyPos(head)
	if s.replicas > 0 {
		return s.confirmed(ctx, cmd)
	}
	err := s.client.Process(ctx, cmd)
	return cmd.Val(), err
}

// once is a command that the client must not repeat: when its reply is lost, nobody knows
// whether it ran, and running it again could charge twice.
type once struct{ *redis.IntSliceCmd }

func (once) NoRetry() bool { return true }

func isNoScript(err error) bool {
	text, ok := errorReply(err)
	return ok && strings.Contains(text, "NOSCRIPT")
}

// errorReply is the text of an error that the server answered, as against one that kept its
// answer away.
func errorReply(err error) (text string, ok bool) {
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return "", false
	}
	return reply.Error(), true
}
