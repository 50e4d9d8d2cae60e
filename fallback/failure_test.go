package fallback_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/fallback"
)

func level(name string, mode core.FailureMode, l core.Limit) core.Level {
	lv := core.PerKey(name, func(*core.Request) (string, bool) { return "k", true }, l)
	lv.OnFailure = mode
	return lv
}

func TestEachLevelFailsInItsOwnWay(t *testing.T) {
	shared := newFake()
	local, open, closed := level("local", core.Local, core.PerHour(5)), level("open", core.Open, core.PerHour(5)), level("closed", core.Closed, core.PerHour(5))
	for _, c := range []struct {
		name   string
		levels core.Policy
		admits int
		reason core.Reason
		source core.Source
	}{
		{"local counts on", core.Policy{local}, 5, core.Quota, core.FromLocal},
		{"open admits", core.Policy{open}, 20, core.None, core.FromNothing},
		{"closed refuses", core.Policy{closed}, 0, core.StoreFailed, core.FromNothing},
		{"local and open", core.Policy{local, open}, 5, core.Quota, core.FromNothing},
		{"local and closed", core.Policy{local, closed}, 0, core.StoreFailed, core.FromNothing},
	} {
		t.Run(c.name, func(t *testing.T) {
			shared.fail(errDown)
			l := limiter(t, wrap(t, &fake{Store: memstore.New(), err: errDown}), c.levels...)
			if n := admitted(l, core.Request{}, 20); n != c.admits {
				t.Errorf("%d of 20 admitted, want %d", n, c.admits)
			}
			d := l.Check(context.Background(), core.Request{})
			if d.Reason != c.reason || d.Source != c.source {
				t.Errorf("reason %v from %v, want %v from %v", d.Reason, d.Source, c.reason, c.source)
			}
			if c.source == core.FromNothing && d.Err == nil {
				t.Error("the decision does not say why the store failed")
			}
		})
	}
}

func TestAClosedLevelLeavesTheLocalOnesUncharged(t *testing.T) {
	l := limiter(t, wrap(t, &fake{Store: memstore.New(), err: errDown}), level("local", core.Local, core.PerHour(5)), level("closed", core.Closed, core.PerHour(5)))
	admitted(l, core.Request{}, 10)
	for _, r := range l.Check(context.Background(), core.Request{}).Levels() {
		if r.Level == "local" && r.Remaining != 5 {
			t.Errorf("local has %d left, want 5", r.Remaining)
		}
	}
}

func TestReplicasTogetherHoldTheLimit(t *testing.T) {
	total := 0
	for range 4 {
		l := limiter(t, wrap(t, &fake{Store: memstore.New(), err: errDown}, fallback.WithReplicas(4)), core.PerUser(core.PerHour(100)))
		total += admitted(l, user, 250)
	}
	if total < 97 || total > 100 {
		t.Errorf("four replicas admitted %d, want 100 at most and hardly less", total)
	}
}

func TestAShareIsAtLeastOneUnit(t *testing.T) {
	l := limiter(t, wrap(t, &fake{Store: memstore.New(), err: errDown}, fallback.WithReplicas(1000)), core.PerUser(core.PerHour(5)))
	if n := admitted(l, user, 10); n != 1 {
		t.Errorf("%d admitted, want 1", n)
	}
}

func TestThirdsOfNineAreThree(t *testing.T) {
	for replicas, want := range map[int]int{3: 3, 9: 1, 2: 4} {
		l := limiter(t, wrap(t, &fake{Store: memstore.New(), err: errDown}, fallback.WithReplicas(replicas)), core.PerUser(core.PerHour(9)))
		if n := admitted(l, user, 20); n != want {
			t.Errorf("one of %d replicas admitted %d, want %d", replicas, n, want)
		}
	}
}

func TestFlapsGiveNoFreshBursts(t *testing.T) {
	shared := newFake()
	s := wrap(t, shared)
	l := limiter(t, s, core.PerUser(core.PerHour(10)))
	total := admitted(l, user, 11)
	for range 3 {
		shared.fail(errDown)
		total += admitted(l, user, 20)
		shared.fail(nil)
		eventually(t, "back", 2*time.Second, func() bool { return !s.Health().Degraded })
		total += admitted(l, user, 20)
	}
	if total > 20 {
		t.Errorf("%d admitted over three outages, want the limit and one share of it at most: 20", total)
	}
}

