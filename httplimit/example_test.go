package httplimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"github.com/go-chi/chi/v5"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/httplimit"
)

func Example() {
	limiter, err := core.New(memstore.New(), core.Policy{core.PerIP(core.PerMinute(300))},
		core.WithRoute("POST /login", core.Policy{core.PerIP(core.Per(1, 15*time.Minute))}))
	if err != nil {
		fmt.Println(err)
		return
	}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "welcome") })
	handler := httplimit.New(limiter, httplimit.WithMux(mux))(mux)

	for range 2 {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/login", nil))
		fmt.Println(w.Code, w.Header().Get("RateLimit"))
	}
	// Output:
	// 200 "ip";r=0;t=900
	// 429 "ip";r=0;t=900
}

// Other routers tell their template through WithEndpoint. Chi knows it before the request is
// routed only if it is asked to match.
func ExampleWithEndpoint_chi() {
	router := chi.NewRouter()
	endpoint := func(r *http.Request) string {
		rctx := chi.NewRouteContext()
		if !router.Match(rctx, r.Method, r.URL.Path) {
			return ""
		}
		return r.Method + " " + rctx.RoutePattern()
	}
	limiter, err := core.New(memstore.New(), core.Policy{core.PerEndpoint(core.PerMinute(2))})
	if err != nil {
		fmt.Println(err)
		return
	}
	router.Use(httplimit.New(limiter, httplimit.WithEndpoint(endpoint)))
	router.Get("/items/{id}", func(http.ResponseWriter, *http.Request) {})

	for _, path := range []string{"/items/1", "/items/2", "/items/3", "/unknown"} {
		w := httptest.NewRecorder()
		router.ServeHTTP(w, httptest.NewRequest(http.MethodGet, path, nil))
		fmt.Println(path, w.Code)
	}
	// Output:
	// /items/1 200
	// /items/2 200
	// /items/3 429
	// /unknown 404
}
