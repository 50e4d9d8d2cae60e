package core_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// judged is a decision of a policy of levels a, b, c with the given outcomes and failure modes.
func judged(t *testing.T, n int64, outcomes []core.Outcome, modes ...core.FailureMode) core.Decision {
	t.Helper()
	var p core.Policy
	for i := range outcomes {
		level := core.PerKey(string(rune('a'+i)), fixed, core.PerMinute(10))
		if i < len(modes) {
			level.OnFailure = modes[i]
		}
		p = append(p, level)
	}
	return limiter(t, scripted(outcomes...), p).Check(ctx, core.Request{Cost: n})
}

var errAway = errors.New("away")

func unanswered(err error) core.Outcome { return core.Outcome{Err: err, Source: core.FromNothing} }

func TestDecisionReportsTheTellingLevel(t *testing.T) {
	for _, c := range []struct {
		name   string
		cost   int64
		out    []core.Outcome
		level  string
		left   int64
		wait   time.Duration
		reset  time.Duration
		reason core.Reason
	}{
		{"tightest of those that admit", 1, []core.Outcome{admits(5, 1), admits(2, 2), admits(9, 3)}, "b", 2, 0, 2, core.None},
		{"of equal ones, the slowest", 1, []core.Outcome{admits(2, 1), admits(2, 3), admits(2, 2)}, "b", 2, 0, 3, core.None},
		{"who denies before who is tight", 1, []core.Outcome{admits(0, 9), denies(0, 1, 4), admits(0, 9)}, "b", 0, 4, 1, core.Quota},
		{"the longest wait", 1, []core.Outcome{denies(0, 1, 4), denies(3, 2, 9), denies(0, 3, 5)}, "b", 3, 9, 2, core.Quota},
		{"never before any wait", 11, []core.Outcome{denies(0, 1, 4), denies(0, 2, 9), admits(0, 1)}, "b", 0, 0, 2, core.Never},
	} {
		d := judged(t, c.cost, c.out)
		if d.Level != c.level || d.Remaining != c.left || d.RetryAfter != c.wait || d.ResetAfter != c.reset || d.Reason != c.reason {
			t.Errorf("%s: %+v", c.name, d)
		}
		if d.Allowed != (c.reason == core.None) || d.Limit.Quota != 10 {
			t.Errorf("%s: %+v", c.name, d)
		}
	}
}

// A cost above one level's capacity is told before another's wait, however long, and before a
// failure: neither waiting nor a healthy store would help.
func TestNeverOutranksEverythingElse(t *testing.T) {
	small, large, closed := core.PerKey("small", fixed, core.PerMinute(10)), core.PerKey("large", fixed, core.PerMinute(100)), core.PerKey("closed", fixed, core.PerMinute(100))
	closed.OnFailure = core.Closed
	said := map[string]core.Outcome{"small": denies(10, 0, 0), "large": denies(0, time.Second, time.Hour), "closed": unanswered(errAway)}
	for _, p := range orders(core.Policy{small, large, closed}) {
		d := limiter(t, scripted(said[p[0].Name], said[p[1].Name], said[p[2].Name]), p).Check(ctx, core.Request{Cost: 11})
		if d.Reason != core.Never || d.Level != "small" || d.RetryAfter != 0 || d.Status() != 429 || d.Remaining != 10 {
			t.Errorf("%s, %s, %s: %+v", p[0].Name, p[1].Name, p[2].Name, d)
		}
	}
	for _, p := range orders(core.Policy{large, closed}) {
		d := limiter(t, scripted(said[p[0].Name], said[p[1].Name]), p).Check(ctx, core.Request{Cost: 11})
		if d.Reason != core.StoreFailed || d.Level != "closed" || d.RetryAfter != 0 || d.Status() != 503 {
			t.Errorf("%s, %s: %+v", p[0].Name, p[1].Name, d)
		}
	}
}

func TestSourceIsTheWorstOfTheLevels(t *testing.T) {
	order := []core.Source{core.FromShared, core.FromCache, core.FromLocal, core.FromNothing}
	for i, a := range order {
		for j, b := range order {
			d := judged(t, 1, []core.Outcome{{Admits: true, Source: a}, {Admits: true, Source: b}})
			if d.Source != order[max(i, j)] {
				t.Errorf("%v and %v: %v", a, b, d.Source)
			}
			if parts := d.Levels(); parts[0].Source != a || parts[1].Source != b {
				t.Errorf("%v and %v: %+v", a, b, parts)
			}
		}
	}
}

func TestDelayIsTheLongestAndOnlyOfAdmissions(t *testing.T) {
	slow, slower, refused := admits(1, 1), admits(1, 1), denies(0, 1, 1)
	slow.Delay, slower.Delay, refused.Delay = time.Second, 2*time.Second, time.Minute
	if d := judged(t, 1, []core.Outcome{slow, slower, slow}); d.Delay != 2*time.Second {
		t.Errorf("delay %v", d.Delay)
	}
	if d := judged(t, 1, []core.Outcome{slow, refused}); d.Delay != 0 || d.Allowed {
		t.Errorf("denied with a delay of %v", d.Delay)
	}
}

