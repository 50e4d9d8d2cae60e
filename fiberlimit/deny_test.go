package fiberlimit_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/gofiber/fiber/v2"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/fiberlimit"
)

func newLimiter(t *testing.T, policy core.Policy, opts ...core.Option) *core.Limiter {
	t.Helper()
	l, err := core.New(memstore.New(), policy, opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

func TestARefusalCanBeLeftToTheErrorHandler(t *testing.T) {
	var denied *core.DeniedError
	app := fiber.New(fiber.Config{ErrorHandler: func(c *fiber.Ctx, err error) error {
		if !errors.As(err, &denied) {
			t.Errorf("the error is %v, want a DeniedError in it", err)
		}
		return fiber.DefaultErrorHandler(c, err)
	}})
	app.Use(fiberlimit.New(newLimiter(t, core.Policy{core.Global(core.PerHour(1))}), fiberlimit.WithDenyAsError()))
	app.Get("/", func(c *fiber.Ctx) error { return c.SendString("served") })
	for i, want := range []int{http.StatusOK, http.StatusTooManyRequests} {
		resp, err := app.Test(httptest.NewRequest(http.MethodGet, "/", nil))
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want || (resp.Header.Get("Retry-After") != "") != (i == 1) {
			t.Errorf("request %d: %d, Retry-After %q", i, resp.StatusCode, resp.Header.Get("Retry-After"))
		}
	}
	if denied == nil || denied.Decision.Level != "global" {
		t.Errorf("the error handler saw %+v", denied)
	}
}
