package engine

import (
	"context"
	"errors"
	"net/http"

	"github.com/go-chi/httprate"
	httprateredis "github.com/go-chi/httprate-redis"
)

// openHTTPRate is the Redis counter without its local fallback, which would answer in silence.
func openHTTPRate(s Setup) (Engine, error) {
	rdb := client(s)
	counter := func() httprate.Option {
		return httprateredis.WithRedisLimitCounter(&httprateredis.Config{
			Client: rdb, WindowLength: s.Limit.Period, FallbackDisabled: true,
		})
	}
	return httprateLevels(s, counter, rdb.Close)
}

func openHTTPRateMemory(s Setup) (Engine, error) {
	return httprateLevels(s, func() httprate.Option { return func(*httprate.RateLimiter) {} }, nil)
}

func httprateLevels(s Setup, counter func() httprate.Option, closing func() error) (Engine, error) {
	request, err := http.NewRequest(http.MethodGet, "/", http.NoBody)
	if err != nil {
		return nil, err
	}
	return eachLevel(s, func() (ask, error) {
		l := httprate.NewRateLimiter(int(s.Limit.Capacity()), s.Limit.Period, counter(), httprate.WithErrorHandler(
			func(w http.ResponseWriter, _ *http.Request, err error) { w.(*response).err = err }))
		return func(_ context.Context, key string) (bool, error) {
			w := &response{header: http.Header{}}
			limited := l.OnLimit(w, request, key)
			return !limited, w.err
		}, nil
	}, closing)
}

// response takes the headers that httprate always writes.
type response struct {
	header http.Header
	err    error
}

func (r *response) Header() http.Header       { return r.header }
func (r *response) WriteHeader(int)           {}
func (r *response) Write([]byte) (int, error) { return 0, errors.ErrUnsupported }