// Without an answer each level does what its OnFailure says, and no number is invented.
func TestFailureModes(t *testing.T) {
	gone := &core.StoreError{Fault: core.FaultCaller, Err: context.Canceled}
	for _, c := range []struct {
		name    string
		out     []core.Outcome
		modes   []core.FailureMode
		allowed bool
		reason  core.Reason
		headers int
	}{
		{"open", []core.Outcome{unanswered(errAway)}, []core.FailureMode{core.Open}, true, core.None, 0},
		{"local, and the local half failed too", []core.Outcome{unanswered(errAway)}, []core.FailureMode{core.Local}, true, core.None, 0},
		{"closed", []core.Outcome{unanswered(errAway)}, []core.FailureMode{core.Closed}, false, core.StoreFailed, 0},
		{"open beside an answer", []core.Outcome{unanswered(errAway), admits(1, 1)}, []core.FailureMode{core.Open}, true, core.None, 2},
		{"open beside a denial", []core.Outcome{unanswered(errAway), denies(0, 1, 1)}, []core.FailureMode{core.Open}, false, core.Quota, 3},
		{"closed beside an answer", []core.Outcome{admits(1, 1), unanswered(errAway)}, []core.FailureMode{core.Open, core.Closed}, false, core.StoreFailed, 2},
		{"closed before a denial", []core.Outcome{unanswered(errAway), denies(0, 1, 1)}, []core.FailureMode{core.Closed}, false, core.StoreFailed, 2},
		{"closed behind a denial", []core.Outcome{denies(0, 1, 1), unanswered(errAway)}, []core.FailureMode{core.Open, core.Closed}, false, core.StoreFailed, 2},
		{"the caller is gone", []core.Outcome{unanswered(gone)}, []core.FailureMode{core.Open}, false, core.StoreFailed, 0},
	} {
		d := judged(t, 1, c.out, c.modes...)
		if d.Allowed != c.allowed || d.Reason != c.reason || d.Err == nil && c.name != "open beside a denial" {
			t.Errorf("%s: %+v", c.name, d)
		}
		if c.reason != core.Quota && d.RetryAfter != 0 {
			t.Errorf("%s: wait of %v", c.name, d.RetryAfter)
		}
		if got := lines(d); len(got) != c.headers {
			t.Errorf("%s: headers %q, want %d", c.name, got, c.headers)
		}
		if d.Source != core.FromNothing {
			t.Errorf("%s: source %v", c.name, d.Source)
		}
		if want := map[core.Reason]int{core.None: 200, core.Quota: 429, core.StoreFailed: 503}[c.reason]; d.Status() != want {
			t.Errorf("%s: status %d, want %d", c.name, d.Status(), want)
		}
	}
}

func TestErrorOfTheWholeStoreReachesEveryLevel(t *testing.T) {
	open, closed := core.PerUser(core.PerHour(1)), core.PerIP(core.PerHour(1))
	open.OnFailure, closed.OnFailure = core.Open, core.Closed
	err := fmt.Errorf("node 3: %w", errAway)
	d := limiter(t, failing(err), core.Policy{open, closed}).Check(ctx, on("192.0.2.1", "u", ""))
	if d.Allowed || d.Level != "ip" || !errors.Is(d.Err, errAway) || d.Status() != 503 {
		t.Errorf("%+v", d)
	}
	for _, part := range d.Levels() {
		if !errors.Is(part.Err, errAway) || part.Source != core.FromNothing || part.Denied != (part.Level == "ip") {
			t.Errorf("%+v", part)
		}
	}
	d = limiter(t, failing(err), core.Policy{open}).Check(ctx, on("192.0.2.1", "u", ""))
	if !d.Allowed || d.Level != "" || d.Remaining != 0 || d.Limit != (core.Limit{}) {
		t.Errorf("fail-open invents numbers: %+v", d)
	}
}

func TestFaultsAreClassified(t *testing.T) {
	inner := &core.StoreError{Fault: core.FaultConfig, Partition: "n1", Err: errAway}
	wrapped := fmt.Errorf("flush: %w", inner)
	if core.FaultOf(wrapped) != core.FaultConfig || core.FaultOf(errAway) != core.FaultStore || core.FaultOf(nil) != core.FaultStore {
		t.Error("faults are mixed up")
	}
	if !errors.Is(wrapped, errAway) || inner.Error() != "away" {
		t.Error("the cause is lost")
	}
}

func TestClosedLimiterFollowsOnFailure(t *testing.T) {
	closed := core.PerUser(core.PerHour(1))
	closed.OnFailure = core.Closed
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(1)), closed})
	for range 2 {
		if err := l.Close(); err != nil {
			t.Fatal(err)
		}
	}
	if d := l.Check(ctx, user("u")); d.Allowed || d.Reason != core.StoreFailed || !errors.Is(d.Err, core.ErrClosed) {
		t.Errorf("closed: %+v", d)
	}
	if d := l.Check(ctx, from("192.0.2.1")); !d.Allowed || !errors.Is(d.Err, core.ErrClosed) || len(lines(d)) != 0 {
		t.Errorf("local: %+v", d)
	}
	if err := l.Reset(ctx, user("u")); !errors.Is(err, core.ErrClosed) {
		t.Errorf("reset: %v", err)
	}
}

func TestLabelsHaveNames(t *testing.T) {
	for got, want := range map[string]string{
		core.None.String(): "none", core.Quota.String(): "quota", core.Never.String(): "never", core.Banned.String(): "banned",
		core.Listed.String(): "listed", core.Invalid.String(): "invalid", core.StoreFailed.String(): "store_failed",
		core.FromExempt.String(): "exempt", core.FromShared.String(): "shared", core.FromCache.String(): "cache",
		core.FromLocal.String(): "local", core.FromNothing.String(): "nothing",
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
