package httplimit_test

import (
	"net/http"
	"testing"

	"github.com/tierlimit/tierlimit/httplimit"
	"github.com/tierlimit/tierlimit/internal/adaptertest"
)

func BenchmarkMiddleware(b *testing.B) {
	user := httplimit.WithUser(func(*http.Request) string { return adaptertest.NullUser })
	adaptertest.Bench(b, "bare", benchmarked(nil))
	adaptertest.Bench(b, "admitted", benchmarked(httplimit.New(adaptertest.Null(b, true), user)))
	adaptertest.Bench(b, "denied", benchmarked(httplimit.New(adaptertest.Null(b, false), user)))
}

// benchmarked has its middleware on the route, where net/http knows the pattern.
func benchmarked(middleware func(http.Handler) http.Handler) http.Handler {
	var h http.Handler = http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
	if middleware != nil {
		h = middleware(h)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /items/{id}", h)
	return mux
}
