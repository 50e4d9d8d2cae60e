package core_test

import (
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/floodguard"
)

// sentry is a guard that says what its test wants, and notes what it was asked.
type sentry struct {
	says   core.Verdict
	wait   time.Duration
	bounds core.GuardBounds

	mu    sync.Mutex
	asked []string
	costs []int64
}

func saying(v core.Verdict, wait time.Duration) *sentry {
	return &sentry{says: v, wait: wait, bounds: core.GuardBounds{Threshold: 10, Window: time.Minute, Memory: 2 * time.Minute}}
}

func (s *sentry) note(method, key string, cost int64) (core.Verdict, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked, s.costs = append(s.asked, method+" "+strings.Clone(key)), append(s.costs, cost)
	return s.says, s.wait
}

func (s *sentry) Admit(key string, cost int64) (core.Verdict, time.Duration) {
	return s.note("Admit", key, cost)
}

func (s *sentry) Peek(key string, cost int64) (core.Verdict, time.Duration) {
	return s.note("Peek", key, cost)
}

func (s *sentry) Bounds() core.GuardBounds { return s.bounds }

func guarded(l core.Level, g core.Guard) core.Level {
	l.Guard = g
	return l
}

func names(d core.Decision) (out []string) {
	for _, part := range d.Levels() {
		out = append(out, part.Policy)
	}
	return out
}

func TestGuardThatPassesSparesTheLevel(t *testing.T) {
	g, s := saying(core.PassKey, 0), scripted()
	for _, p := range orders(core.Policy{guarded(core.PerIP(core.PerMinute(20), core.PerHour(1000)), g), core.PerUser(core.PerMinute(9)), core.PerEndpoint(core.PerMinute(9))}) {
		s.calls = nil
		d := limiter(t, s, p).Check(ctx, at("GET /a"))
		if !d.Allowed || d.Source != core.FromShared || slices.ContainsFunc(d.Levels(), func(r core.LevelResult) bool { return r.Level == "ip" }) {
			t.Errorf("%+v with %q", d, names(d))
		}
		for _, b := range s.buckets(t) {
			if b.Level == "ip" || !strings.HasPrefix(b.Key, "1t:default::"+b.Level+":60s:") {
				t.Errorf("the store is asked for level %s by %q", b.Level, b.Key)
			}
		}
	}
	s = scripted()
	if d := limiter(t, s, core.Policy{guarded(core.PerIP(core.PerMinute(20)), g)}).Check(ctx, at("")); !d.Allowed || d.Source != core.FromExempt || len(lines(d)) != 0 || len(s.asked()) != 0 {
		t.Errorf("alone: %+v with %q after %q", d, lines(d), s.asked())
	}
}

func TestGuardThatChecksChangesNothing(t *testing.T) {
	g := saying(core.CheckKey, 0)
	policy := core.Policy{core.PerIP(core.PerMinute(20), core.PerHour(1000)), core.PerUser(core.PerMinute(20))}
	plain, _ := limiting(t, policy)
	watched, _ := limiting(t, core.Policy{guarded(policy[0], g), guarded(policy[1], g)})
	for range 30 {
		want, got := plain.Check(ctx, at("")), watched.Check(ctx, at(""))
		if got.Allowed != want.Allowed || got.Remaining != want.Remaining || got.RetryAfter != want.RetryAfter || got.Source != want.Source {
			t.Errorf("got %+v\nwant %+v", got, want)
		}
		equal(t, "headers", lines(got), lines(want))
	}
}

func TestGuardIsAskedByTheKeyOfTheFirstLimit(t *testing.T) {
	g := saying(core.CheckKey, 0)
	l, _ := limiting(t, core.Policy{guarded(core.PerIP(core.PerMinute(20), core.PerHour(1000)), g), guarded(core.PerEndpoint(core.PerMinute(20)), g), guarded(core.PerUser(core.PerMinute(20)), g)},
		core.WithName("shop"), core.WithRoute("POST /login", core.Policy{guarded(core.PerIP(core.PerHour(2000)), g)}))
	r := on("192.0.2.1", "", "POST /login")
	l.Check(ctx, cost(r, 7))
	r.Endpoint = "GET /a"
	l.Peek(ctx, r)
	if err := l.Reset(ctx, r); err != nil {
		t.Fatal(err)
	}
	equal(t, "asked", g.asked, []string{
		"Admit 1t:shop:POST%20/login:ip:3600s:192.0.2.1", "Admit 1t:shop::endpoint:60s:POST%20/login",
		"Peek 1t:shop::ip:60s:192.0.2.1", "Peek 1t:shop::endpoint:60s:GET%20/a",
	})
	if !slices.Equal(g.costs, []int64{7, 7, 1, 1}) {
		t.Errorf("costs %v", g.costs)
	}
}

