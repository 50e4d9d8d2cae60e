package adapter_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

func TestServeJudgesTheStatus(t *testing.T) {
	returns := func(status int) func() int { return func() int { return status } }
	panics := func() int { panic("scripted") }
	unwritten := func() (int, bool) { return 0, false }
	wrote := func(status int) func() (int, bool) { return func() (int, bool) { return status, true } }
	for name, row := range map[string]struct {
		written func() (int, bool)
		run     func() int
		want    int
	}{
		"returned":             {unwritten, returns(403), 403},
		"written":              {wrote(200), returns(500), 200},
		"panic":                {unwritten, panics, 500},
		"written before panic": {wrote(201), panics, 201},
	} {
		for _, refund := range []bool{false, true} {
			l := limiter(t)
			d := l.Check(t.Context(), core.Request{IP: netip.MustParseAddr("192.0.2.1")})
			ctx, cancel := context.WithCancel(t.Context())
			cancel() // the client has left; the charge is given back all the same
			var judged []int
			panicked := func() (v any) {
				defer func() { v = recover() }()
				adapter.Serve(ctx, d, func(status int) bool { judged = append(judged, status); return refund }, row.written, row.run)
				return nil
			}()
			if len(judged) != 1 || judged[0] != row.want {
				t.Errorf("%s: statuses judged are %v, want %d once", name, judged, row.want)
			}
			if wants := map[string]any{"panic": "scripted", "written before panic": "scripted"}[name]; panicked != wants {
				t.Errorf("%s: panic is %v, want %v", name, panicked, wants)
			}
			want := int64(8) // the next request pays, too
			if refund {
				want = 9
			}
			if left := l.Check(t.Context(), core.Request{IP: netip.MustParseAddr("192.0.2.1")}).Remaining; left != want {
				t.Errorf("%s, refund %v: %d are left, want %d", name, refund, left, want)
			}
		}
	}
}
