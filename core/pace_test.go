package core_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// queued is an admission to be served after a delay, by the second of two levels.
func queued(t testing.TB, delay time.Duration) (core.Decision, *script) {
	t.Helper()
	slow := admits(3, time.Second)
	slow.Delay = delay
	s := scripted(admits(1, time.Second), slow)
	l := limiter(t, s, core.Policy{core.PerKey("quick", fixed, core.PerMinute(2)), core.PerKey("queue", fixed, core.PerMinute(5).With(core.LeakyBucket))})
	return l.Check(ctx, core.Request{}), s
}

func TestPaceServesAfterTheDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		d, s := queued(t, 300*ms)
		d = d.Pace(ctx, 300*ms)
		if !d.Allowed || d.Reason != core.None || time.Since(start) != 300*ms {
			t.Errorf("%+v after %v", d, time.Since(start))
		}
		equal(t, "calls", s.asked(), []string{"Take 2"})
	})
}

func TestPaceRefusesADelayAboveTheMost(t *testing.T) {
	for _, most := range []time.Duration{300*ms - 1, 0, -time.Hour} {
		synctest.Test(t, func(t *testing.T) {
			start := time.Now()
			d, s := queued(t, 300*ms)
			d = d.Pace(ctx, most)
			if d.Allowed || d.Reason != core.Quota || d.Delay != 0 || d.Status() != 429 || retryAfter(t, d) < 1 || d.RetryAfter <= 0 {
				t.Errorf("most %v: %+v", most, d)
			}
			if time.Since(start) != 0 {
				t.Errorf("refused after %v, want at once", time.Since(start))
			}
			equal(t, "calls", s.asked(), []string{"Take 2", "Refund 2"})
			refund(t, d)
			equal(t, "calls", s.asked(), []string{"Take 2", "Refund 2"})
		})
	}
}

// The refusal names the level whose queue is too long, as any refusal does.
func TestPaceNamesTheLevelThatDelays(t *testing.T) {
	d, _ := queued(t, 3*time.Second)
	d = d.Pace(ctx, time.Second)
	if d.Allowed || d.RetryAfter != 2*time.Second {
		t.Fatalf("%+v", d)
	}
	if d.Level != "queue" || d.Limit != core.PerMinute(5).With(core.LeakyBucket) {
		t.Errorf("level %q with limit %v, want the queue", d.Level, d.Limit)
	}
	if body := string(d.Problem()); !strings.Contains(body, `"violated-policies":["queue"]`) {
		t.Errorf("body %s does not name the queue", body)
	}
}

func TestPaceNamesTheLongestOfSeveralQueues(t *testing.T) {
	var p core.Policy
	var outcomes []core.Outcome
	for _, delay := range []time.Duration{3 * time.Second, 500 * ms, 5 * time.Second, 4 * time.Second} {
		o := admits(1, time.Second)
		o.Delay = delay
		p = append(p, core.PerKey("q"+strings.ReplaceAll(delay.String(), ".", "-"), fixed, core.PerMinute(5).With(core.LeakyBucket)))
		outcomes = append(outcomes, o)
	}
	d := limiter(t, scripted(outcomes...), p).Check(ctx, core.Request{}).Pace(ctx, time.Second)
	if d.Level != "q5s" || d.RetryAfter != 4*time.Second {
		t.Errorf("%+v, want the five seconds' queue and four to wait", d)
	}
	if body := string(d.Problem()); !strings.Contains(body, `"violated-policies":["q3s","q5s","q4s"]`) {
		t.Errorf("body %s, want the queues that are too long", body)
	}
}

func TestPaceLeavesOthersAlone(t *testing.T) {
	allowed, denied := core.Decision{Allowed: true, Level: "a"}, core.Decision{Reason: core.Quota, RetryAfter: time.Minute}
	for _, d := range []core.Decision{allowed, denied, {}} {
		if got := d.Pace(ctx, 0); got != d {
			t.Errorf("%+v became %+v", d, got)
		}
	}
}

func TestPaceOfADecisionMadeByHand(t *testing.T) {
	defer func() {
		if r := recover(); r != nil {
			t.Errorf("panic: %v", r)
		}
	}()
	d := core.Decision{Allowed: true, Delay: time.Minute}.Pace(ctx, time.Second)
	if d.Allowed || d.Reason != core.Quota || d.RetryAfter != 59*time.Second {
		t.Errorf("%+v", d)
	}
}

func TestPaceGivesTheSlotBackWhenTheCallerLeaves(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		gone, leave := context.WithCancelCause(ctx)
		why := errors.New("client went away")
		d, s := queued(t, 300*ms)
		time.AfterFunc(100*ms, func() { leave(why) })
		d = d.Pace(gone, time.Second)
		if d.Allowed || d.Reason != core.StoreFailed || !errors.Is(d.Err, why) || d.RetryAfter != 0 || d.Delay != 0 || time.Since(start) != 100*ms {
			t.Errorf("%+v after %v", d, time.Since(start))
		}
		if got := s.asked(); !slices.Equal(got, []string{"Take 2", "Refund 2"}) {
			t.Errorf("store asked %v", got)
		}
	})
}

func TestPaceDoesNotWaitForADeadlineItCannotMeet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		short, cancel := context.WithTimeout(ctx, 200*ms)
		defer cancel()
		d, s := queued(t, 300*ms)
		d = d.Pace(short, time.Second)
		if d.Allowed || !errors.Is(d.Err, context.DeadlineExceeded) || time.Since(start) != 0 {
			t.Errorf("%+v after %v", d, time.Since(start))
		}
		equal(t, "calls", s.asked(), []string{"Take 2", "Refund 2"})
	})
}
