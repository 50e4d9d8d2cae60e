package core_test

import (
	"errors"
	"testing"

	"github.com/tierlimit/tierlimit/core"
)

func TestProblemBodies(t *testing.T) {
	const (
		quota    = `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,`
		capacity = `{"type":"https://iana.org/assignments/http-problem-types#temporary-reduced-capacity","title":"Request cannot be satisfied due to temporary server capacity constraints","status":503,`
	)
	burst, hourly := core.PerKey("burst", fixed, core.PerSecond(10)), core.PerKey("hourly", fixed, core.PerHour(1000))
	shadow, closed := burst, hourly
	shadow.Shadow = true
	closed.OnFailure = core.Closed
	failed := core.Outcome{Err: errors.New("away"), Source: core.FromNothing}
	for _, c := range []struct {
		name   string
		policy core.Policy
		out    []core.Outcome
		cost   int64
		want   string
	}{
		{"both deny", core.Policy{burst, hourly}, []core.Outcome{denies(0, ms, ms), denies(0, ms, ms)}, 0, quota + `"violated-policies":["burst","hourly"]}`},
		{"one denies", core.Policy{burst, hourly}, []core.Outcome{admits(1, ms), denies(0, ms, ms)}, 0, quota + `"violated-policies":["hourly"]}`},
		{"a shadow is not named", core.Policy{shadow, hourly}, []core.Outcome{denies(0, ms, ms), denies(0, ms, ms)}, 0, quota + `"violated-policies":["hourly"]}`},
		{"an open failure is not named", core.Policy{burst, hourly}, []core.Outcome{failed, denies(0, ms, ms)}, 0, quota + `"violated-policies":["hourly"]}`},
		{
			"never",
			core.Policy{burst, hourly},
			[]core.Outcome{denies(10, 0, 0), admits(1, ms)},
			11,
			quota + `"detail":"The request costs more than the policy ever admits; waiting does not help.","violated-policies":["burst"]}`,
		},
		{"store failed", core.Policy{burst, closed}, []core.Outcome{admits(1, ms), failed}, 0, capacity + `"violated-policies":["hourly"]}`},
		{"invalid", core.Policy{burst}, nil, -1, `{"type":"about:blank","title":"Too Many Requests","status":429,"detail":"The cost of the request is not valid."}`},
		{"allowed", core.Policy{burst}, []core.Outcome{admits(1, ms)}, 0, ""},
	} {
		d := limiter(t, scripted(c.out...), c.policy).Check(ctx, core.Request{Cost: c.cost})
		if got := string(d.Problem()); got != c.want {
			t.Errorf("%s:\n got %s\nwant %s", c.name, got, c.want)
		}
	}
	if core.ProblemType != "application/problem+json" {
		t.Error(core.ProblemType)
	}
}

func TestProblemNamesTheSecondLimiter(t *testing.T) {
	p := core.Policy{core.PerKey("burst", fixed, core.PerSecond(10))}
	first := limiter(t, scripted(admits(1, ms)), p)
	second, err := limiter(t, scripted(denies(0, ms, ms)), p, core.WithName("login")).With(p)
	if err != nil {
		t.Fatal(err)
	}
	outer, _ := first.Admit(ctx, core.Request{}, 0)
	_, d := second.Admit(outer, core.Request{}, 0)
	want := `{"type":"https://iana.org/assignments/http-problem-types#quota-exceeded","title":"Request cannot be satisfied as assigned quota has been exceeded","status":429,"violated-policies":["login+1:burst"]}`
	if got := string(d.Problem()); got != want {
		t.Errorf("\n got %s\nwant %s", got, want)
	}
}

func TestStatusTellsWhoseFaultItIs(t *testing.T) {
	for d, want := range map[*core.Decision]int{
		{Allowed: true}:                          200,
		{Reason: core.Quota}:                     429,
		{Reason: core.Never}:                     429,
		{Reason: core.Invalid}:                   429,
		{Reason: core.StoreFailed}:               503,
		{}:                                       429,
		{Allowed: true, Err: errors.New("away")}: 200,
	} {
		if got := d.Status(); got != want {
			t.Errorf("%+v: status %d, want %d", d, got, want)
		}
	}
}
