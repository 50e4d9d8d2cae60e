package ginlimit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/ginlimit"
)

func TestARefusalCanBeLeftToTheErrorHandling(t *testing.T) {
	limiter, err := core.New(memstore.New(), core.Policy{core.Global(core.PerHour(1))})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = limiter.Close() })
	var denied *core.DeniedError
	e := gin.New()
	e.Use(func(c *gin.Context) {
		c.Next()
		if last := c.Errors.Last(); last != nil && errors.As(last, &denied) {
			c.String(c.Writer.Status(), "sorry")
		}
	}, ginlimit.New(limiter, ginlimit.WithDenyAsError()))
	served := 0
	e.GET("/", func(*gin.Context) { served++ })
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		w := httptest.NewRecorder()
		e.ServeHTTP(w, httptest.NewRequest(http.MethodGet, "/", nil))
		if w.Code != want || (w.Header().Get("Retry-After") != "") != (i == 1) {
			t.Errorf("request %d: %d, Retry-After %q", i, w.Code, w.Header().Get("Retry-After"))
		}
		if i == 1 && w.Body.String() != "sorry" {
			t.Errorf("the body is %q", w.Body)
		}
	}
	if served != 1 || denied == nil || denied.Decision.Level != "global" {
		t.Errorf("served %d times, the error handling saw %+v", served, denied)
	}
}