// A refusal asks no store, and each guard has counted the request whatever the order of levels.
func TestGuardThatRefuses(t *testing.T) {
	short, long := saying(core.RefuseKey, 1500*time.Millisecond), saying(core.RefuseKey, 90*time.Second)
	for i, p := range orders(core.Policy{guarded(core.PerIP(core.PerMinute(20), core.PerHour(1000)), short), guarded(core.PerUser(core.PerMinute(20)), long), core.PerEndpoint(core.PerMinute(20))}) {
		s := scripted()
		l := limiter(t, s, p)
		d := l.Check(ctx, at("GET /a"))
		if d.Allowed || d.Reason != core.Quota || d.Level != "user" || d.RetryAfter != 90*time.Second || d.Source != core.FromLocal || d.Status() != 429 || len(s.asked()) != 0 {
			t.Errorf("%+v after %q", d, s.asked())
		}
		if n := len(short.asked); n != i+1 || len(long.asked) != n {
			t.Errorf("guards were asked %d and %d times, want %d", n, len(long.asked), i+1)
		}
		for _, part := range d.Levels() {
			if refused := part.Policy == "ip" || part.Policy == "user"; part.Denied != refused || part.Skipped == refused {
				t.Errorf("%+v", part)
			}
		}
		if got := lines(d); !slices.Contains(got, "Retry-After: 90") {
			t.Errorf("headers %q", got)
		}
		if err := d.Refund(ctx); err != nil || len(s.asked()) != 0 {
			t.Errorf("refund: %v after %q", err, s.asked())
		}
	}
	never := limiter(t, scripted(), core.Policy{guarded(core.PerIP(core.PerMinute(20)), short)}).Check(ctx, cost(at(""), 21))
	if never.Reason != core.Never || never.RetryAfter != 0 || never.Levels()[0].RetryAfter != 0 {
		t.Errorf("cost above the capacity: %+v", never)
	}
}

func TestGuardOfAShadowRefusesNobody(t *testing.T) {
	s := scripted()
	l := limiter(t, s, core.Policy{shadow(guarded(core.PerIP(core.PerMinute(20)), saying(core.RefuseKey, time.Second)))})
	if d := l.Check(ctx, at("")); !d.Allowed || len(s.asked()) != 1 {
		t.Errorf("%+v after %q", d, s.asked())
	}
}

func TestGuardRefusesWhatPeekSays(t *testing.T) {
	s := scripted()
	d := limiter(t, s, core.Policy{guarded(core.PerIP(core.PerMinute(20)), saying(core.RefuseKey, time.Second))}).Peek(ctx, at(""))
	if d.Allowed || d.RetryAfter != time.Second || len(s.asked()) != 0 {
		t.Errorf("%+v after %q", d, s.asked())
	}
}

