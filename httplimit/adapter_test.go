package httplimit_test

import (
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/httplimit"
	"github.com/tierlimit/tierlimit/internal/adaptertest"
)

func TestAdapter(t *testing.T) {
	adaptertest.Run(t, adaptertest.Adapter{
		Name:  "httplimit",
		Build: build,
		Lacks: map[adaptertest.Feature]string{
			adaptertest.ErrorHandler:  "net/http's handlers return no error",
			adaptertest.DecisionStore: "net/http has no store but the context",
		},
	})
}

func build(s adaptertest.Service) adaptertest.Server {
	mux := http.NewServeMux()
	register(mux, "", s.Routes, nil, mux)
	for _, g := range s.Groups {
		register(mux, g.Prefix, g.Routes, g.Mounts, mux)
	}
	return &http.Server{Handler: outer(s, wrap(mux, s.Mounts, mux)), ReadHeaderTimeout: time.Minute}
}

func register(mux *http.ServeMux, prefix string, routes []adaptertest.Route, group []adaptertest.Mount, at *http.ServeMux) {
	for _, route := range routes {
		h := http.Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _ = route.Handler(call(w, r)) }))
		mux.Handle(route.Method+" "+prefix+adaptertest.Braces(route.Path), wrap(wrap(h, route.Mounts, at), group, at))
	}
}

// wrap mounts the limiters around h, the first outermost.
func wrap(h http.Handler, mounts []adaptertest.Mount, mux *http.ServeMux) http.Handler {
	for _, m := range slices.Backward(mounts) {
		opts := append([]httplimit.Option{httplimit.WithMux(mux)}, dialect.Options(m)...)
		h = httplimit.New(m.Limiter, opts...)(h)
	}
	return h
}

func outer(s adaptertest.Service, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range s.Outer {
			w.Header().Set(name, value)
		}
		defer func() {
			if v := recover(); v != nil {
				if s.Recovered != nil {
					s.Recovered(v)
				}
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

var dialect = adaptertest.Dialect[*http.Request, httplimit.Option]{
	View: func(r *http.Request) adaptertest.Call { return call(nil, r) },
	User: httplimit.WithUser, Key: httplimit.WithKey, Proxies: httplimit.WithProxies,
	Cost: httplimit.WithCost, Skip: httplimit.WithSkip, MaxDelay: httplimit.WithMaxDelay,
	Policy: httplimit.WithPolicy, Deny: deny, RefundOn: httplimit.WithRefundOn,
}

func deny(f adaptertest.Deny) httplimit.Option {
	if f == nil {
		return httplimit.WithDeny(nil)
	}
	return httplimit.WithDeny(func(w http.ResponseWriter, r *http.Request, d core.Decision) { _ = f(call(w, r), d) })
}

func call(w http.ResponseWriter, r *http.Request) adaptertest.Call {
	return adaptertest.HTTPCall{W: w, R: r}
}
