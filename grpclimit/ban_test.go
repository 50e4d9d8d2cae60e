package grpclimit_test

import (
	"testing"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

// A ban is told apart from the quota, and how long it lasts is what the client is to wait.
func TestBannedAreToldSo(t *testing.T) {
	level := core.PerIP(core.PerHour(1))
	level.Ban = core.Ban{After: 1, Within: time.Hour, For: 2 * time.Hour}
	var s service
	conn := dial(t, s.start(t, behind(newBench(t).limiter(t, core.Policy{level}))...))
	do(t, conn, say).is(t, codes.OK)
	for i, want := range []struct {
		reason string
		wait   time.Duration
	}{{grpclimit.ReasonExceeded, time.Hour}, {grpclimit.ReasonBanned, 2 * time.Hour}, {grpclimit.ReasonBanned, 2 * time.Hour}} {
		a := do(t, conn, say)
		a.is(t, codes.ResourceExhausted)
		reason, wait := "", time.Duration(0)
		for _, d := range a.err.Details() {
			switch d := d.(type) {
			case *errdetails.ErrorInfo:
				reason = d.GetReason()
			case *errdetails.RetryInfo:
				wait = d.GetRetryDelay().AsDuration()
			}
		}
		if reason != want.reason || wait > want.wait || wait < want.wait-time.Minute {
			t.Errorf("refusal %d: reason %s, wait %v; want %s and %v", i, reason, wait, want.reason, want.wait)
		}
	}
}
