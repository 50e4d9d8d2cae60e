package adapter_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// fake is a framework's request: what its functions answer.
type fake struct {
	user, tenant string
	cost         int64
	internal     bool
}

func config() adapter.Config[*fake] {
	c := adapter.Defaults[*fake]()
	c.User = func(f *fake) string { return f.user }
	c.Cost = func(f *fake) int64 { return f.cost }
	c.Skip = func(f *fake) bool { return f.internal }
	c.Keys = []adapter.Key[*fake]{{Level: "tenant", Of: func(f *fake) (string, bool) { return f.tenant, f.tenant != "" }}}
	return c
}

func TestRequestIsWhatTheOptionsSay(t *testing.T) {
	c := config()
	header := http.Header{"X-Tenant": {"a", "b"}}
	r, ok := c.Request(&fake{user: "ann", cost: 3, tenant: "acme"}, "192.0.2.1:99", header, "GET /x")
	if !ok || r.User != "ann" || r.Cost != 3 || r.Endpoint != "GET /x" || r.IP != netip.MustParseAddr("192.0.2.1") || r.Header.Get("x-tenant") != "a" {
		t.Errorf("request is %+v, %v", r, ok)
	}

	bare := adapter.Defaults[*fake]()
	r, ok = bare.Request(&fake{user: "ann", cost: 3, internal: true}, "@", http.Header{}, "")
	if !ok || r.User != "" || r.Cost != 0 || r.Endpoint != "" || r.IP.IsValid() {
		t.Errorf("without options it is %+v, %v", r, ok)
	}
}

func TestWhatIsNotCharged(t *testing.T) {
	c := config()
	for name, row := range map[string]struct {
		f    fake
		want bool
	}{
		"charged":       {fake{cost: 1}, true},
		"free":          {fake{cost: 0}, false},
		"negative":      {fake{cost: -1}, true}, // core refuses it
		"skipped":       {fake{cost: 1, internal: true}, false},
		"dear, skipped": {fake{cost: 99, internal: true}, false},
	} {
		if _, ok := c.Request(&row.f, "", http.Header{}, ""); ok != row.want {
			t.Errorf("%s: limited is %v, want %v", name, ok, row.want)
		}
	}
}

// What is let through costs nothing: no function but Skip runs, and Cost only when it says no.
func TestFunctionsOfASkippedRequestDoNotRun(t *testing.T) {
	c := config()
	called := func(what string) { t.Errorf("%s was called", what) }
	c.User = func(*fake) string { called("User"); return "" }
	c.Keys[0].Of = func(*fake) (string, bool) { called("Key"); return "", false }
	c.Request(&fake{cost: 0}, "", http.Header{}, "")
	c.Cost = func(*fake) int64 { called("Cost"); return 1 }
	c.Request(&fake{internal: true}, "", http.Header{}, "")
}

// watched is a header that tells when it is read.
type watched struct{ values func(string) []string }

func (w watched) Get(string) string           { return "" }
func (w watched) Values(name string) []string { return w.values(name) }

func TestHeadersAreReadForTrustedPeersOnly(t *testing.T) {
	proxies, err := core.ParseProxies("192.0.2.1")
	if err != nil {
		t.Fatal(err)
	}
	c := adapter.Defaults[*fake]()
	c.Proxies = proxies
	reads := 0
	h := watched{func(name string) []string {
		reads++
		return []string{"198.51.100.1", "203.0.113.9"}
	}}
	if r, _ := c.Request(nil, "192.0.2.2:1", h, ""); r.IP.String() != "192.0.2.2" || reads != 0 {
		t.Errorf("untrusted peer: client is %v after %d reads", r.IP, reads)
	}
	if r, _ := c.Request(nil, "192.0.2.1:1", h, ""); r.IP.String() != "203.0.113.9" || reads != 1 {
		t.Errorf("trusted peer: client is %v after %d reads", r.IP, reads)
	}
}

func limiter(t *testing.T) *core.Limiter {
	t.Helper()
	store := memstore.New()
	t.Cleanup(func() { _ = store.Close() })
	l, err := core.New(store, core.Policy{core.PerIP(core.PerHour(10)), core.PerKey("tenant", core.Provided, core.PerHour(1))})
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func TestLimiterIsTheGivenOneOrDerived(t *testing.T) {
	l := limiter(t)
	c := config()
	if got, err := c.Limiter(l); got != l || err != nil {
		t.Errorf("limiter is %p, %v, want the one given, %p", got, err, l)
	}
	c.Policy = core.Policy{core.PerKey("tenant", core.Provided, core.PerHour(1))}
	if got, err := c.Limiter(l); got == l || err != nil || !got.HasLevel("tenant") || got.HasLevel("ip") {
		t.Errorf("limiter of WithPolicy is %p, %v, want one of its own", got, err)
	}
}

func TestEveryMistakeIsNamed(t *testing.T) {
	c := config()
	c.Require(true, "fine")
	c.Require(false, "WithUser: function is %v", "nil")
	c.Require(false, "WithSkip: function is nil")
	c.Policy = core.Policy{}
	c.Keys = append(c.Keys, adapter.Key[*fake]{Level: "nope"})
	_, err := c.Limiter(limiter(t))
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"WithUser: function is nil", "WithSkip", "WithPolicy", `"nope"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error is %q, want it to name %s", err, want)
		}
	}
	if strings.Contains(err.Error(), "fine") {
		t.Errorf("error is %q, want no word of what is right", err)
	}
	if _, err := c.Limiter(nil); err == nil || !strings.Contains(err.Error(), "limiter is nil") {
		t.Errorf("error for a nil limiter is %v", err)
	}
}

func TestPreflight(t *testing.T) {
	origin, asks := []string{"https://app.example"}, []string{"PUT"}
	for name, row := range map[string]struct {
		method string
		header http.Header
		want   bool
	}{
		"preflight":        {"OPTIONS", http.Header{"Origin": origin, "Access-Control-Request-Method": asks}, true},
		"bare":             {"OPTIONS", http.Header{}, false},
		"no method asked":  {"OPTIONS", http.Header{"Origin": origin}, false},
		"no origin":        {"OPTIONS", http.Header{"Access-Control-Request-Method": asks}, false},
		"empty origin":     {"OPTIONS", http.Header{"Origin": {""}, "Access-Control-Request-Method": asks}, false},
		"another method":   {"GET", http.Header{"Origin": origin, "Access-Control-Request-Method": asks}, false},
		"another spelling": {"options", http.Header{"Origin": origin, "Access-Control-Request-Method": asks}, false},
	} {
		if got := adapter.Preflight(row.method, row.header); got != row.want {
			t.Errorf("%s: %v, want %v", name, got, row.want)
		}
	}
}
