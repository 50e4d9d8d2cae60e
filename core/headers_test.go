package core_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// part is one limit of a header vector and what the store said of it.
type part struct {
	name  string
	limit core.Limit
	out   core.Outcome
}

func admits(left int64, reset time.Duration) core.Outcome {
	return core.Outcome{Admits: true, Remaining: left, ResetAfter: reset, Source: core.FromShared}
}

func denies(left int64, reset, wait time.Duration) core.Outcome {
	return core.Outcome{Remaining: left, ResetAfter: reset, RetryAfter: wait, Source: core.FromShared}
}

const ms = time.Millisecond

// The vectors of the header drafts: policy and limit are draft-11's fields, the rest is of the one
// limit that older forms can show.
var vectors = []struct {
	name           string
	parts          []part
	cost           int64
	policy, limit  string
	legacy         string // RateLimit-Policy of drafts 06 and 07
	quota, r, t, z int64  // z: when the reset is, in epoch seconds
	retry          int64
}{
	{
		name:   "first of a hundred",
		parts:  []part{{"default", core.PerMinute(100), admits(99, 60*time.Second)}},
		policy: `"default";q=100;w=60`, limit: `"default";r=99;t=60`, legacy: `100;w=60`,
		quota: 100, r: 99, t: 60, z: 1767225661,
	},
	{
		name:   "reset rounds up",
		parts:  []part{{"default", core.PerMinute(100), admits(42, 29001*ms)}},
		policy: `"default";q=100;w=60`, limit: `"default";r=42;t=30`, legacy: `100;w=60`,
		quota: 100, r: 42, t: 30, z: 1767225630,
	},
	{
		name:   "last unit admitted",
		parts:  []part{{"default", core.PerMinute(100), admits(0, 12400*ms)}},
		policy: `"default";q=100;w=60`, limit: `"default";r=0;t=13`, legacy: `100;w=60`,
		quota: 100, r: 0, t: 13, z: 1767225613,
	},
	{
		name:   "denied",
		parts:  []part{{"default", core.PerMinute(100), denies(0, 12400*ms, 12400*ms)}},
		policy: `"default";q=100;w=60`, limit: `"default";r=0;t=13`, legacy: `100;w=60`,
		quota: 100, r: 0, t: 13, z: 1767225613, retry: 13,
	},
	{
		name:   "denied for a tenth of a second",
		parts:  []part{{"burst", core.PerSecond(10), denies(0, 100*ms, 100*ms)}},
		policy: `"burst";q=10;w=1`, limit: `"burst";r=0;t=1`, legacy: `10;w=1`,
		quota: 10, r: 0, t: 1, z: 1767225601, retry: 1,
	},
	{
		name:   "two limits admit",
		parts:  []part{{"burst", core.PerSecond(10), admits(7, time.Second)}, {"daily", core.PerDay(5000), admits(100, 10*time.Hour)}},
		policy: `"burst";q=10;w=1, "daily";q=5000;w=86400`, limit: `"burst";r=7;t=1, "daily";r=100;t=36000`, legacy: `10;w=1, 5000;w=86400`,
		quota: 10, r: 7, t: 1, z: 1767225602,
	},
	{
		name:   "one of two denies",
		parts:  []part{{"burst", core.PerSecond(10), denies(0, 300*ms, 300*ms)}, {"daily", core.PerDay(5000), admits(100, 10*time.Hour)}},
		policy: `"burst";q=10;w=1, "daily";q=5000;w=86400`, limit: `"burst";r=0;t=1, "daily";r=100;t=36000`, legacy: `10;w=1, 5000;w=86400`,
		quota: 10, r: 0, t: 1, z: 1767225601, retry: 1,
	},
	{
		name:   "both deny",
		parts:  []part{{"burst", core.PerSecond(10), denies(0, 300*ms, 300*ms)}, {"hourly", core.PerHour(1000), denies(0, 1799500*ms, 1799500*ms)}},
		policy: `"burst";q=10;w=1, "hourly";q=1000;w=3600`, limit: `"burst";r=0;t=1, "hourly";r=0;t=1800`, legacy: `10;w=1, 1000;w=3600`,
		quota: 1000, r: 0, t: 1800, z: 1767227400, retry: 1800,
	},
	{
		name:   "costs more than is left",
		parts:  []part{{"default", core.PerMinute(100), denies(3, 600*ms, 1200*ms)}},
		cost:   5,
		policy: `"default";q=100;w=60`, limit: `"default";r=3;t=1`, legacy: `100;w=60`,
		quota: 100, r: 3, t: 1, z: 1767225601, retry: 2,
	},
	{
		name:   "large quota",
		parts:  []part{{"peruser", core.Per(65535, 10*time.Second), admits(60000, 4*time.Second)}},
		policy: `"peruser";q=65535;w=10`, limit: `"peruser";r=60000;t=4`, legacy: `65535;w=10`,
		quota: 65535, r: 60000, t: 4, z: 1767225605,
	},
}

