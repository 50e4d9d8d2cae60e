package core

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"time"
)

// Option configures a Limiter. A wrong one is an error of New that names it.
type Option func(*config)

type config struct {
	name       string
	named      bool
	routes     []route
	allow      *roster
	deny       *roster
	headers    []HeaderFormat
	ipv6Prefix int
	jitter     float64
	secret     []byte
	observers  []func(Decision)
	observed   bool // observers are of these options, not of earlier ones
	clock      func() time.Time
	errs       []error
}

type route struct {
	endpoint string
	policy   Policy
}

func defaults() config {
	return config{name: "default", headers: []HeaderFormat{RateLimit}, ipv6Prefix: 64, clock: time.Now}
}

func (c *config) apply(opts []Option) error {
	c.errs = nil
	for _, opt := range opts {
		if opt == nil {
			return errors.New("option is nil, want a core.With... option")
		}
		opt(c)
	}
	return errors.Join(c.errs...)
}

func (c *config) fail(format string, args ...any) {
	c.errs = append(c.errs, fmt.Errorf(format, args...))
}

// WithName sets the limiter's key space, [a-z][a-z0-9_-]*; the default is "default". Limiters
// with different names share nothing, those with the same name on one Redis share their buckets:
// replicas of one service give the same name, different services different ones.
func WithName(name string) Option {
	return func(c *config) {
		if !validName(name) {
			c.fail("name is %q, want [a-z][a-z0-9_-]*, at most 64 bytes", name)
		}
		c.name, c.named = name, true
	}
}

// WithRoute overrides the policy on one route, named by its template with its method, "POST
// /login" ("* /login" for every method), or by a gRPC full method. A level named in policy
// replaces the limiter's level of that name there and counts in the route's own bucket; a
// level with a new name is added; the others are inherited. The route's level stands for the
// whole of the limiter's: its OnFailure, Shadow, Lease, Guard and LimitsFor are not inherited. Unlimited
// as a limit switches a level off, Exempt as policy takes the route out. A template that is no
// route of the service is an override that never applies: see UnseenRoutes.
func WithRoute(endpoint string, policy Policy) Option {
	return func(c *config) {
		if err := validateEndpoint(endpoint); err != nil {
			c.fail("route: %w", err)
		}
		endpoint := normalizeEndpoint(endpoint)
		if err := policy.validate(); err != nil {
			c.fail("route %q: %w", endpoint, err)
		}
		c.routes = append(c.routes, route{endpoint, policy})
	}
}

// WithHeaders chooses the response headers; the default is RateLimit alone. Without
// arguments only Retry-After is written.
func WithHeaders(formats ...HeaderFormat) Option {
	return func(c *config) {
		if err := validateFormats(formats); err != nil {
			c.fail("headers: %w", err)
		}
		c.headers = slices.Clone(formats)
	}
}

// WithIPv6Prefix sets how many bits of an IPv6 address make one client, 32 to 128; the
// default is 64, the least that one household or server is given. IPv4 is never widened.
func WithIPv6Prefix(bits int) Option {
	return func(c *config) {
		if bits < 32 || bits > 128 {
			c.fail("ipv6 prefix is %d, want 32 to 128", bits)
		}
		c.ipv6Prefix = bits
	}
}

// WithRetryJitter spreads the Retry-After header of each denial over [w, w x (1+fraction)], so
// that clients refused together do not come back together. It never tells less than the
// true wait. 0 to 1; the default is 0.
func WithRetryJitter(fraction float64) Option {
	return func(c *config) {
		if math.IsNaN(fraction) || fraction < 0 || fraction > 1 {
			c.fail("retry jitter is %v, want 0 to 1", fraction)
		}
		c.jitter = fraction
	}
}

// WithKeyHash hashes every caller's identity, addresses included, under secret, so that the
// store holds no personal data that can be guessed back. All replicas need the same secret.
func WithKeyHash(secret []byte) Option {
	return func(c *config) {
		if len(secret) < 16 {
			c.fail("key hash secret has %d bytes, want at least 16", len(secret))
		}
		c.secret = slices.Clone(secret)
	}
}

// WithObserver calls f after every Check with its decision, in an adapter once a Delay has been waited
// out or was refused: synchronously and concurrently, so f must be quick, and must not keep the decision. It may be given more than once; given to
// SetPolicy, it takes the place of those before.
func WithObserver(f func(Decision)) Option {
	return func(c *config) {
		if f == nil {
			c.fail("observer is nil, want a function")
		}
		if !c.observed {
			c.observers, c.observed = nil, true
		}
		c.observers = append(slices.Clone(c.observers), f)
	}
}

// WithClock replaces time.Now, for tests. It dates headers only; stores have their own clocks.
func WithClock(now func() time.Time) Option {
	return func(c *config) {
		if now == nil {
			c.fail("clock is nil, want a function")
		}
		c.clock = now
	}
}
