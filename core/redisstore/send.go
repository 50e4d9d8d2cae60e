package redisstore

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

// connectBudgets is how many budgets a call may take that has to connect first: three round trips
// of a handshake and its own.
const connectBudgets = 4

// send makes one script call for a batch and hands out the answers. What was charged for a
// caller who has left is given back. The error is the call's, for all of the batch.
func (s *Store) send(batch []*call) error {
	reply, err := s.run(batch)
	if err != nil {
		err = classify(err)
	}
	var now core.Receipt
	if err == nil {
		now, reply = core.Receipt{reply[0], reply[1]}, reply[2:]
	}
	for _, c := range batch {
		var mine []int64
		if err == nil {
			mine, reply = reply[:3*len(c.units)], reply[3*len(c.units):]
		}
		if !c.answer(now, mine, err) {
			if back := c.giveBack(); back != nil {
				s.queue.add(back)
			}
		}
	}
	return err
}

// run sends EVALSHA, and EVAL where the server does not know the script: that error proves
// that nothing ran.
func (s *Store) run(batch []*call) ([]int64, error) {
	// Nobody waits for longer than the budget, but a connection takes several round trips to
	// set up: one that came late is there for the next call.
	ctx, cancel := context.WithTimeout(context.Background(), connectBudgets*s.budget)
	defer cancel()
	units := 0
	for _, c := range batch {
		units += len(c.units)
	}
	args := make([]any, 0, 5+units*(1+argsPerUnit)+2*len(batch))
	args = append(args, "evalsha", scriptSHA, units)
	for _, c := range batch {
		for i := range c.units {
			args = append(args, c.units[i].key)
		}
	}
	sec, ns := s.time()
	args = append(args, sec, ns)
	for _, c := range batch {
		args = c.appendTo(args)
	}
	reply, err := s.process(ctx, args)
	if err != nil && isNoScript(err) {
		args[0], args[1] = "eval", script
		reply, err = s.process(ctx, args)
	}
	if err == nil && len(reply) != 2+3*units {
		err = &core.StoreError{Fault: core.FaultRequest, Err: fmt.Errorf("redisstore: reply has %d numbers, want %d", len(reply), 2+3*units)}
	}
	return reply, err
}

// time is what the script takes for now; empty, it asks the server.
func (s *Store) time() (sec, ns string) {
	if s.clock == nil {
		return "", ""
	}
	now := s.clock()
	return text(now.Unix()), text(int64(now.Nanosecond()))
}

func (s *Store) process(ctx context.Context, args []any) ([]int64, error) {
	cmd := once{redis.NewIntSliceCmd(ctx, args...)}
	cmd.SetFirstKeyPos(3)
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
