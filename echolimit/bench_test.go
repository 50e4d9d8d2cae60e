package echolimit_test

import (
	"net/http"
	"testing"

	"github.com/labstack/echo/v4"

	"github.com/tierlimit/tierlimit/echolimit"
	"github.com/tierlimit/tierlimit/internal/adaptertest"
)

func BenchmarkMiddleware(b *testing.B) {
	user := echolimit.WithUser(func(echo.Context) string { return adaptertest.NullUser })
	adaptertest.Bench(b, "bare", benchmarked())
	adaptertest.Bench(b, "admitted", benchmarked(echolimit.New(adaptertest.Null(b, true), user)))
	adaptertest.Bench(b, "denied", benchmarked(echolimit.New(adaptertest.Null(b, false), user)))
}

func benchmarked(middleware ...echo.MiddlewareFunc) http.Handler {
	e := echo.New()
	e.Use(middleware...)
	e.GET("/items/:id", func(c echo.Context) error { return c.NoContent(http.StatusNoContent) })
	return e
}
