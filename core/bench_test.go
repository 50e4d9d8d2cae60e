package core_test

import (
	"context"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// null is a store that costs nothing: what is measured over it is core's own part. Answers repeats
// one outcome for every bucket.
type null struct {
	core.Store

	answers core.Outcome
}

func (s *null) Take(_ context.Context, _ []core.Bucket, out []core.Outcome) error {
	for i := range out {
		out[i] = s.answers
	}
	return nil
}

func (s *null) Traits() core.Traits {
	return core.Traits{Algorithms: everyAlgorithm, Local: true}
}

// admitting and denying are null stores whose numbers are too long for strconv's own table.
func admitting() *null {
	return &null{answers: core.Outcome{Admits: true, Charged: true, Remaining: 212, ResetAfter: 200 * time.Millisecond, Source: core.FromShared}}
}

func denying() *null {
	return &null{answers: core.Outcome{RetryAfter: 123 * time.Second, ResetAfter: 123 * time.Second, Source: core.FromShared}}
}

// three is the policy that the figures are of.
func three() core.Policy {
	return core.Policy{core.PerIP(core.PerMinute(300)), core.PerUser(core.PerMinute(60)), core.PerEndpoint(core.PerSecond(1000))}
}

// typical is a request at all three levels, its user a UUID.
func typical() core.Request {
	return on("203.0.113.77", "6ba7b810-9dad-11d1-80b4-00c04fd430c8", "GET /items/{id}")
}

// read goes through the headers as an adapter does.
func read(d core.Decision) (n int) {
	for name, value := range d.Headers() {
		n += len(name) + len(value)
	}
	return n
}

func BenchmarkCheck(b *testing.B) {
	for _, row := range []struct {
		name    string
		store   *null
		policy  core.Policy
		headers bool
		opts    []core.Option
	}{
		{"check", admitting(), three(), false, nil},
		{"headers", admitting(), three(), true, nil},
		{"headers-denied", denying(), three(), true, nil},
		{"headers-both", admitting(), three(), true, []core.Option{core.WithHeaders(core.RateLimit, core.XRateLimitEpoch)}},
		{"check-hashed", admitting(), three(), false, []core.Option{core.WithKeyHash([]byte("0123456789abcdef"))}},
		{"check-custom", admitting(), custom(), false, nil},
		{"check-tiers", admitting(), tiered(), false, nil},
		{"check-eight", admitting(), eight(), false, nil},
	} {
		b.Run(row.name, func(b *testing.B) {
			l, r := limiter(b, row.store, row.policy, row.opts...), typical()
			b.ReportAllocs()
			for b.Loop() {
				d := l.Check(ctx, r)
				if row.headers {
					read(d)
				}
			}
		})
	}
}

// custom keys one level by a function of the service's own.
func custom() core.Policy {
	return append(three(), core.PerKey("tenant", func(*core.Request) (string, bool) { return "acme", true }, core.PerMinute(60)))
}

// tiered chooses its users' limits by their plan.
func tiered() core.Policy {
	p, gold := three(), []core.Limit{core.PerMinute(600)}
	p[1].LimitsFor = func(*core.Request) []core.Limit { return gold }
	return p
}

// eight is two limits for each of four levels.
func eight() core.Policy {
	two := []core.Limit{core.PerSecond(10), core.PerDay(5000)}
	return core.Policy{core.PerIP(two...), core.PerUser(two...), core.PerEndpoint(two...), core.Global(two...)}
}