func TestGuardHasToFitItsLimits(t *testing.T) {
	b := core.GuardBounds{Threshold: 10, Window: time.Minute, Memory: 2 * time.Minute}
	refusing := func(n int64) core.GuardBounds {
		with := b
		with.RefuseAbove = n
		return with
	}
	for _, c := range []struct {
		bounds core.GuardBounds
		limits []core.Limit
		says   string // "" if it fits
	}{
		{b, []core.Limit{core.PerMinute(10)}, ""},
		{b, []core.Limit{core.PerMinute(9)}, "threshold is 10 within 1m0s, want at most 9"},
		{b, []core.Limit{core.PerHour(600)}, ""},
		{b, []core.Limit{core.PerHour(599)}, "want at most 9: that is what 599 per 1h0m0s holds"},
		{b, []core.Limit{core.PerSecond(1000).WithBurst(9)}, "want at most 9"},
		{b, []core.Limit{core.PerMinute(1000), core.PerMinute(9)}, "want at most 9"},
		{b, []core.Limit{core.Per(5e8, 1<<62)}, "want at most 6:"}, // beyond 64 bits on the way
		{b, []core.Limit{core.Per(1e9, time.Second)}, ""},
		{b, []core.Limit{core.Unlimited}, "limit is unlimited"},
		{b, []core.Limit{core.BlockAll}, "limit is block all"},
		{b, []core.Limit{core.PerMinute(20).With(core.LeakyBucket)}, "leaky bucket"},
		{refusing(60), []core.Limit{core.PerMinute(20)}, ""},
		{refusing(59), []core.Limit{core.PerMinute(20)}, "refuse-above is 59"},
		{refusing(60), []core.Limit{core.PerMinute(1000), core.PerMinute(20)}, ""},
		{core.GuardBounds{}, []core.Limit{core.PerMinute(20)}, "threshold is 0"},
	} {
		_, err := core.New(scripted(), core.Policy{guarded(core.PerIP(c.limits...), &sentry{bounds: c.bounds})})
		switch {
		case c.says == "" && err != nil:
			t.Errorf("%+v before %v: %v", c.bounds, c.limits, err)
		case c.says != "" && (err == nil || !strings.HasPrefix(err.Error(), `core: level "ip": guard: `) || !strings.Contains(err.Error(), c.says)):
			t.Errorf("%+v before %v: %v, want %q", c.bounds, c.limits, err, c.says)
		}
	}
	failed, _ := floodguard.New()
	if _, err := core.New(scripted(), core.Policy{guarded(core.PerIP(core.PerMinute(20)), failed)}); err == nil || !strings.Contains(err.Error(), "constructor") {
		t.Errorf("a guard that could not be made: %v", err)
	}
}

// A tier that is too small for the guard is checked exactly.
func TestGuardBesideTiers(t *testing.T) {
	g := saying(core.PassKey, 0)
	level := guarded(core.PerUser(core.PerMinute(20)), g)
	level.LimitsFor = func(r *core.Request) []core.Limit {
		return map[string][]core.Limit{"small": {core.PerMinute(9)}, "large": {core.PerMinute(90)}, "none": {core.Unlimited}}[r.User]
	}
	l, _ := limiting(t, core.Policy{level})
	for who, passes := range map[string]bool{"small": false, "large": true, "other": true, "none": false} {
		g.asked = nil
		d := l.Check(ctx, user(who))
		if asked := len(g.asked) == 1; asked != passes || !d.Allowed || passes && len(d.Levels()) != 0 {
			t.Errorf("%s: asked %q, %+v", who, g.asked, d)
		}
	}
}

// What a key may spend unchecked comes on top of its limit, and no more than that.
func TestGuardAdmitsAtMostItsThresholdMore(t *testing.T) {
	g, err := floodguard.New(floodguard.WithThreshold(30), floodguard.WithWindow(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	l, _ := limiting(t, core.Policy{guarded(core.PerUser(core.PerHour(300)), g)})
	if got := admitted(l, user("ann"), 1000); got != 29+300 {
		t.Errorf("%d admitted, want 329", got)
	}
	if got := admitted(l, user("bob"), 29); got != 29 {
		t.Errorf("%d admitted, want 29", got)
	}
	if d := l.Peek(ctx, user("ann")); d.Allowed {
		t.Errorf("%+v", d)
	}
}

func TestAllocationsWithAGuard(t *testing.T) {
	if raceEnabled {
		t.Skip("the race detector allocates")
	}
	g, err := floodguard.New(floodguard.WithThreshold(30), floodguard.WithRefuseAbove(2000))
	if err != nil {
		t.Fatal(err)
	}
	l := limiter(t, admitting(), core.Policy{guarded(core.PerIP(core.PerMinute(300)), g), core.PerUser(core.PerMinute(300))})
	for range 3 { // passes, is checked, is refused
		if got := testing.AllocsPerRun(1000, func() { l.Check(ctx, typical()) }); got > 1 {
			t.Errorf("Check allocates %v times, want 1", got)
		}
	}
	if d := l.Check(ctx, typical()); d.Allowed {
		t.Errorf("%+v", d)
	}
}
