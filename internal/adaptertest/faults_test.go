package adaptertest_test

import (
	"context"
	"net/http"
	"strings"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

type fault struct {
	caught string // the case that must go red, or leak
	commit func(*reference)
}

// faults are what adapters of other limiters got wrong, and this suite is for.
var faults = map[string]fault{
	"preflights are charged": {"cost/a preflight is neither charged nor refused", func(r *reference) {
		r.preflight = func(*http.Request) bool { return false }
	}},
	"every OPTIONS passes for a preflight": {"cost/what only looks like a preflight is charged", func(r *reference) {
		r.preflight = func(r *http.Request) bool { return r.Method == http.MethodOptions }
	}},
	"a forwarding header is the peer": {"identity/no header moves a client to another address", func(r *reference) {
		r.peer = func(r *http.Request) string {
			if forwarded := r.Header.Get("X-Forwarded-For"); forwarded != "" {
				return forwarded
			}
			return r.RemoteAddr
		}
	}},
	"no address is some address": {"identity/a peer is known however it is written", func(r *reference) {
		r.peer = func(r *http.Request) string {
			if len(r.RemoteAddr) < len("[::]:0") {
				return "0.0.0.0"
			}
			return r.RemoteAddr
		}
	}},
	"the first header line counts": {"proxies/the address is the last that a trusted proxy vouches for", func(r *reference) {
		r.values = func(h http.Header) http.Header {
			first := http.Header{}
			for name := range h {
				first.Set(name, h.Get(name))
			}
			return first
		}
	}},
	"levels see no headers": {"levels/a level may be keyed by a request header", func(r *reference) {
		r.values = func(http.Header) http.Header { return nil }
	}},
	"the path is the endpoint": {"endpoints/all values of a parameter are one endpoint", func(r *reference) {
		r.endpoint = func(_ *http.ServeMux, r *http.Request) string { return r.Method + " " + r.URL.Path }
	}},
	"an unknown path is the endpoint": {"endpoints/a flood of unknown paths is no flood of buckets", func(r *reference) {
		template := r.endpoint
		r.endpoint = func(mux *http.ServeMux, r *http.Request) string {
			if e := template(mux, r); e != "" {
				return e
			}
			return r.Method + " " + r.URL.Path
		}
	}},
	"app-wide there is no endpoint": {"routes/an override holds on its route, in either spelling", func(r *reference) {
		r.endpoint = func(_ *http.ServeMux, r *http.Request) string { return r.Pattern }
	}},
	"an endpoint has the request's method": {"endpoints/a HEAD that a GET route answers is the GET route's", func(r *reference) {
		template := r.endpoint
		r.endpoint = func(mux *http.ServeMux, r *http.Request) string {
			_, path, _ := strings.Cut(template(mux, r), " ")
			return r.Method + " " + path
		}
	}},
	"no user is called anonymous": {"levels/no user is no user level, not a user of its own", func(r *reference) {
		r.request = func(r core.Request) core.Request {
			if r.User == "" {
				r.User = "anonymous"
			}
			return r
		}
	}},
	"a negative cost is taken as positive": {"cost/a negative cost is refused, and gives nothing", func(r *reference) {
		r.request = func(r core.Request) core.Request {
			r.Cost = max(r.Cost, -r.Cost)
			return r
		}
	}},
	"limiters do not know of each other": {"stacked/a later refusal gives back what earlier limiters charged", func(r *reference) {
		r.context = func(before, _ context.Context) context.Context { return before }
	}},
	"one limiter charges twice": {"stacked/one limiter mounted twice charges once", func(r *reference) {
		r.admit = func(ctx context.Context, l *core.Limiter, r core.Request, most time.Duration) (context.Context, core.Decision) {
			d := l.Check(ctx, r).Pace(ctx, most)
			return core.NewContext(ctx, d), d
		}
	}},
	"a client that leaves is waited for": {"delays/a client that leaves while it waits gives its slot back", func(r *reference) {
		r.admit = func(ctx context.Context, l *core.Limiter, r core.Request, most time.Duration) (context.Context, core.Decision) {
			return l.Admit(context.WithoutCancel(ctx), r, most)
		}
	}},
	"delays are not waited out": {"delays/a delay is waited out before the handler runs", func(r *reference) {
		r.admit = func(ctx context.Context, l *core.Limiter, r core.Request, _ time.Duration) (context.Context, core.Decision) {
			d := l.Check(ctx, r)
			return core.NewContext(ctx, d), d
		}
	}},
	"a queue is a counter": {"queues/a leaky bucket spaces what comes at once", func(r *reference) {
		r.admit = func(ctx context.Context, l *core.Limiter, r core.Request, _ time.Duration) (context.Context, core.Decision) {
			d := l.Check(ctx, r)
			return core.NewContext(ctx, d), d
		}
	}},
	"what is too late keeps its slot": {"queues/what a full queue, or one that is too long, refuses takes no slot", func(r *reference) {
		r.admit = func(ctx context.Context, l *core.Limiter, r core.Request, most time.Duration) (context.Context, core.Decision) {
			d := l.Check(ctx, r)
			if d.Delay > most {
				d.Allowed, d.Reason, d.RetryAfter = false, core.Quota, d.Delay-most
			}
			return core.NewContext(ctx, d), d
		}
	}},
	"who leaves the queue keeps the slot": {"queues/a client that leaves the end of the queue leaves its slot to the next", func(r *reference) {
		r.admit = func(ctx context.Context, l *core.Limiter, r core.Request, _ time.Duration) (context.Context, core.Decision) {
			d := l.Check(ctx, r)
			select {
			case <-ctx.Done():
				d.Allowed = false
			case <-time.After(d.Delay):
			}
			return core.NewContext(ctx, d), d
		}
	}},
	"headers are added": {"stacked/two limiters charge both and give one set of headers, the tighter one's", func(r *reference) {
		r.headers = func(h http.Header, d core.Decision) {
			for name, value := range d.Headers() {
				h.Add(name, value)
			}
		}
	}},
	"headers are on refusals only": {"answers/the numbers are the same on an admission and on a denial", func(r *reference) {
		set := r.headers
		r.headers = func(h http.Header, d core.Decision) {
			if !d.Allowed {
				set(h, d)
			}
		}
	}},
	"Retry-After is always there": {"answers/Retry-After is on denials only", func(r *reference) {
		set := r.headers
		r.headers = func(h http.Header, d core.Decision) {
			h.Set("Retry-After", "1")
			set(h, d)
		}
	}},
	"headers begin anew": {"denials/headers of an outer middleware are on refusals too", func(r *reference) {
		set := r.headers
		r.headers = func(h http.Header, d core.Decision) {
			clear(h)
			set(h, d)
		}
	}},
	"the handler runs before the refusal": {"denials/the handler runs once if admitted and never if not", func(r *reference) {
		r.denied = func(serve, deny func()) { deny(); serve() }
	}},
	"a refusal without a wait is none": {"lists/the deny-listed are refused before the handler and without a wait", func(r *reference) {
		admit := r.admit
		r.admit = func(ctx context.Context, l *core.Limiter, r core.Request, most time.Duration) (context.Context, core.Decision) {
			ctx, d := admit(ctx, l, r, most)
			d.Allowed = d.Allowed || d.RetryAfter == 0
			return ctx, d
		}
	}},
	"who is exempt is told limits": {"lists/the allow-listed are served without a header and not counted", func(r *reference) {
		set := r.headers
		r.headers = func(h http.Header, d core.Decision) {
			if set(h, d); d.Source == core.FromExempt {
				h.Set("RateLimit", "")
			}
		}
	}},
	"a failing store is a 429": {"failures/a Closed level refuses with 503, and invents no headers", func(r *reference) {
		admit := r.admit
		r.admit = func(ctx context.Context, l *core.Limiter, r core.Request, most time.Duration) (context.Context, core.Decision) {
			ctx, d := admit(ctx, l, r, most)
			if d.Reason == core.StoreFailed {
				d.Reason = core.Quota
			}
			return ctx, d
		}
	}},
	"everything is refunded": {"refunds/to count failures only", func(r *reference) {
		r.judge = func(d core.Decision, _ bool) { _ = d.Refund(context.Background()) }
	}},
	"nothing is refunded": {"refunds/to count successes only", func(r *reference) {
		r.judge = func(core.Decision, bool) {}
	}},
	"a panic is a success": {"refunds/a panic is a 500, and goes on to the framework's recovery", func(r *reference) {
		r.panicked = func(*statusWriter) int { return http.StatusOK }
	}},
	"a panic is a 500 whatever was answered": {"refunds/a panic after the answer has begun has that answer's status", func(r *reference) {
		r.panicked = func(*statusWriter) int { return http.StatusInternalServerError }
	}},
	"a panic ends here": {"refunds/a panic is a 500, and goes on to the framework's recovery", func(r *reference) {
		r.goOn = func(any) {}
	}},
	"the writer cannot flush": {"streams/events arrive one by one", func(r *reference) {
		r.writer = func(s *statusWriter) http.ResponseWriter { return s }
	}},
	"the writer hides the connection": {"streams/http.ResponseController reaches the connection", func(r *reference) {
		r.writer = func(s *statusWriter) http.ResponseWriter {
			return struct {
				http.ResponseWriter
				http.Flusher
			}{s, flusher{s}}
		}
	}},
	"a goroutine stays behind": {leak, func(r *reference) {
		preflight := r.preflight
		r.preflight = func(r *http.Request) bool {
			go func() { select {} }()
			return preflight(r)
		}
	}},
}
