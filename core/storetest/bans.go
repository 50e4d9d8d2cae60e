package storetest

import (
	"context"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// banTests: what repeated denials come to, for stores that have bans.
var banTests = map[string]func(*testing.T, *harness){
	"denials within the span ban, and others not": func(t *testing.T, h *harness) {
		l := h.banning(t, core.Ban{After: 3, Within: 10 * time.Minute, For: time.Minute})
		l.is(t, "ann", core.None)
		l.is(t, "ann", core.Quota)
		h.Clock.Advance(9 * time.Minute)
		l.is(t, "ann", core.Quota)
		h.Clock.Advance(time.Minute) // the first is forgotten
		l.is(t, "ann", core.Quota)
		h.Clock.Advance(time.Minute)
		l.is(t, "ann", core.Quota)
		d := l.is(t, "ann", core.Banned)
		if d.ResetAfter != time.Minute || d.RetryAfter != 49*time.Minute || d.Level != "user" || d.Limit.Quota != 1 || d.Remaining != 0 {
			t.Errorf("banned: %+v", d)
		}
		l.is(t, "bob", core.None)
	},

	"what is refused during a ban does not prolong it, and is told how long it lasts": func(t *testing.T, h *harness) {
		l := h.banning(t, core.Ban{After: 2, Within: time.Hour, For: time.Minute})
		l.deny(t, "ann", 2)
		for left := time.Minute; left > 0; left -= 10 * time.Second {
			equal(t, "until it ends", l.is(t, "ann", core.Banned).ResetAfter, left)
			h.Clock.Advance(10 * time.Second)
		}
		l.is(t, "ann", core.Quota)
	},

	"each ban is longer than the one before, up to the longest, and that is forgotten": func(t *testing.T, h *harness) {
		l := h.banning(t, core.Ban{After: 1, Within: 30 * time.Second, For: time.Minute, Multiply: 3, Max: 5 * time.Minute})
		l.is(t, "ann", core.None)
		for _, want := range []time.Duration{time.Minute, 3 * time.Minute, 5 * time.Minute, 5 * time.Minute} {
			l.is(t, "ann", core.Quota)
			equal(t, "ban", l.is(t, "ann", core.Banned).ResetAfter, want)
			h.Clock.Advance(want)
		}
		h.Clock.Advance(5*time.Minute - time.Microsecond)
		l.is(t, "ann", core.Quota)
		equal(t, "ban", l.is(t, "ann", core.Banned).ResetAfter, 5*time.Minute)
		h.Clock.Advance(10 * time.Minute)
		l.is(t, "ann", core.Quota)
		equal(t, "the first ban anew", l.is(t, "ann", core.Banned).ResetAfter, time.Minute)
	},

	"a ban that is shorter than the span of its denials is remembered for that span": func(t *testing.T, h *harness) {
		l := h.banning(t, core.Ban{After: 1, Within: time.Hour, For: time.Minute, Multiply: 2, Max: 8 * time.Minute})
		l.is(t, "ann", core.None)
		for _, row := range []struct{ ban, peace time.Duration }{
			{time.Minute, 59 * time.Minute}, {2 * time.Minute, time.Hour - time.Microsecond}, {4 * time.Minute, time.Hour}, {time.Minute, time.Hour}, {time.Minute, 0},
		} {
			for l.Check(context.Background(), core.Request{User: "ann"}).Allowed { // what has come back meanwhile
			}
			equal(t, "ban", l.is(t, "ann", core.Banned).ResetAfter, row.ban)
			h.Clock.Advance(row.ban + row.peace)
		}
	},

	"a ban charges nothing at other levels, and refuses whatever the bucket holds": func(t *testing.T, h *harness) {
		l := h.banning(t, core.Ban{After: 1, Within: time.Hour, For: 2 * time.Hour}, core.Global(core.PerDay(100)))
		l.is(t, "ann", core.None)
		l.is(t, "ann", core.Quota)
		h.Clock.Advance(time.Hour) // the bucket is full again
		l.is(t, "ann", core.Banned)
		l.is(t, "bob", core.None)
		for _, part := range l.Peek(context.Background(), core.Request{User: "cy"}).Levels() {
			if part.Level == "global" { // full by now, but for bob's
				equal(t, "left at the global level", part.Remaining, 99)
			}
		}
	},

	"bans are listed, and end by lifting or a reset": func(t *testing.T, h *harness) {
		l := h.banning(t, core.Ban{After: 1, Within: time.Hour, For: 2 * time.Hour, Multiply: 2})
		for _, user := range []string{"ann", "bob"} {
			l.deny(t, user, 1)
			h.Clock.Advance(time.Second)
		}
		bans, err := l.Bans(context.Background())
		if err != nil || len(bans) != 2 || bans[0].Level != "user" || bans[0].Until.Sub(bans[1].Until) != time.Second {
			t.Fatalf("bans %+v, error %v", bans, err)
		}
		if err := l.Lift(context.Background(), bans[0]); err != nil {
			t.Fatal(err)
		}
		l.is(t, "bob", core.Quota)
		equal(t, "the first ban anew", l.is(t, "bob", core.Banned).ResetAfter, 2*time.Hour)
		l.is(t, "ann", core.Banned)
		if err := l.Reset(context.Background(), core.Request{User: "ann"}); err != nil {
			t.Fatal(err)
		}
		l.is(t, "ann", core.None)
	},

	"a refund or a settlement is no denial": func(t *testing.T, h *harness) {
		l := h.banning(t, core.Ban{After: 1, Within: time.Hour, For: time.Hour})
		d := l.is(t, "ann", core.None)
		if err := d.Settle(context.Background(), 5); err != nil {
			t.Fatal(err)
		}
		d = l.is(t, "bob", core.None)
		if err := d.Refund(context.Background()); err != nil {
			t.Fatal(err)
		}
		l.is(t, "bob", core.None)
		l.is(t, "ann", core.Quota)
		l.is(t, "ann", core.Banned)
	},
}

// banning is a limiter with one unit an hour for each user.
type banning struct{ *core.Limiter }

func (h *harness) banning(t *testing.T, b core.Ban, more ...core.Level) banning {
	t.Helper()
	if !h.Store.Traits().Bans {
		t.Skip("the store claims no bans")
	}
	user := core.PerUser(core.PerHour(1))
	user.Ban = b
	policy := append(core.Policy{user}, more...)
	for i := range policy {
		policy[i].OnFailure = core.Closed
	}
	l, err := core.New(h.Store, policy)
	if err != nil {
		t.Fatal(err)
	}
	return banning{l}
}

// is checks a request of a user, and why it is refused.
func (l banning) is(t *testing.T, user string, want core.Reason) core.Decision {
	t.Helper()
	d := l.Check(context.Background(), core.Request{User: user})
	if d.Reason != want {
		t.Errorf("%s is refused for %v, want %v: %+v", user, d.Reason, want, d)
	}
	return d
}

// deny spends the user's unit and is refused n times.
func (l banning) deny(t *testing.T, user string, n int) {
	t.Helper()
	l.is(t, user, core.None)
	for range n {
		l.is(t, user, core.Quota)
	}
}