// fixed keys a level so that it applies to every request.
func fixed(*core.Request) (string, bool) { return "x", true }

func TestHeadersMatchTheDraftsVectors(t *testing.T) {
	for _, v := range vectors {
		var policy core.Policy
		var outcomes []core.Outcome
		for _, p := range v.parts {
			policy, outcomes = append(policy, core.PerKey(p.name, fixed, p.limit)), append(outcomes, p.out)
		}
		three := func(prefix string, reset int64) []string {
			return []string{
				fmt.Sprint(prefix, "-Limit: ", v.quota), fmt.Sprint(prefix, "-Remaining: ", v.r), fmt.Sprint(prefix, "-Reset: ", reset),
			}
		}
		for format, want := range map[core.HeaderFormat][]string{
			core.RateLimit:        {"RateLimit-Policy: " + v.policy, "RateLimit: " + v.limit},
			core.RateLimitDraft07: {"RateLimit-Policy: " + v.legacy, fmt.Sprintf("RateLimit: limit=%d, remaining=%d, reset=%d", v.quota, v.r, v.t)},
			core.RateLimitDraft06: append([]string{"RateLimit-Policy: " + v.legacy}, three("RateLimit", v.t)...),
			core.XRateLimitDelta:  three("X-RateLimit", v.t),
			core.XRateLimitEpoch:  three("X-RateLimit", v.z),
		} {
			l := limiter(t, scripted(outcomes...), policy, core.WithHeaders(format), core.WithClock(func() time.Time { return epoch }))
			d := l.Check(ctx, core.Request{Cost: v.cost})
			if d.Allowed != (v.retry == 0) {
				t.Errorf("%s: allowed is %v", v.name, d.Allowed)
			}
			if v.retry > 0 {
				want = append(want, fmt.Sprint("Retry-After: ", v.retry))
			}
			equal(t, fmt.Sprint(v.name, ", ", format), lines(d), want)
		}
	}
}

func TestFormatsCanBeCombinedOrLeftOut(t *testing.T) {
	policy := core.Policy{core.PerKey("default", fixed, core.PerMinute(100))}
	store := scripted(denies(0, 12400*ms, 12400*ms))
	clock := core.WithClock(func() time.Time { return epoch })
	both := limiter(t, store, policy, core.WithHeaders(core.XRateLimitEpoch, core.RateLimit), clock)
	equal(t, "two formats", lines(both.Check(ctx, core.Request{})), []string{
		"X-RateLimit-Limit: 100", "X-RateLimit-Remaining: 0", "X-RateLimit-Reset: 1767225613",
		`RateLimit-Policy: "default";q=100;w=60`, `RateLimit: "default";r=0;t=13`, "Retry-After: 13",
	})
	none := limiter(t, store, policy, core.WithHeaders())
	equal(t, "no format", lines(none.Check(ctx, core.Request{})), []string{"Retry-After: 13"})
	for range both.Check(ctx, core.Request{}).Headers() { // a caller may stop at any of them
		break
	}
}

func TestHeadersShowQuotaNotBurst(t *testing.T) {
	l := limiter(t, scripted(admits(80, ms)), core.Policy{core.PerKey("a", fixed, core.PerSecond(10).WithBurst(100))})
	equal(t, "burst above quota", lines(l.Check(ctx, core.Request{})), []string{`RateLimit-Policy: "a";q=10;w=1`, `RateLimit: "a";r=10;t=1`})
}

