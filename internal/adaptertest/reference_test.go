package adaptertest_test

import (
	"bufio"
	"context"
	"net"
	"net/http"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/adapter"
)

// reference is a middleware over net/http in steps, so that the suite can be shown one that keeps
// them all, and ones that each get a step wrong (see faults).
type reference struct {
	preflight func(*http.Request) bool
	peer      func(*http.Request) string
	values    func(http.Header) http.Header // what is resolved and looked at of the headers
	endpoint  func(*http.ServeMux, *http.Request) string
	request   func(core.Request) core.Request
	admit     func(context.Context, *core.Limiter, core.Request, time.Duration) (context.Context, core.Decision)
	headers   func(http.Header, core.Decision)
	context   func(before, after context.Context) context.Context
	denied    func(serve, deny func())
	judge     func(d core.Decision, refund bool)
	panicked  func(s *statusWriter) int
	goOn      func(panicked any)
	writer    func(*statusWriter) http.ResponseWriter
}

func sound() *reference {
	return &reference{
		preflight: func(r *http.Request) bool { return adapter.Preflight(r.Method, r.Header) },
		peer:      func(r *http.Request) string { return r.RemoteAddr },
		values:    func(h http.Header) http.Header { return h },
		endpoint: func(mux *http.ServeMux, r *http.Request) string {
			if r.Pattern != "" {
				return r.Pattern
			}
			_, pattern := mux.Handler(r)
			return pattern
		},
		request: func(r core.Request) core.Request { return r },
		admit: func(ctx context.Context, l *core.Limiter, r core.Request, most time.Duration) (context.Context, core.Decision) {
			return l.Admit(ctx, r, most)
		},
		headers: func(h http.Header, d core.Decision) {
			for name, value := range d.Headers() {
				h.Set(name, value)
			}
		},
		context: func(_, after context.Context) context.Context { return after },
		denied:  func(_, deny func()) { deny() },
		judge: func(d core.Decision, refund bool) {
			if refund {
				_ = d.Refund(context.Background())
			}
		},
		panicked: func(s *statusWriter) int {
			if s.status == 0 {
				return http.StatusInternalServerError
			}
			return s.status
		},
		goOn:   func(v any) { panic(v) },
		writer: func(s *statusWriter) http.ResponseWriter { return flusher{s} },
	}
}

type options struct {
	adapter.Config[*http.Request]
	deny     func(http.ResponseWriter, *http.Request, core.Decision)
	refundOn func(status int) bool
}

// wrap is the middleware.
func (ref *reference) wrap(l *core.Limiter, o *options, mux *http.ServeMux, next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		serve := func() { next.ServeHTTP(w, r) }
		if ref.preflight(r) {
			serve()
			return
		}
		req, ok := o.Request(r, ref.peer(r), ref.values(r.Header), ref.endpoint(mux, r))
		if !ok {
			serve()
			return
		}
		ctx, d := ref.admit(r.Context(), l, ref.request(req), o.MaxDelay)
		ref.headers(w.Header(), d)
		if !d.Allowed {
			ref.denied(serve, func() { o.deny(w, r, d) })
			return
		}
		r = r.WithContext(ref.context(r.Context(), ctx))
		if o.refundOn == nil {
			serve()
			return
		}
		ref.judged(d, o.refundOn, w, r, next)
	})
}

func (ref *reference) judged(d core.Decision, refundOn func(int) bool, w http.ResponseWriter, r *http.Request, next http.Handler) {
	s := &statusWriter{ResponseWriter: w}
	defer func() {
		v, status := recover(), s.status
		switch {
		case v != nil:
			status = ref.panicked(s)
		case status == 0:
			status = http.StatusOK
		}
		ref.judge(d, refundOn(status))
		if v != nil {
			ref.goOn(v)
		}
	}()
	next.ServeHTTP(ref.writer(s), r)
}

// statusWriter remembers the status.
type statusWriter struct {
	http.ResponseWriter
	status int
}

func (s *statusWriter) WriteHeader(status int) {
	if s.status == 0 {
		s.status = status
	}
	s.ResponseWriter.WriteHeader(status)
}

func (s *statusWriter) Write(p []byte) (int, error) {
	if s.status == 0 {
		s.status = http.StatusOK
	}
	return s.ResponseWriter.Write(p)
}

// flusher is a statusWriter over the writer of HTTP/1.1, which can flush and be hijacked.
type flusher struct{ *statusWriter }

func (f flusher) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	return f.ResponseWriter.(http.Hijacker).Hijack()
}

func (f flusher) Unwrap() http.ResponseWriter { return f.ResponseWriter }

func (f flusher) Flush() {
	if f.status == 0 {
		f.status = http.StatusOK
	}
	f.ResponseWriter.(http.Flusher).Flush()
}
