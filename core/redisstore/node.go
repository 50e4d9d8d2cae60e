package redisstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
)

// node is one primary of a Cluster, with a queue of its own: a node that hangs holds up nobody
// who does not need it.
type node struct {
	cluster *cluster
	addr    string
	base    *redis.Client // the ClusterClient's: another one is another node, also at this address
	client  *redis.Client
	queue   queue
}

func newNode(c *cluster, base *redis.Client) *node {
	n := &node{cluster: c, addr: base.Options().Addr, base: base, client: base.WithTimeout(2 * c.store.budget)}
	n.queue.hangar, n.queue.budget = &c.store.hangar, c.store.budget
	n.queue.send, n.queue.report = n.send, n.report
	return n
}

// report tells of a call to this node. Every failure may mean that another node has its slots.
func (n *node) report(err error) {
	if err != nil && core.FaultOf(err) == core.FaultStore {
		n.cluster.reload()
	}
	n.cluster.store.report(n.addr, err)
}

// fault is an error that says which node it is of.
func (n *node) fault(err error) error {
	if e, ok := errors.AsType[*core.StoreError](err); ok {
		return &core.StoreError{Fault: e.Fault, Partition: n.addr, Err: e.Err}
	}
	return &core.StoreError{Fault: fault(err), Partition: n.addr, Err: err}
}

// send makes one script call for each tag of a batch, all in one pipeline, and answers each tag's
// checks for themselves. The error is the call's: nil where the node has answered any.
func (n *node) send(b *batch) error {
	s := n.cluster.store
	ctx, cancel := context.WithTimeout(context.Background(), connectBudgets*s.budget)
	defer cancel()
	tags := b.byTag()
	sec, ns := s.time()
	for _, t := range tags {
		t.encode(n.cluster.prefixes[t.calls[0].tag], sec, ns)
	}
	n.exec(ctx, tags)
	unknown := tags[:0:0]
	for _, t := range tags {
		if t.err != nil && isNoScript(t.err) {
			t.whole()
			unknown = append(unknown, t)
		}
	}
	if len(unknown) > 0 {
		n.exec(ctx, unknown)
	}
	var first error
	good := false
	for pass := range 2 {
		for _, t := range tags {
			if elsewhere := t.err != nil && isElsewhere(t.err); len(t.calls) == 0 || (elsewhere && pass == 0) {
				continue // those that were answered here need not wait for another node
			} else if elsewhere {
				t.reply, t.err = n.redirect(ctx, t)
			}
			err := n.settle(t)
			if err == nil {
				good = true
			} else if first == nil {
				first = err
			}
			t.calls = nil
		}
	}
	if good {
		return nil
	}
	return first
}

// settle answers the checks of one tag.
func (n *node) settle(t *batch) error {
	err := t.err
	if err == nil && !t.decode(t.reply) {
		err = errOddReply
	}
	if err != nil {
		if err = n.fault(err); core.FaultOf(err) == core.FaultStore {
			n.cluster.reload() // the slots of this tag may be another node's
		}
	}
	n.cluster.store.deliver(&n.queue, t, err)
	return err
}

// exec sends what the batches of some tags have encoded.
func (n *node) exec(ctx context.Context, tags []*batch) {
	pipe := n.client.Pipeline()
	cmds := make([]once, len(tags))
	for i, t := range tags {
		cmds[i] = once{redis.NewIntSliceCmd(ctx, t.args...)}
		_ = pipe.Process(ctx, cmds[i]) // only queues
	}
	confirmation := n.cluster.store.addWait(ctx, pipe)
	_, _ = pipe.Exec(ctx) // each command has its own error
	for i, t := range tags {
		// Where the connection breaks, even a whole reply has an error: it looks like one that was cut
		// off, whose missing numbers are 0.
		t.reply, t.err = cmds[i].Val(), cmds[i].Err()
		if t.err == nil {
			t.err = confirmation.err()
		}
	}
}

// redirect repeats a call that another node has to answer. The client follows where the reply
// points, to nodes that are in no map yet, and does not repeat what may have run.
func (n *node) redirect(ctx context.Context, t *batch) (reply []int64, err error) {
	n.cluster.reload()
	t.args[0], t.args[1], t.args[head] = "evalsha", &t.script.sha, t.parts[0] // the client reads the key to find its slot
	for {
		cmd := once{redis.NewIntSliceCmd(ctx, t.args...)}
		cmd.SetFirstKeyPos(head)
		cmd.SetStepCount(1) // or the client asks for COMMAND
		err = n.cluster.client.Process(ctx, cmd)
		if err == nil && n.cluster.store.replicas > 0 {
			return nil, errUnconfirmed // WAIT would not be on this connection
		}
		if err == nil || !isNoScript(err) || t.args[0] == "eval" {
			return cmd.Val(), err
		}
		t.whole()
	}
}

// isElsewhere reports whether the node said that it did not run the script because the slot is,
// or is about to be, another's.
func isElsewhere(err error) bool {
	text, ok := errorReply(err)
	return ok && slices.ContainsFunc([]string{"MOVED ", "ASK ", "TRYAGAIN"}, func(word string) bool { return strings.HasPrefix(text, word) })
}
