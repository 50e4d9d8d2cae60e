package ginlimit_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/ginlimit"
)

func Example() {
	store := memstore.New()
	defer store.Close()
	limiter, err := core.New(store, core.Policy{
		core.PerIP(core.PerHour(300)),
		core.PerUser(core.PerMinute(2)),
	}, core.WithRoute("GET /healthz", core.Exempt))
	if err != nil {
		panic(err)
	}

	gin.SetMode(gin.ReleaseMode)
	router := gin.New()
	// A real service gives the identity that its authentication has verified.
	router.Use(ginlimit.New(limiter, ginlimit.WithUser(func(c *gin.Context) string { return c.GetHeader("X-User") })))
	router.GET("/items/:id", func(c *gin.Context) { c.String(http.StatusOK, "item %s", c.Param("id")) })
	router.GET("/healthz", func(c *gin.Context) { c.String(http.StatusOK, "fine") })

	for _, path := range []string{"/items/1", "/items/2", "/items/3", "/healthz"} {
		r := httptest.NewRequest(http.MethodGet, path, nil)
		r.Header.Set("X-User", "ann")
		w := httptest.NewRecorder()
		router.ServeHTTP(w, r)
		fmt.Printf("%s: %d [%s]\n", path, w.Code, w.Header().Get("RateLimit"))
		if wait := w.Header().Get("Retry-After"); wait != "" {
			fmt.Println("again in", wait, "seconds")
		}
	}
	// Output:
	// /items/1: 200 ["ip";r=299;t=12, "user";r=1;t=30]
	// /items/2: 200 ["ip";r=298;t=12, "user";r=0;t=30]
	// /items/3: 429 ["ip";r=298;t=12, "user";r=0;t=30]
	// again in 30 seconds
	// /healthz: 200 []
}
