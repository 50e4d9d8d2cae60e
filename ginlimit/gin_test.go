package ginlimit_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/ginlimit"
)

// These are what only gin has; what all adapters have in common is in adaptertest.

func newLimiter(t *testing.T, p core.Policy, opts ...core.Option) (*core.Limiter, *memstore.Store) {
	t.Helper()
	store := memstore.New(memstore.WithClock(new(storetest.Clock).Now))
	t.Cleanup(func() { _ = store.Close() })
	l, err := core.New(store, p, opts...)
	if err != nil {
		t.Fatal(err)
	}
	return l, store
}

func request(h http.Handler, method, path string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, nil)
	for i := 0; i < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func want(t *testing.T, w *httptest.ResponseRecorder, status int, rateLimit string) {
	t.Helper()
	if got := w.Header().Get("RateLimit"); w.Code != status || got != rateLimit {
		t.Errorf("answer is %d with RateLimit %q, want %d with %q", w.Code, got, status, rateLimit)
	}
}

func ok(c *gin.Context) { c.String(http.StatusOK, "ok") }

// Gin believes everybody's forwarding headers by default, and may be told to believe a header
// unconditionally. The limiter asks neither.
func TestGinsOwnIdeaOfTheClientIsNotUsed(t *testing.T) {
	for name, set := range map[string]func(*gin.Engine) error{
		"default":   func(*gin.Engine) error { return nil },
		"everybody": func(e *gin.Engine) error { return e.SetTrustedProxies([]string{"0.0.0.0/0", "::/0"}) },
		"platform":  func(e *gin.Engine) error { e.TrustedPlatform = gin.PlatformCloudflare; return nil },
	} {
		t.Run(name, func(t *testing.T) {
			l, _ := newLimiter(t, core.Policy{core.PerIP(core.PerHour(2))})
			e := gin.New()
			if err := set(e); err != nil {
				t.Fatal(err)
			}
			e.Use(ginlimit.New(l))
			e.GET("/x", ok)
			for i, status := range []int{200, 200, 429, 429} {
				forged := "198.51.100." + string(rune('1'+i))
				if w := request(e, "GET", "/x", "X-Forwarded-For", forged, "X-Real-IP", forged, "CF-Connecting-IP", forged); w.Code != status {
					t.Errorf("request %d: %d, want %d", i+1, w.Code, status)
				}
			}
		})
	}
}

func TestHandleContextIsTheSameRequest(t *testing.T) {
	l, _ := newLimiter(t, core.Policy{core.PerIP(core.PerHour(10))})
	e := gin.New()
	e.Use(ginlimit.New(l))
	e.GET("/new", ok)
	e.GET("/old", func(c *gin.Context) {
		c.Request.URL.Path = "/new"
		e.HandleContext(c)
	})
	want(t, request(e, "GET", "/old"), 200, `"ip";r=9;t=360`)
	want(t, request(e, "GET", "/old"), 200, `"ip";r=8;t=360`)
}

func TestNoRouteAndNoMethodHandlersRunIfAdmitted(t *testing.T) {
	l, store := newLimiter(t, core.Policy{core.PerIP(core.PerHour(2)), core.PerEndpoint(core.PerHour(1))})
	e := gin.New()
	e.HandleMethodNotAllowed = true
	e.Use(ginlimit.New(l))
	e.GET("/x", ok)
	e.NoRoute(func(c *gin.Context) { c.String(http.StatusNotFound, "no route") })
	e.NoMethod(func(c *gin.Context) { c.String(http.StatusMethodNotAllowed, "no method") })
	w := request(e, "GET", "/nowhere")
	if want(t, w, 404, `"ip";r=1;t=1800`); w.Body.String() != "no route" {
		t.Errorf("body is %q", w.Body)
	}
	w = request(e, "DELETE", "/x")
	if want(t, w, 405, `"ip";r=0;t=1800`); w.Body.String() != "no method" {
		t.Errorf("body is %q", w.Body)
	}
	want(t, request(e, "GET", "/nowhere"), 429, `"ip";r=0;t=1800`)
	want(t, request(e, "DELETE", "/x"), 429, `"ip";r=0;t=1800`)
	if n := store.Stats().Entries; n != 1 {
		t.Errorf("%d buckets, want the address's alone", n)
	}
}

