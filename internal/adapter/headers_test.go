package adapter_test

import (
	"context"
	"maps"
	"net/http"
	"net/netip"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

func TestHeadersAreThoseOfSet(t *testing.T) {
	for f := core.RateLimit; f <= core.XRateLimitEpoch; f++ {
		store := memstore.New(memstore.WithClock(func() time.Time { return time.Unix(1767225600, 0) }))
		l, err := core.New(store, core.Policy{core.PerIP(core.PerHour(1), core.PerDay(5))}, core.WithHeaders(f))
		if err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"admitted", "denied"} {
			d := l.Check(context.Background(), core.Request{IP: netip.MustParseAddr("192.0.2.1")})
			got, want := http.Header{"Ratelimit": {"of an outer one"}}, http.Header{"Ratelimit": {"of an outer one"}}
			adapter.SetHeaders(got, d)
			for name, value := range d.Headers() {
				want.Set(name, value)
			}
			if !maps.EqualFunc(got, want, slices.Equal) || len(want) < 2 {
				t.Errorf("%v, %s:\n got %v\nwant %v", f, what, got, want)
			}
			for name := range got {
				got[name] = append(got[name], "more")
			}
			for name := range got {
				if len(got[name]) != 2 || got[name][0] != want[name][0] {
					t.Errorf("%v, %s: what is added to one header reaches %s: %q", f, what, name, got[name])
				}
			}
		}
		_ = store.Close()
	}
}
