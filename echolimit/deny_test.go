package echolimit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/echolimit"
)

func newLimiter(t *testing.T, policy core.Policy) *core.Limiter {
	t.Helper()
	l, err := core.New(memstore.New(), policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestARefusalCanBeLeftToTheErrorHandler(t *testing.T) {
	var denied *core.DeniedError
	e := echo.New()
	e.HTTPErrorHandler = func(err error, c echo.Context) {
		if !errors.As(err, &denied) {
			t.Errorf("the error is %v, want a DeniedError in it", err)
		}
		e.DefaultHTTPErrorHandler(err, c)
	}
	e.Use(echolimit.New(newLimiter(t, core.Policy{core.Global(core.PerHour(1))}), echolimit.WithDenyAsError()))
	e.GET("/", func(c echo.Context) error { return c.String(http.StatusOK, "served") })
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != want || (w.Header().Get("Retry-After") != "") != (i == 1) {
			t.Errorf("request %d: %d, Retry-After %q", i, w.Code, w.Header().Get("Retry-After"))
		}
	}
	if denied == nil || denied.Decision.Level != "global" {
		t.Errorf("the error handler saw %+v", denied)
	}
}

// Echo gives a template to what a group with middleware did not match.
func TestWhatAGroupDidNotMatchHasNoEndpoint(t *testing.T) {
	var seen []string
	l := newLimiter(t, core.Policy{core.PerKey("watch", func(r *core.Request) (string, bool) {
		seen = append(seen, r.Endpoint)
		return "all", true
	}, core.PerHour(100))})
	e := echo.New()
	g := e.Group("/g", echolimit.New(l))
	g.GET("/x/:id", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	for _, path := range []string{"/g/x/7", "/g/unknown", "/g"} {
		e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodGet, path, nil))
	}
	e.ServeHTTP(httptest.NewRecorder(), httptest.NewRequest(http.MethodPost, "/g/x/7", nil))
	if len(seen) < 3 || seen[0] != "GET /g/x/{id}" {
		t.Fatalf("endpoints are %q", seen)
	}
	for _, endpoint := range seen[1:] {
		if endpoint != "" {
			t.Errorf("an unmatched request has the endpoint %q", endpoint)
		}
	}
}

// An IPExtractor that believes every header is the service's own affair.
func TestEchosOwnAddressIsNotAsked(t *testing.T) {
	e := echo.New()
	e.IPExtractor = func(r *http.Request) string { return r.Header.Get("X-Forwarded-For") }
	e.Use(echolimit.New(newLimiter(t, core.Policy{core.PerIP(core.PerHour(1))})))
	e.GET("/", func(c echo.Context) error { return c.NoContent(http.StatusOK) })
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		r, w := httptest.NewRequest(http.MethodGet, "/", nil), httptest.NewRecorder()
		r.Header.Set("X-Forwarded-For", []string{"198.51.100.1", "198.51.100.2"}[i])
		if e.ServeHTTP(w, r); w.Code != want {
			t.Errorf("request %d: %d, want %d", i, w.Code, want)
		}
	}
}