// A route for any method is as many endpoints as gin has methods, and no more.
func TestAnyMethodIsBounded(t *testing.T) {
	l, store := newLimiter(t, core.Policy{core.PerEndpoint(core.PerHour(10))})
	e := gin.New()
	e.Use(ginlimit.New(l))
	e.Any("/any", ok)
	for range 2 {
		for _, method := range []string{"GET", "POST", "BREW", "MAKE", "get"} {
			request(e, method, "/any")
		}
	}
	if n := store.Stats().Entries; n != 2 {
		t.Errorf("%d buckets, want 2: GET and POST", n)
	}
}

func TestEscapedPathsHaveTheirTemplate(t *testing.T) {
	l, store := newLimiter(t, core.Policy{core.PerEndpoint(core.PerHour(10))})
	e := gin.New()
	e.UseRawPath = true
	e.Use(ginlimit.New(l))
	e.GET("/items/:id", ok)
	want(t, request(e, "GET", "/items/a%2Fb"), 200, `"endpoint";r=9;t=360`)
	want(t, request(e, "GET", "/items/c%2Fd"), 200, `"endpoint";r=8;t=360`)
	if n := store.Stats().Entries; n != 1 {
		t.Errorf("%d buckets, want 1", n)
	}
}

func TestDecisionThroughTheGinContext(t *testing.T) {
	l, _ := newLimiter(t, core.Policy{core.PerIP(core.PerHour(10))})
	e := gin.New()
	e.ContextWithFallback = true
	e.Use(ginlimit.New(l))
	found := make(chan bool, 2)
	e.GET("/x", func(c *gin.Context) {
		_, ok := core.FromContext(c) // a gin.Context is a context, with this setting that of its request
		found <- ok
		cp := c.Copy()
		go func() {
			d, ok := cp.Value(ginlimit.ContextKey).(core.Decision)
			found <- ok && d.Allowed
		}()
	})
	request(e, "GET", "/x")
	for range 2 {
		if !<-found {
			t.Error("the decision was not found")
		}
	}
}

func TestOuterMiddlewareSeesTheRefusal(t *testing.T) {
	l, _ := newLimiter(t, core.Policy{core.PerIP(core.PerHour(1))})
	e := gin.New()
	var aborted []bool
	var statuses []int
	e.Use(func(c *gin.Context) {
		c.Next()
		aborted, statuses = append(aborted, c.IsAborted()), append(statuses, c.Writer.Status())
	}, ginlimit.New(l))
	e.GET("/x", ok)
	request(e, "GET", "/x")
	request(e, "GET", "/x")
	if aborted[0] || !aborted[1] || statuses[0] != 200 || statuses[1] != 429 {
		t.Errorf("aborted is %v and the status %v, want false, true and 200, 429", aborted, statuses)
	}
}

// A deny handler that asks for the next handler does not get it.
func TestDenyHandlerCannotGoOn(t *testing.T) {
	l, _ := newLimiter(t, core.Policy{core.PerIP(core.PerHour(1))})
	e := gin.New()
	e.Use(ginlimit.New(l, ginlimit.WithDeny(func(c *gin.Context, d core.Decision) {
		c.Next()
		c.Status(d.Status())
	})))
	calls := 0
	e.GET("/x", func(*gin.Context) { calls++ })
	request(e, "GET", "/x")
	want(t, request(e, "GET", "/x"), 429, `"ip";r=0;t=3600`)
	if calls != 1 {
		t.Errorf("the handler ran %d times, want 1", calls)
	}
}
