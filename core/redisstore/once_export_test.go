package redisstore

import (
	"context"
	"strings"

	"github.com/tierlimit/tierlimit/core"
)

// Check is one check of a batch that RunBatch makes.
type Check struct {
	Op      string
	Buckets []core.Bucket
	Out     []core.Outcome
}

// lasting are the scripts with keys that outlive their state by eleven days instead of half a second:
// a test's clock may stand still for longer, and Redis' own does not.
var lasting = map[*script]*script{
	quick:   newScript(replaced(luaQuick, "slack_ms = 5e8, 999", "slack_ms = 5e8, 1e9")),
	general: newScript(replaced(general.text, "grace_ms = 500", "grace_ms = 1e9")),
}

func replaced(text, old, with string) string {
	if strings.Count(text, old) != 1 {
		panic("no " + old + " in the script")
	}
	return strings.Replace(text, old, with, 1)
}

// RunBatch makes the checks in one script call, by the general script if that is wanted, with keys
// that last.
func (s *Store) RunBatch(checks []Check, byGeneral bool) error {
	var b batch
	for i := range checks {
		c, err := s.queue.newCall(operation(checks[i].Op), checks[i].Buckets, checks[i].Out)
		if err != nil {
			return err
		}
		b.calls = append(b.calls, c)
	}
	if byGeneral { // a peek at nothing is no matter for the quick one
		c, err := s.queue.newCall(opPeek, nil, nil)
		if err != nil {
			return err
		}
		b.calls = append(b.calls, c)
	}
	sec, ns := s.time()
	args := b.encode(s.prefix, sec, ns)
	if len(b.keys.numbers) == 0 { // nothing but refunds of what was not charged
		return nil
	}
	b.script = lasting[b.script]
	args[1] = &b.script.sha
	reply, err := s.process(context.Background(), args)
	if err != nil && isNoScript(err) {
		b.whole()
		reply, err = s.process(context.Background(), args)
	}
	if err != nil {
		return err
	}
	if !b.decode(reply) {
		return errOddReply
	}
	for i, c := range b.calls[:len(checks)] {
		if c.op.judges() {
			c.outcomes(checks[i].Out, c.admitted())
		}
	}
	return nil
}
