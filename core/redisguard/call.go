package redisguard

import (
	"context"
	"errors"
	"net"
	"strconv"
	"time"

	"github.com/redis/go-redis/v9"
)

// make begins a slice, empty and with an end: what BITFIELD makes by itself would stay for ever if this
// replica came no further.
func (g *Guard) make(ctx context.Context, m *mirror) error {
	if m.made {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	cmd := redis.NewStatusCmd(ctx, "set", g.name(m.index), "", "px", g.lives().Milliseconds(), "nx")
	if err := g.client.Process(ctx, cmd); err != nil && !errors.Is(err, redis.Nil) {
		return err
	}
	m.made = true
	return nil
}

// expire gives a slice an end again that Redis has forgotten and BITFIELD has made anew.
func (g *Guard) expire(ctx context.Context, m *mirror) error {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return g.client.Process(ctx, redis.NewBoolCmd(ctx, "pexpire", g.name(m.index), g.lives().Milliseconds()))
}

// lives is how long a slice is asked about, from its first unit on.
func (g *Guard) lives() time.Duration { return 2*g.length + 2*g.skew + time.Second }

func (g *Guard) do(ctx context.Context, answers int, args ...any) ([]int64, error) {
	ctx, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	cmd := once{redis.NewIntSliceCmd(ctx, args...)}
	if err := g.client.Process(ctx, cmd); err != nil {
		return nil, err
	}
	if len(cmd.Val()) != answers {
		return nil, errors.New("redisguard: reply to BITFIELD is not of its form")
	}
	return cmd.Val(), nil
}

// once is a command that the client must not repeat: its reply lost, it could count twice.
type once struct{ *redis.IntSliceCmd }

func (once) NoRetry() bool { return true }

// unsent reports whether an error proves that the command did not run.
func unsent(err error) bool {
	if _, ok := errors.AsType[redis.Error](err); ok {
		return true
	}
	op, ok := errors.AsType[*net.OpError](err)
	return ok && op.Op == "dial"
}

func (g *Guard) name(index int64) string { return g.key + strconv.FormatInt(index, 10) }

func place(at uint32) string { return "#" + strconv.FormatUint(uint64(at), 10) }

// totalAt is the place, in words of 64 bits, behind all counters: of the sum of what is counted. The
// first command that raises it makes the string as long as it ever gets.
func (g *Guard) totalAt() uint32 { return uint32(g.shape.Cells()+1) / 2 } //nolint:gosec // at most countmin.MaxCells

// bytes is what a slice takes in Redis.
func (g *Guard) bytes() int { return 8 * (int(g.totalAt()) + 1) }