func TestARefundGoesWhereTheChargeWas(t *testing.T) {
	shared := newFake()
	s := wrap(t, shared)
	l := limiter(t, s, core.PerUser(core.PerHour(10)))
	fromShared := l.Check(context.Background(), user)
	shared.fail(errDown)
	admitted(l, user, 5)
	fromLocal := l.Check(context.Background(), user)
	if fromLocal.Source != core.FromLocal || fromLocal.Remaining != 3 {
		t.Fatalf("local decision has %d left from %v", fromLocal.Remaining, fromLocal.Source)
	}
	if err := fromLocal.Refund(context.Background()); err != nil {
		t.Fatal(err)
	}
	if d := l.Peek(context.Background(), user); d.Remaining != 4 {
		t.Errorf("local bucket has %d left after the refund, want 4", d.Remaining)
	}
	if err := fromShared.Refund(context.Background()); err == nil {
		t.Error("a refund to a store that is away gave no error")
	}
	shared.fail(nil)
	eventually(t, "back", 2*time.Second, func() bool { return !s.Health().Degraded })
	if d := l.Peek(context.Background(), user); d.Remaining != 9 {
		t.Errorf("shared bucket has %d left, want 9: the refund failed and stays spent, and what waited for the store is left out", d.Remaining)
	}
}

// logged is a store over a fake one. Its log may be read when it has been closed.
func logged(t *testing.T) (s *fallback.Store, shared *fake, log *bytes.Buffer) {
	t.Helper()
	shared, log = newFake(), &bytes.Buffer{}
	s, err := fallback.New(shared, fallback.WithLogger(slog.New(slog.NewTextHandler(log, nil))))
	if err != nil {
		t.Fatal(err)
	}
	return s, shared, log
}

func TestAnOutageIsTwoLinesOfLog(t *testing.T) {
	s, shared, log := logged(t)
	l := limiter(t, s, core.PerUser(core.PerHour(10)))
	shared.fail(&core.StoreError{Fault: core.FaultConfig, Err: errDown})
	admitted(l, user, 10_000)
	shared.fail(nil)
	eventually(t, "back", 2*time.Second, func() bool { return !s.Health().Degraded })
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(log.String()), "\n")
	if len(lines) != 2 || !strings.Contains(lines[0], "level=ERROR") || !strings.Contains(lines[0], "connection refused") || !strings.Contains(lines[1], "back") {
		t.Errorf("log is:\n%s\nwant one line that names the fault and one of return", log.String())
	}
}

// The breaker does not count what a client could cause, so the log is what tells of it: once, not
// for every request.
func TestRequestsTheStoreCannotAnswerAreLogged(t *testing.T) {
	s, shared, log := logged(t)
	l := limiter(t, s, core.PerUser(core.PerHour(1000)))
	shared.fail(&core.StoreError{Fault: core.FaultRequest, Err: errDown})
	admitted(l, user, 100)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), "\n"); n != 1 || !strings.Contains(log.String(), errDown.Error()) {
		t.Errorf("%d lines of log:\n%s", n, log.String())
	}
	if n := s.Health().Failures.Request; n != 100 {
		t.Errorf("%d counted, want 100", n)
	}
}

// What opens the breaker is often only that an answer was late; the probe learns why.
func TestTheCauseOfAnOutageIsLogged(t *testing.T) {
	s, shared, log := logged(t)
	l := limiter(t, s, core.PerUser(core.PerHour(1000)))
	shared.fail(errors.New("late"))
	admitted(l, user, 5)
	shared.fail(errDown)
	time.Sleep(time.Second)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(log.String(), errDown.Error()); n != 1 {
		t.Errorf("the cause is logged %d times:\n%s", n, log.String())
	}
}

// Once the cause is known, a probe that was late has nothing to add.
func TestALateProbeDoesNotHideTheCause(t *testing.T) {
	s, shared, log := logged(t)
	l := limiter(t, s, core.PerUser(core.PerHour(1000)))
	shared.fail(errDown)
	admitted(l, user, 5)
	probed := func() {
		before := shared.calls()
		eventually(t, "two probes", 5*time.Second, func() bool { return shared.calls() >= before+2 })
	}
	shared.fail(os.ErrDeadlineExceeded)
	probed()
	shared.fail(errors.New("WRONGPASS"))
	probed()
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	if said := log.String(); strings.Count(said, "\n") != 2 || !strings.Contains(said, "connection refused") || !strings.Contains(said, "WRONGPASS") {
		t.Errorf("log is:\n%s", said)
	}
}

// Whoever has spent its limit in the shared store does not find it again in the local half.
func TestWhatIsSpentInTheSharedStoreIsSpentHere(t *testing.T) {
	shared := newFake()
	s := wrap(t, shared)
	l := limiter(t, s, core.PerUser(core.PerHour(10)))
	if n := admitted(l, user, 20); n != 10 {
		t.Fatalf("%d admitted by the shared store", n)
	}
	shared.fail(errDown)
	if n := admitted(l, user, 50); n != 0 {
		t.Errorf("%d admitted locally after the limit was spent", n)
	}
	if n := admitted(l, core.Request{User: "other"}, 50); n != 10 {
		t.Errorf("%d of another user admitted, want the limit", n)
	}
}
