package shaper

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

var (
	// ErrFull is that the queue holds as many unfinished jobs as WithBacklog allows. Nothing was added.
	ErrFull = errors.New("shaper: queue is full")
	// ErrTooLarge is a payload above MaxPayload. Nothing was added.
	ErrTooLarge = fmt.Errorf("shaper: payload is above %d bytes", MaxPayload)
	// ErrClosed is what a closed queue answers.
	ErrClosed = errors.New("shaper: queue is closed")
	// ErrLost is the cause of a handler's ended context when another worker has its job by now,
	// because this one was cut off from Redis for longer than WithClaimAfter.
	ErrLost = errors.New("shaper: another worker has the job by now")
	// ErrStopped is the cause of a handler's ended context when Work was told to end and the grace
	// is over.
	ErrStopped = errors.New("shaper: worker is stopping and the grace is over")
	// ErrNotFound is that there is no dead job with that id.
	ErrNotFound = errors.New("shaper: no such dead job")
)

// storeError says whose fault it is that Redis gave no answer.
func storeError(err error) error {
	if _, known := errors.AsType[*core.StoreError](err); err == nil || known || errors.Is(err, ErrClosed) {
		return err
	}
	fault := core.FaultStore
	for _, word := range []string{
		"NOPERM", "NOAUTH", "WRONGPASS", "WRONGTYPE", "CROSSSLOT", "unknown command", "Unknown Redis command",
		"ACL failure", "The user executing the script can't",
	} {
		if replied(err, word) {
			fault = core.FaultConfig
		}
	}
	return &core.StoreError{Fault: fault, Err: fmt.Errorf("shaper: %w", err)}
}

// gone tells that nobody waits for the answer any more.
func gone(ctx context.Context) error {
	return &core.StoreError{Fault: core.FaultCaller, Err: fmt.Errorf("shaper: caller gone: %w", context.Cause(ctx))}
}

var errOddReply = errors.New("shaper: reply is not of the form that the script gives")

// replyOf is the text of an error that the server answered, "" for one that kept its answer away.
func replyOf(err error) string {
	reply, ok := errors.AsType[redis.Error](err)
	if !ok {
		return ""
	}
	return strings.TrimSpace(reply.Error())
}
