package ginlimit_test

import (
	"net/http"
	"testing"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/ginlimit"
	"github.com/tierlimit/tierlimit/internal/adaptertest"
)

func BenchmarkMiddleware(b *testing.B) {
	user := ginlimit.WithUser(func(*gin.Context) string { return adaptertest.NullUser })
	adaptertest.Bench(b, "bare", benchmarked())
	adaptertest.Bench(b, "admitted", benchmarked(ginlimit.New(adaptertest.Null(b, true), user)))
	adaptertest.Bench(b, "denied", benchmarked(ginlimit.New(adaptertest.Null(b, false), user)))
}

func benchmarked(middleware ...gin.HandlerFunc) http.Handler {
	e := gin.New()
	e.Use(middleware...)
	e.GET("/items/:id", func(c *gin.Context) { c.Status(http.StatusNoContent) })
	return e
}
