package adaptertest_test

import (
	"io"
	"log"
	"net/http"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
	"github.com/tierlimit/tierlimit/internal/adaptertest"
)

// TestReference runs the suite over a middleware that is right, or over the one that
// TestSuiteCatchesFaults asks for.
func TestReference(t *testing.T) {
	ref := sound()
	if f, ok := faults[os.Getenv(faultVariable)]; ok {
		f.commit(ref)
	}
	adaptertest.Run(t, adaptertest.Adapter{
		Name:  "reference",
		Build: ref.build,
		Lacks: map[adaptertest.Feature]string{
			adaptertest.ErrorHandler:  "net/http's handlers return no error",
			adaptertest.DecisionStore: "net/http has the request's context only",
		},
	})
}

func (ref *reference) build(s adaptertest.Service) adaptertest.Server {
	mux := http.NewServeMux()
	ref.register(mux, "", nil, s.Routes)
	for _, g := range s.Groups {
		ref.register(mux, g.Prefix, g.Mounts, g.Routes)
	}
	handler := recovering(ref.stack(s.Mounts, mux, mux), s.Recovered)
	return &http.Server{ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0), Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for name, value := range s.Outer {
			w.Header().Set(name, value)
		}
		handler.ServeHTTP(w, r)
	})}
}

func (ref *reference) register(mux *http.ServeMux, prefix string, group []adaptertest.Mount, routes []adaptertest.Route) {
	for _, route := range routes {
		handler := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			_ = route.Handler(adaptertest.HTTPCall{W: w, R: r})
		})
		mux.Handle(route.Method+" "+adaptertest.Braces(prefix+route.Path), ref.stack(group, mux, ref.stack(route.Mounts, mux, handler)))
	}
}

// stack puts the middlewares around a handler, the first outermost.
func (ref *reference) stack(mounts []adaptertest.Mount, mux *http.ServeMux, next http.Handler) http.Handler {
	for _, m := range slices.Backward(mounts) {
		o := &options{Config: adapter.Defaults[*http.Request](), deny: problem}
		for _, opt := range dialect.Options(m) {
			if opt == nil {
				panic("reference: option is nil")
			}
			opt(o)
		}
		l, err := o.Limiter(m.Limiter)
		if err != nil {
			panic("reference: " + err.Error())
		}
		next = ref.wrap(l, o, mux, next)
	}
	return next
}

func recovering(next http.Handler, recovered func(any)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer func() {
			if v := recover(); v != nil {
				if recovered != nil {
					recovered(v)
				}
				w.WriteHeader(http.StatusInternalServerError)
			}
		}()
		next.ServeHTTP(w, r)
	})
}

func problem(w http.ResponseWriter, _ *http.Request, d core.Decision) {
	w.Header().Set("Content-Type", core.ProblemType)
	w.WriteHeader(d.Status())
	_, _ = w.Write(d.Problem())
}

type option func(*options)

var dialect = adaptertest.Dialect[*http.Request, option]{
	View: func(r *http.Request) adaptertest.Call { return adaptertest.HTTPCall{R: r} },
	User: func(f func(*http.Request) string) option {
		return func(o *options) { o.User = f; o.Require(f != nil, "WithUser") }
	},
	Key: func(level string, f func(*http.Request) (string, bool)) option {
		return func(o *options) {
			o.Keys = append(o.Keys, adapter.Key[*http.Request]{Level: level, Of: f})
			o.Require(f != nil, "WithKey: %q", level)
		}
	},
	Proxies: func(p core.Proxies) option { return func(o *options) { o.Proxies = p } },
	Cost: func(f func(*http.Request) int64) option {
		return func(o *options) { o.Cost = f; o.Require(f != nil, "WithCost") }
	},
	Skip: func(f func(*http.Request) bool) option {
		return func(o *options) { o.Skip = f; o.Require(f != nil, "WithSkip") }
	},
	MaxDelay: func(d time.Duration) option {
		return func(o *options) { o.MaxDelay = d; o.Require(d >= 0, "WithMaxDelay: %v", d) }
	},
	Policy: func(p core.Policy) option {
		return func(o *options) { o.Policy = p; o.Require(p != nil, "WithPolicy") }
	},
	Deny: func(f adaptertest.Deny) option {
		return func(o *options) {
			o.deny = func(w http.ResponseWriter, r *http.Request, d core.Decision) {
				_ = f(adaptertest.HTTPCall{W: w, R: r}, d)
			}
			o.Require(f != nil, "WithDeny")
		}
	},
	RefundOn: func(f func(int) bool) option {
		return func(o *options) { o.refundOn = f; o.Require(f != nil, "WithRefundOn") }
	},
}
