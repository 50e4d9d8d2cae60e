package httplimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/httplimit"
)

// What is on the wire is the status, whatever becomes of the handler afterwards.
func TestAFlushIsAnAnswer(t *testing.T) {
	var judged int
	limit := httplimit.New(newLimiter(t, core.Policy{core.Global(core.PerHour(9))}),
		httplimit.WithRefundOn(func(status int) bool { judged = status; return false }))
	h := limit(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.(http.Flusher).Flush()
		panic("late")
	}))
	func() {
		defer func() {
			if recover() == nil {
				t.Error("the panic did not pass through")
			}
		}()
		h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, "/", nil))
	}()
	if judged != http.StatusOK {
		t.Errorf("judged %d, want the 200 that was flushed", judged)
	}
}

func TestAPatternWithoutAMethodStandsForAll(t *testing.T) {
	var seen string
	l := newLimiter(t, core.Policy{core.PerKey("watch", func(r *core.Request) (string, bool) {
		seen = r.Endpoint
		return "all", true
	}, core.PerHour(9))})
	mux := http.NewServeMux()
	mux.HandleFunc("/any/{id}", func(http.ResponseWriter, *http.Request) {})
	mux.HandleFunc("GET /one", func(http.ResponseWriter, *http.Request) {})
	outside := httplimit.New(l, httplimit.WithMux(mux))(mux)
	inside := http.NewServeMux()
	inside.Handle("/in/{id}", httplimit.New(l)(mux))
	for _, c := range []struct {
		h                  http.Handler
		method, path, want string
	}{
		{outside, "PUT", "/any/7", "* /any/{id}"},
		{outside, "HEAD", "/one", "GET /one"},
		{outside, "POST", "/one", ""},
		{outside, "GET", "/none", ""},
		{inside, "GET", "/in/7", "* /in/{id}"},
	} {
		seen = "not limited"
		c.h.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(c.method, c.path, nil))
		if seen != c.want {
			t.Errorf("%s %s is counted at %q, want %q", c.method, c.path, seen, c.want)
		}
	}
}
