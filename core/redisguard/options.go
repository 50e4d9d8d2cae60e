package redisguard

import (
	"errors"
	"fmt"
	"log/slog"
	"regexp"
	"slices"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

// Option configures a Guard. A wrong one is an error of New that names it.
type Option func(*config)

type config struct {
	countmin.Settings

	client         Client
	shape          countmin.Shape
	prefix, name   string
	secret         []byte
	interval, skew time.Duration
	log            *slog.Logger
	now            func() time.Time
}

var word = regexp.MustCompile(`^[A-Za-z0-9_.-]{1,64}$`)

func configure(client Client, opts []Option) (*config, error) {
	c := &config{
		Settings: countmin.Defaults(), client: client, prefix: "tierlimit", name: "default",
		interval: 100 * time.Millisecond, skew: time.Second, log: slog.Default(), now: time.Now,
	}
	for _, opt := range opts {
		if opt == nil {
			return nil, errors.New("redisguard: option is nil, want a redisguard.With... option")
		}
		opt(c)
	}
	for _, check := range []func() error{c.connect, c.size, c.Check, c.check} {
		if err := check(); err != nil {
			return nil, fmt.Errorf("redisguard: %w", err)
		}
	}
	return c, nil
}

func (c *config) connect() error {
	missing := errors.New("client is nil, want a *redis.Client or a *redis.ClusterClient")
	switch client := c.client.(type) {
	case nil:
		return missing
	case *redis.Client:
		if client == nil {
			return missing
		}
		c.client = client.WithTimeout(callTimeout) // else a hung connection is held for the client's own
	case *redis.ClusterClient:
		if client == nil {
			return missing
		}
	case redis.Pipeliner, *redis.Ring:
		return fmt.Errorf("client is a %T, want a *redis.Client or a *redis.ClusterClient", client)
	}
	return nil
}

func (c *config) size() (err error) {
	c.shape, err = countmin.ShapeFor(c.Epsilon, c.Delta)
	return err
}

func (c *config) check() error {
	switch {
	case !word.MatchString(c.prefix):
		return fmt.Errorf("prefix is %q, want 1 to 64 letters, digits, dots, _ or -", c.prefix)
	case !word.MatchString(c.name):
		return fmt.Errorf("name is %q, want 1 to 64 letters, digits, dots, _ or -", c.name)
	case c.interval < 10*time.Millisecond || c.interval > 10*time.Second:
		return fmt.Errorf("interval is %v, want 10ms to 10s", c.interval)
	case c.skew < 0 || c.skew > time.Hour:
		return fmt.Errorf("clock skew is %v, want 0 to 1h", c.skew)
	case len(c.secret) > 64:
		return fmt.Errorf("secret has %d bytes, want at most 64", len(c.secret))
	case c.log == nil:
		return errors.New("logger is nil, want a *slog.Logger")
	}
	return nil
}

// key begins the keys of slices. Replicas whose counters do not fit together have different ones.
func (c *config) key() string {
	return fmt.Sprintf("%s:guard:%s:%dx%d:%dms:", c.prefix, c.name, c.shape.Rows, c.shape.Width, (c.Window + c.skew).Milliseconds())
}

// WithError sets what an estimate may be too high by: epsilon times all units within the window,
// above 0 to 0.1, but for a share delta of the keys, 1e-6 to 0.5. They fix the memory: e/epsilon x
// ln(1/delta) counters, each factor rounded up, of 4 bytes in Redis for each of up to three time
// slices, and of 25 bytes in each replica. The default is 1e-4 and 0.01: 0.5 MB a slice and
// 3.4 MB. All replicas have to give the same.
func WithError(epsilon, delta float64) Option {
	return func(c *config) { c.Epsilon, c.Delta = epsilon, delta }
}

// WithThreshold sets from how many units within the window, over all replicas, on a key is checked
// exactly, 1 to 4294967295. It is required. The level's limits have to hold, and refill within the
// window, at least so many units: else it is an error of core.New.
func WithThreshold(units int64) Option {
	return func(c *config) { c.Threshold = units }
}

// WithWindow sets for how long every unit is remembered, 10 ms to 24 h; the default is 1 min. A
// slice is as long as that and the clock skew. All replicas have to give the same.
func WithWindow(d time.Duration) Option {
	return func(c *config) { c.Window = d }
}

// WithRefuseAbove has keys refused that are sure to have asked for more than units within what the guard
// remembers, as floodguard.WithRefuseAbove does. The default is 0: it refuses nobody.
func WithRefuseAbove(units int64) Option {
	return func(c *config) { c.RefuseAbove = units }
}

// WithName sets the guard's key space; the default is "default". Replicas with the same name and
// sizes count together.
func WithName(name string) Option {
	return func(c *config) { c.name = name }
}

// WithPrefix sets what every key begins with, as redisstore.WithPrefix does; the default is
// "tierlimit".
func WithPrefix(prefix string) Option {
	return func(c *config) { c.prefix = prefix }
}

// WithSecret hashes keys under a secret of at most 64 bytes, so that nobody can find keys that share
// the counters of another. All replicas have to give the same; by default there is none.
func WithSecret(secret []byte) Option {
	return func(c *config) { c.secret = slices.Clone(secret) }
}

// WithInterval sets how often replicas exchange counters, 10 ms to 10 s; the default is 100 ms.
func WithInterval(d time.Duration) Option {
	return func(c *config) { c.interval = d }
}

// WithClockSkew sets by how much the clocks of replicas may differ, 0 to 1 h; the default is 1 s. Time
// slices go by each replica's own clock and are longer than the window by so much: where clocks
// differ by more, what others have counted is forgotten by the rest too early.
func WithClockSkew(d time.Duration) Option {
	return func(c *config) { c.skew = d }
}

// WithLogger sets where one line is logged when Redis is lost and when it is back, when the sketch has
// become too small for the load and when it is large enough again; the default is slog.Default at
// the time of New.
func WithLogger(log *slog.Logger) Option {
	return func(c *config) { c.log = log }
}
