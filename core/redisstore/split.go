package redisstore

import (
	"context"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// part is what a check has on one tag: one call, on its way through one node's queue.
type part struct {
	call *call // not to be touched once it is left
	tag  uint8
	node *node
	left bool  // nobody waits for the call any more: the flight has it
	err  error // it has no answer
}

// do splits a check by tag and makes one decision of what the parts say.
func (c *cluster) do(ctx context.Context, op operation, buckets []core.Bucket, out []core.Outcome) error {
	table, left, err := c.known(ctx)
	if err != nil {
		return err
	}
	var room [8]part
	parts, err := c.split(room[:0], op, buckets, out)
	if err != nil {
		return &core.StoreError{Fault: core.FaultRequest, Err: err}
	}
	for i := range parts {
		parts[i].node = table[parts[i].tag]
	}
	switch len(parts) {
	case 0:
		return nil
	case 1:
		n := parts[0].node
		err := c.store.await(ctx, &n.queue, parts[0].call, out, left)
		if err != nil && core.FaultOf(err) != core.FaultCaller {
			return n.fault(err)
		}
		return err
	}
	s := spread{cluster: c, op: op, parts: parts, ends: time.Now().Add(left)}
	s.fly(ctx)
	return s.conclude(ctx, buckets, out)
}

// split makes a call for each tag.
func (c *cluster) split(parts []part, op operation, buckets []core.Bucket, out []core.Outcome) ([]part, error) {
	for i := range buckets {
		if op == opRefund && !out[i].Charged {
			continue
		}
		tag, at := tagOf(buckets[i].Key), 0
		for at < len(parts) && parts[at].tag != tag {
			at++
		}
		if at == len(parts) {
			call := c.store.hangar.emptyCall(op)
			call.tag = tag
			parts = append(parts, part{call: call, tag: tag})
		}
		if err := parts[at].call.enter(i, buckets, out, c.store.hangar.now); err != nil {
			for _, p := range parts {
				c.store.hangar.release(p.call)
			}
			return nil, err
		}
	}
	return parts, nil
}
