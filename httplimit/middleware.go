// Package httplimit limits requests to a net/http service, and to every router that takes a
// func(http.Handler) http.Handler.
package httplimit

import (
	"net/http"
	"strings"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// New makes the middleware. Mount it behind CORS, so that refusals carry its headers. Handlers
// find their decision with core.FromContext. It panics on a nil limiter or a wrong option;
// limiter.With is the checked form of WithPolicy.
func New(limiter *core.Limiter, opts ...Option) func(http.Handler) http.Handler {
	o := &options{Config: adapter.Defaults[*http.Request](), deny: problem, endpoint: fromPattern}
	for _, opt := range opts {
		if o.Require(opt != nil, "option is nil"); opt != nil {
			opt(o)
		}
	}
	limiter, err := o.Limiter(limiter)
	if err != nil {
		panic("httplimit: " + err.Error())
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { o.limit(limiter, w, r, next) })
	}
}

func (o *options) limit(limiter *core.Limiter, w http.ResponseWriter, r *http.Request, next http.Handler) {
	if adapter.Preflight(r.Method, r.Header) {
		next.ServeHTTP(w, r)
		return
	}
	request, ok := o.Request(r, r.RemoteAddr, r.Header, o.endpoint(r))
	if !ok {
		next.ServeHTTP(w, r)
		return
	}
	ctx, d := limiter.Admit(r.Context(), request, o.MaxDelay)
	adapter.SetHeaders(w.Header(), d)
	if !d.Allowed {
		o.deny(w, r, d)
		return
	}
	r = r.WithContext(ctx)
	if o.refundOn == nil {
		next.ServeHTTP(w, r)
		return
	}
	seen := &witness{ResponseWriter: w, status: http.StatusOK}
	written := func() (int, bool) { return seen.status, seen.wrote }
	adapter.Serve(ctx, d, o.refundOn, written, func() int {
		next.ServeHTTP(seen.as(), r)
		return seen.status
	})
}

func problem(w http.ResponseWriter, _ *http.Request, d core.Decision) {
	w.Header().Set("Content-Type", core.ProblemType)
	w.WriteHeader(d.Status())
	_, _ = w.Write(d.Problem()) // a client that has left needs no answer
}

// fromPattern is the endpoint of a request that a mux has routed already.
func fromPattern(r *http.Request) string { return fromTemplate(r.Pattern) }

func fromMux(mux *http.ServeMux, r *http.Request) string {
	_, pattern := mux.Handler(r)
	return fromTemplate(pattern)
}

// fromTemplate completes a mux's pattern: without a method it stands for all of them.
func fromTemplate(pattern string) string {
	if pattern == "" || strings.Contains(pattern, " ") {
		return pattern
	}
	return "* " + pattern
}
