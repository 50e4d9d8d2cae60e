package core_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

func TestPeekAnswersAndChangesNothing(t *testing.T) {
	s, c := memory(t)
	l := limiter(t, s, core.Policy{core.PerIP(core.PerMinute(3)), shadow(core.PerUser(core.PerMinute(1)))})
	r := at("")
	for range 20 {
		if d := l.Peek(ctx, r); !d.Allowed || d.Remaining != 3 {
			t.Fatalf("%+v", d)
		}
	}
	if got := s.Stats().Entries; got != 0 {
		t.Errorf("%d entries made by peeking", got)
	}
	admitted(l, r, 3)
	for range 20 {
		if d := l.Peek(ctx, r); d.Allowed || d.RetryAfter != 20*time.Second || d.Reason != core.Quota || d.Level != "ip" {
			t.Fatalf("%+v", d)
		}
	}
	c.advance(20 * time.Second)
	if d := l.Peek(ctx, r); !d.Allowed {
		t.Errorf("%+v", d)
	}
	if got := admitted(l, r, 3); got != 1 {
		t.Errorf("%d admitted, want 1", got)
	}
	// It judges a cost as Check does.
	for n := int64(1); n <= 5; n++ {
		fresh := cost(on("192.0.2.9", "", ""), n)
		if p := l.Peek(ctx, fresh); p.Allowed != (n <= 3) || (n > 3) != (p.Reason == core.Never) {
			t.Errorf("cost %d: %+v", n, p)
		}
	}
}

func TestPeekIsNotObserved(t *testing.T) {
	var seen []core.Decision
	l, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(1))}, core.WithObserver(func(d core.Decision) { seen = append(seen, d) }))
	l.Peek(ctx, user("u"))
	l.Check(ctx, user("u"))
	l.Check(ctx, user("u"))
	if len(seen) != 2 || !seen[0].Allowed || seen[1].Allowed || seen[1].Level != "user" {
		t.Errorf("observed %+v", seen)
	}
}

func TestResetDefaultsToTheCallersLevels(t *testing.T) {
	policy := core.Policy{core.Global(core.PerHour(9)), core.PerIP(core.PerHour(9)), core.PerUser(core.PerHour(9)), core.PerEndpoint(core.PerHour(9)), core.PerKey("tenant", fixed, core.PerHour(9))}
	for _, c := range []struct {
		levels []string
		full   []string
	}{
		{nil, []string{"ip", "user", "tenant"}},
		{[]string{"ip"}, []string{"ip"}},
		{[]string{"global", "endpoint"}, []string{"global", "endpoint"}},
		{[]string{"user", "user", "tenant"}, []string{"user", "tenant"}},
	} {
		l, _ := limiting(t, policy)
		r := at("GET /a/:id")
		admitted(l, r, 4)
		if err := l.Reset(ctx, at("GET /a/{id}"), c.levels...); err != nil {
			t.Fatal(err)
		}
		for _, part := range l.Peek(ctx, r).Levels() {
			want := int64(5)
			if slices.Contains(c.full, part.Level) {
				want = 9
			}
			if part.Remaining != want {
				t.Errorf("Reset(%v): level %s has %d left, want %d", c.levels, part.Level, part.Remaining, want)
			}
		}
	}
}

func TestResetIsOfOneRequestsBuckets(t *testing.T) {
	l, _ := limiting(t, core.Policy{core.PerIP(core.PerHour(9)), core.PerUser(core.PerHour(9), core.PerDay(20))},
		core.WithRoute("POST /login", core.Policy{core.PerIP(core.PerHour(3))}), core.WithRoute("GET /free", core.Exempt))
	other := on("192.0.2.2", "v", "")
	admitted(l, other, 4)
	admitted(l, at("POST /login"), 2)
	admitted(l, at(""), 2)
	if err := l.Reset(ctx, at("POST /login")); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		r     core.Request
		level string
		want  int64
	}{{other, "ip", 5}, {other, "user", 5}, {at("POST /login"), "ip", 3}, {at(""), "ip", 7}, {at(""), "user", 9}} {
		if got := left(t, l, c.r, c.level); got != c.want {
			t.Errorf("%+v: level %s has %d left, want %d", c.r, c.level, got, c.want)
		}
	}
	if parts := l.Peek(ctx, at("")).Levels(); parts[2].Remaining != 20 {
		t.Errorf("the level's second limit is not reset: %+v", parts[2])
	}
	spelt, _ := limiting(t, core.Policy{core.PerUser(core.PerHour(9))}, core.WithRoute("GET /a/:id", core.Policy{core.PerIP(core.PerHour(9))}))
	admitted(spelt, at("GET /a/:id"), 4)
	if err := spelt.Reset(ctx, at("GET /a/:id")); err != nil {
		t.Fatal(err)
	}
	if got := left(t, spelt, at("GET /a/:id"), "ip"); got != 9 {
		t.Errorf("%d left, want 9: the route's own level is not reset", got)
	}
	if err := l.Reset(ctx, core.Request{}, "user"); err != nil {
		t.Errorf("a level that does not apply: %v", err)
	}
	for _, r := range []core.Request{at(""), at("GET /free")} {
		if err := l.Reset(ctx, r, "tenant"); err == nil || !strings.Contains(err.Error(), `"tenant"`) {
			t.Errorf("unknown level: %v", err)
		}
	}
	if err := l.Reset(ctx, at("GET /free")); err != nil {
		t.Errorf("exempt route: %v", err)
	}
}