func TestSecondLimitOfALevelHasItsOwnName(t *testing.T) {
	l := limiter(t, scripted(admits(9, time.Second), admits(99, time.Minute), admits(999, time.Hour)),
		core.Policy{core.PerKey("user", fixed, core.PerSecond(10), core.PerMinute(100), core.PerHour(1000))})
	equal(t, "three limits", lines(l.Check(ctx, core.Request{})), []string{
		`RateLimit-Policy: "user";q=10;w=1, "user-2";q=100;w=60, "user-3";q=1000;w=3600`,
		`RateLimit: "user";r=9;t=1, "user-2";r=99;t=60, "user-3";r=999;t=3600`,
	})
}

// What a response says of the policy is that of its decision: of the levels that applied to it, and
// of the policy that was in force.
func TestPolicyHeaderIsOfTheDecision(t *testing.T) {
	off := core.PerEndpoint(core.Unlimited)
	l := limiter(t, scripted(), three(), core.WithRoute("GET /free", core.Policy{off}))
	policy := func(r core.Request) string { return lines(l.Check(ctx, r))[0] }
	old := l.Check(ctx, typical())
	want := `RateLimit-Policy: "ip";q=300;w=60, "user";q=60;w=60, "endpoint";q=1000;w=1`
	for _, row := range []struct {
		r    core.Request
		want string
	}{
		{typical(), want},
		{on("192.0.2.1", "", "GET /items"), `RateLimit-Policy: "ip";q=300;w=60, "endpoint";q=1000;w=1`},
		{on("192.0.2.1", "ann", "GET /free"), `RateLimit-Policy: "ip";q=300;w=60, "user";q=60;w=60`},
		{user("ann"), `RateLimit-Policy: "user";q=60;w=60`},
		{typical(), want},
	} {
		if got := policy(row.r); got != row.want {
			t.Errorf("%+v:\n got %s\nwant %s", row.r, got, row.want)
		}
	}
	if err := l.SetPolicy(core.Policy{core.PerUser(core.PerHour(7))}); err != nil {
		t.Fatal(err)
	}
	if got := policy(typical()); got != `RateLimit-Policy: "user";q=7;w=3600` {
		t.Errorf("after SetPolicy: %s", got)
	}
	if got := lines(old)[0]; got != want {
		t.Errorf("a decision made before SetPolicy says %s", got)
	}
}

// What another level's refusal left unlooked at, and what is in shadow, has no part in the header.
func TestPolicyHeaderOfAnIncompleteAnswer(t *testing.T) {
	skipped := core.Outcome{Skipped: true, Source: core.FromCache}
	shadow := three()
	shadow[0].Shadow = true
	equal(t, "skipped and in shadow", lines(limiter(t, scripted(admits(1, ms), denies(0, ms, ms), skipped), shadow).Check(ctx, typical())), []string{
		`RateLimit-Policy: "user";q=60;w=60`, `RateLimit: "user";r=0;t=1`, "Retry-After: 1",
	})
}

func TestZeroDecisionHasNoHeaders(t *testing.T) {
	equal(t, "zero decision", lines(core.Decision{}), nil)
	l, _ := limiting(t, core.Policy{core.Global(core.PerSecond(1))})
	equal(t, "negative cost", lines(l.Check(ctx, core.Request{Cost: -1})), nil)
	equal(t, "no level applies", lines(limiter(t, scripted(), core.Policy{core.PerUser(core.PerSecond(1))}).Check(ctx, core.Request{})), nil)
}

func TestRetryAfterJitterOnlyLengthens(t *testing.T) {
	l := limiter(t, scripted(denies(0, time.Second, 99500*ms)), core.Policy{core.PerKey("a", fixed, core.PerMinute(1))}, core.WithRetryJitter(0.2))
	seen := map[int64]bool{}
	for range 1000 {
		d := l.Check(ctx, core.Request{})
		first, copied := lines(d), d
		equal(t, "read again", lines(copied), first)
		retry := retryAfter(t, d)
		if retry < 100 || retry > 120 {
			t.Fatalf("Retry-After is %d, want 100 to 120", retry)
		}
		if d.RetryAfter != 99500*ms {
			t.Fatalf("the decision's own wait is %v", d.RetryAfter)
		}
		seen[retry] = true
	}
	if len(seen) < 15 {
		t.Errorf("1000 clients are spread over %d instants only", len(seen))
	}
}

func retryAfter(t testing.TB, d core.Decision) int64 {
	t.Helper()
	for _, line := range lines(d) {
		if value, ok := strings.CutPrefix(line, "Retry-After: "); ok {
			n, err := strconv.ParseInt(value, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			return n
		}
	}
	return 0
}
