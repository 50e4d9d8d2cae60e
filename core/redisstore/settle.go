package redisstore

import (
	"context"
	_ "embed"
	"fmt"
	"slices"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/tokenbucket"
)

//go:embed lua/settle.lua
var luaSettle string

var settleScript = newScript(luaSettle)

// mostSettled bounds how long Redis is busy with one call.
const mostSettled = 128

// DebitOnce charges each bucket, a token bucket without steps or start, what it is owed, unless a call with
// the same id has. It is one script call for at most 128 buckets that share a hash tag; an error may be of one
// of several. It serves no request and no breaker counts it.
func (s *Store) DebitOnce(ctx context.Context, id string, owed []core.Owed) error {
	if id == "" {
		return &core.StoreError{Fault: core.FaultRequest, Err: fmt.Errorf("redisstore: settlement without an id")}
	}
	groups, err := s.settlements(owed)
	if err != nil {
		return &core.StoreError{Fault: core.FaultRequest, Err: err}
	}
	for part, g := range groups {
		keys := append([]string{fmt.Sprintf("settled:%s:%d", id, part)}, g.keys...)
		if _, err := s.runAside(ctx, settleScript, g.tag, keys, append([]any{core.SettleMemory.Milliseconds()}, g.args...)...); err != nil {
			return err
		}
	}
	return nil
}

// settlement is one script call.
type settlement struct {
	tag  uint8
	keys []string
	args []any
}

// settlements puts what can be in one script call together. Equal buckets come out equally divided, so that
// their markers are found again.
func (s *Store) settlements(owed []core.Owed) (groups []settlement, err error) {
	latest := map[uint8]int{}
	for i := range owed {
		b := &owed[i].Bucket
		switch l := b.Limit; {
		case l.Algorithm != core.TokenBucket:
			return nil, fmt.Errorf("redisstore: settlement of a %v, want a token bucket", l.Algorithm)
		case l.Shaped(): // what is stored of it may be no instant
			return nil, fmt.Errorf("redisstore: settlement of %v, want a token bucket without steps, start or ban", l)
		}
		rate, err := tokenbucket.Compile(b.Limit.Quota, b.Limit.Period, b.Limit.Capacity())
		if err != nil {
			return nil, err
		}
		tag := uint8(0)
		if s.cluster != nil {
			tag = tagOf(b.Key)
		}
		at, ok := latest[tag]
		if !ok || len(groups[at].keys) == mostSettled || slices.Contains(groups[at].keys, b.Key) {
			at = len(groups)
			latest[tag], groups = at, append(groups, settlement{tag: tag})
		}
		g := &groups[at]
		sec, ns := rate.Split(rate.Ticks(int64(max(owed[i].Time, 0))))
		full, part := rate.Split(rate.Capacity)
		g.keys = append(g.keys, b.Key)
		g.args = append(g.args, int64(time.Second)/rate.PerSec, sec, ns, full, part)
	}
	return groups, nil
}
