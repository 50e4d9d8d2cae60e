// Package redisguard is a flood guard that replicas share through Redis: see core/floodguard for what
// a guard is. It needs no module: each time slice is one string of counters, which BITFIELD raises.
//
// No request asks Redis. Replicas count in process, and every 100 ms (WithInterval) exchange what has
// changed: one BITFIELD command raises up to 1024 counters and answers what they are by now.
// Estimates are therefore never below
//
//   - what the key has asked this replica for within the window, and
//   - what other replicas had sent by the time of this replica's last exchange in which the key had a
//     part: it has one when it has asked here since the exchange before. Of a time slice that has
//     begun by another's clock it learns when it begins by its own.
//
// So a key may ask each replica for as much as fits into one exchange, and the first of its
// requests there, before it is known what it has asked the others for. What a lost reply may have
// carried is not sent again, since that could count it twice: others may never learn of it.
//
// Where the last exchange is longer ago than a second, or ten intervals, every key is checked exactly.
package redisguard

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

// callTimeout bounds one command, which no request waits for.
const callTimeout = 500 * time.Millisecond

// Client is what the guard needs of a go-redis client: a *redis.Client, also one made by
// redis.NewFailoverClient for Sentinel, or a *redis.ClusterClient.
type Client interface {
	Process(ctx context.Context, cmd redis.Cmder) error
}

// Guard is a core.Guard. It is safe for concurrent use, takes no lock and does no I/O in a request.
type Guard struct {
	client   Client
	set      countmin.Settings
	shape    countmin.Shape
	secret   []byte
	key      string // of a slice, but for its number
	interval time.Duration
	length   time.Duration // of a slice
	skew     time.Duration
	stale    time.Duration
	log      *slog.Logger

	now     func() time.Time
	start   time.Time
	current atomic.Pointer[view]
	contact atomic.Int64 // when the last exchange ended, since start; 0: there is none to go by
	tallies [stripes]tally
	fault   atomic.Pointer[error]
	small   bool // and the log has been told
	idle    []*mirror

	end   context.CancelFunc
	once  sync.Once
	ended chan struct{}
}

var _ core.Guard = (*Guard)(nil)

// New makes a guard, and a goroutine that Close ends. It does not wait for Redis: until that has
// answered every key is checked. WithThreshold has to be given. The client stays the
// caller's to configure and to close. A mistake is an error that names the field.
func New(client Client, opts ...Option) (*Guard, error) {
	c, err := configure(client, opts)
	if err != nil {
		return nil, err
	}
	g := build(c)
	ctx, end := context.WithCancel(context.Background())
	g.end = end
	go g.run(ctx)
	return g, nil
}

func build(c *config) *Guard {
	g := &Guard{
		client: c.client, set: c.Settings, shape: c.shape, secret: c.secret, key: c.key(), interval: c.interval,
		length: c.Window + c.skew, skew: c.skew, stale: max(time.Second, 10*c.interval), log: c.log,
		now: c.now, start: c.now().Add(-1), ended: make(chan struct{}),
	}
	for range mirrors {
		g.idle = append(g.idle, newMirror(g.shape.Cells()))
	}
	g.turn(g.now())
	return g
}

// Admit counts cost units for key and says whether it passes, is to be checked or, where
// WithRefuseAbove was given, is refused. wait is then how long until its units are forgotten.
func (g *Guard) Admit(key string, cost int64) (verdict core.Verdict, wait time.Duration) {
	hash, units := g.hash(key), countmin.Units(cost)
	var p countmin.Places
	g.shape.Place(hash, &p)
	now, v := g.now(), g.current.Load()
	e, ok := g.count(v, &p, hash, units)
	if ok {
		verdict = g.judge(v, e, 0, now)
	}
	g.tallies[hash%stripes].by[verdict].Add(1)
	if verdict == core.RefuseKey {
		wait = g.wait(v, e, units, now)
	}
	return verdict, wait
}

// count counts a request in a view. Where a slice has ended meanwhile, what was read may have been
// emptied under the reader, and what was counted too: rather twice than not at all.
func (g *Guard) count(v *view, p *countmin.Places, hash uint64, units uint32) (e estimate, ok bool) {
	v.cur.count(p, hash, units)
	e = v.estimate(p)
	next := g.current.Load()
	if next != v {
		next.cur.count(p, hash, units)
	}
	return e, next == v
}

// Peek says what Admit would and counts nothing.
func (g *Guard) Peek(key string, cost int64) (verdict core.Verdict, wait time.Duration) {
	units := countmin.Units(cost)
	var p countmin.Places
	g.shape.Place(g.hash(key), &p)
	now, v := g.now(), g.current.Load()
	e := v.estimate(&p)
	e.cur += uint64(units)
	if g.current.Load() == v {
		verdict = g.judge(v, e, units, now)
	}
	if verdict == core.RefuseKey {
		wait = g.wait(v, e, units, now)
	}
	return verdict, wait
}

// judge goes by an estimate only while it is known what the other replicas count.
func (g *Guard) judge(v *view, e estimate, more uint32, now time.Time) core.Verdict {
	contact := g.contact.Load()
	if contact == 0 || now.Sub(g.start)-time.Duration(contact) > g.stale || !now.Before(v.ends) {
		return core.CheckKey
	}
	return g.set.Verdict(e.cur+e.prev, func() uint64 { return g.shape.Error(v.units() + uint64(more)) })
}

// wait is how long until a client that asks for the same again is refused no more.
func (g *Guard) wait(v *view, e estimate, units uint32, now time.Time) time.Duration {
	wait := v.ends.Sub(now) + 2*g.interval                // until the slice has been turned
	if e.cur+uint64(units) >= uint64(g.set.RefuseAbove) { //nolint:gosec // not below 0
		wait += g.length
	}
	return max(wait, 1)
}

// hash is the same in every replica, and under a secret nobody else's.
func (g *Guard) hash(key string) uint64 {
	var room [384]byte
	sum := sha256.Sum256(append(append(room[:0], g.secret...), key...))
	return binary.LittleEndian.Uint64(sum[:])
}

// Bounds tells what the guard was made with; those of a nil Guard are zero.
func (g *Guard) Bounds() core.GuardBounds {
	if g == nil {
		return core.GuardBounds{}
	}
	return core.GuardBounds{
		Threshold: g.set.Threshold, Window: g.set.Window,
		RefuseAbove: g.set.RefuseAbove, Memory: 2 * (g.length + g.skew),
	}
}

// Close ends the exchange with Redis and waits for a command under way, for a second at most; every
// key is checked from then on. What has not been sent is lost to the other replicas. Closing
// twice is harmless.
func (g *Guard) Close() error {
	g.once.Do(g.end)
	select {
	case <-g.ended:
	case <-time.After(2 * callTimeout):
	}
	g.contact.Store(0)
	return nil
}
