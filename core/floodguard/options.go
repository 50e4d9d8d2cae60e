package floodguard

import (
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/tierlimit/tierlimit/core/internal/countmin"
)

// Option configures a Guard. A wrong one is an error of New that names it.
type Option func(*config)

// What WithError takes when it is not given.
const (
	DefaultEpsilon = countmin.DefaultEpsilon
	DefaultDelta   = countmin.DefaultDelta
)

type config struct {
	countmin.Settings

	shape countmin.Shape
	log   *slog.Logger
}

func configure(opts []Option) (config, error) {
	c := config{Settings: countmin.Defaults(), log: slog.Default()}
	for _, opt := range opts {
		if opt == nil {
			return c, errors.New("floodguard: option is nil, want a floodguard.With... option")
		}
		opt(&c)
	}
	var err error
	switch c.shape, err = countmin.ShapeFor(c.Epsilon, c.Delta); {
	case err != nil:
	case c.log == nil:
		err = errors.New("logger is nil, want a *slog.Logger")
	default:
		err = c.Check()
	}
	if err != nil {
		return c, fmt.Errorf("floodguard: %w", err)
	}
	return c, nil
}

// WithError sets what an estimate may be too high by: epsilon times all units within the window,
// above 0 to 0.1, but for a share delta of the keys, 1e-6 to 0.5. They fix the memory: 12 bytes x
// e/epsilon x ln(1/delta), each factor rounded up. The default is 1e-4 and 0.01: 1.6 MB.
func WithError(epsilon, delta float64) Option {
	return func(c *config) { c.Epsilon, c.Delta = epsilon, delta }
}

// WithThreshold sets from how many units within the window on a key is checked exactly, 1 to
// 4294967295. It is required. The level's limits have to hold, and refill within the window, at
// least so many units: else it is an error of core.New. A key may spend up to so many in
// each window beyond its limits.
func WithThreshold(units int64) Option {
	return func(c *config) { c.Threshold = units }
}

// WithWindow sets for how long every unit is remembered, 10 ms to 24 h; the default is 1 min. It is
// forgotten after twice that and a twentieth part at most.
func WithWindow(d time.Duration) Option {
	return func(c *config) { c.Window = d }
}

// WithRefuseAbove has keys refused, without any exact check, that are sure to have asked for more than
// units within what the guard remembers: whose estimate exceeds it by what the sketch may err. It has
// to be above the threshold, and above what the level's limits admit in that time; while the
// sketch may err by so much, nobody is refused. Refused requests count, so who goes on asking
// stays refused. The default is 0: the guard refuses nobody.
func WithRefuseAbove(units int64) Option {
	return func(c *config) { c.RefuseAbove = units }
}

// WithLogger sets where one line is logged when the sketch has become too small for the load, and
// one when it is large enough again; the default is slog.Default at the time of New.
func WithLogger(log *slog.Logger) Option {
	return func(c *config) { c.log = log }
}
