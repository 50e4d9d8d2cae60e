package fiberlimit_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/fiberlimit"
)

// served is which endpoint a request was counted at, as its decision tells.
func served(t *testing.T, app *fiber.App, seen *string, method, path string) string {
	t.Helper()
	*seen = "not limited"
	resp, err := app.Test(httptest.NewRequest(method, path, nil))
	if err != nil {
		t.Fatal(err)
	}
	resp.Body.Close()
	return *seen
}

// watching is a policy whose only level notes the endpoint of each request.
func watching(seen *string) core.Policy {
	return core.Policy{core.PerKey("watch", func(r *core.Request) (string, bool) {
		*seen = r.Endpoint
		return "all", true
	}, core.PerSecond(1_000_000))}
}

func TestAppWideMountingKnowsTheRoute(t *testing.T) {
	var seen string
	ok := func(c *fiber.Ctx) error { return c.SendStatus(http.StatusOK) }
	build := func(config fiber.Config) *fiber.App {
		app := fiber.New(config)
		app.Use(fiberlimit.New(newLimiter(t, watching(&seen))))
		app.Use("/api", func(c *fiber.Ctx) error { return c.Next() })
		app.Get("/", ok)
		app.Get("/x/:id", ok)
		app.Post("/x/:id", ok)
		app.Get("/x/:id/file.:ext", ok)
		app.Get("/n/:id<int>", ok)
		app.Get("/opt/:id?", ok)
		app.Get("/files/*", ok)
		app.Head("/head", ok)
		app.All("/all", ok)
		v1 := app.Group("/v1", func(c *fiber.Ctx) error { return c.Next() })
		v1.Get("/y", ok)
		sub := fiber.New()
		sub.Get("/z/:id", ok)
		app.Mount("/sub", sub)
		return app
	}
	app, strict := build(fiber.Config{}), build(fiber.Config{CaseSensitive: true, StrictRouting: true})
	for _, c := range []struct{ method, path, lenient, strict string }{
		{"GET", "/", "GET /", "GET /"},
		{"GET", "/x/7", "GET /x/{id}", "GET /x/{id}"},
		{"GET", "/X/7", "GET /x/{id}", ""},
		{"GET", "/x/7/", "GET /x/{id}", ""},
		{"POST", "/x/7", "POST /x/{id}", "POST /x/{id}"},
		{"HEAD", "/x/7", "GET /x/{id}", "GET /x/{id}"},
		{"GET", "/x/7/file.txt", "GET /x/{id}/file.:ext", "GET /x/{id}/file.:ext"},
		{"GET", "/n/7", "GET /n/{id<int>}", "GET /n/{id<int>}"},
		{"GET", "/n/seven", "", ""},
		{"GET", "/opt", "GET /opt/{id?}", ""},
		{"GET", "/opt/7", "GET /opt/{id?}", "GET /opt/{id?}"},
		{"GET", "/files/a/b", "GET /files/{...}", "GET /files/{...}"},
		{"HEAD", "/head", "HEAD /head", "HEAD /head"},
		{"PUT", "/all", "PUT /all", "PUT /all"},
		{"GET", "/v1/y", "GET /v1/y", "GET /v1/y"},
		{"GET", "/sub/z/7", "GET /sub/z/{id}", "GET /sub/z/{id}"},
		{"GET", "/v1", "", ""},
		{"GET", "/api/none", "", ""},
		{"DELETE", "/x/7", "", ""},
	} {
		if got := served(t, app, &seen, c.method, c.path); got != c.lenient {
			t.Errorf("%s %s is counted at %q, want %q", c.method, c.path, got, c.lenient)
		}
		if got := served(t, strict, &seen, c.method, c.path); c.path != "/opt" && got != c.strict {
			t.Errorf("strict: %s %s is counted at %q, want %q", c.method, c.path, got, c.strict)
		}
	}
	app.Get("/late", ok)
	if got := served(t, app, &seen, "GET", "/late"); got != "GET /late" {
		t.Errorf("a route added later is counted at %q", got)
	}
	for i := range 10_000 { // more than the cache holds
		if got := served(t, app, &seen, "GET", fmt.Sprint("/x/", i)); got != "GET /x/{id}" {
			t.Fatalf("/x/%d is counted at %q", i, got)
		}
	}
}

// Fiber's strings are views into a buffer that the next request on the connection overwrites.
func TestKeysSurviveFibersBuffers(t *testing.T) {
	store := memstore.New()
	limiter, err := core.New(store, core.Policy{
		core.PerUser(core.PerHour(1)),
		core.PerKey("tenant", core.ByHeader("X-Tenant"), core.PerHour(1)),
	})
	if err != nil {
		t.Fatal(err)
	}
	app := fiber.New(fiber.Config{DisableStartupMessage: true})
	app.Use(fiberlimit.New(limiter, fiberlimit.WithUser(func(c *fiber.Ctx) string { return c.Get("X-User") })))
	app.Get("/:name", func(c *fiber.Ctx) error { return c.SendStatus(http.StatusOK) })
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() { _ = app.Listener(ln) }()
	t.Cleanup(func() { _ = app.Shutdown() })

	const clients, workers = 500, 10
	for round := range 5 {
		var mu sync.Mutex
		var wg sync.WaitGroup
		admitted := 0
		for w := range workers {
			wg.Go(func() {
				for i := w; i < clients; i += workers {
					req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, fmt.Sprintf("http://%s/%d", ln.Addr(), i), nil)
					if err != nil {
						t.Error(err)
						return
					}
					req.Header.Set("X-User", fmt.Sprint("user-", i))
					req.Header.Set("X-Tenant", fmt.Sprint("tenant-", i))
					resp, err := http.DefaultClient.Do(req)
					if err != nil {
						t.Error(err)
						return
					}
					resp.Body.Close()
					mu.Lock()
					if resp.StatusCode == http.StatusOK {
						admitted++
					}
					mu.Unlock()
				}
			})
		}
		wg.Wait()
		want := 0
		if round == 0 {
			want = clients
		}
		if admitted != want {
			t.Errorf("round %d: %d admitted, want %d", round, admitted, want)
		}
		if n := store.Stats().Entries; n != 2*clients {
			t.Errorf("round %d: the store holds %d buckets, want %d", round, n, 2*clients)
		}
	}
}
