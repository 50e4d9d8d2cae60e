package httplimit_test

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/httplimit"
)

type (
	plain   struct{ http.ResponseWriter }
	flushes struct{}
	hijacks struct{}
	reads   struct{}
)

func (flushes) Flush() {}

func (hijacks) Hijack() (net.Conn, *bufio.ReadWriter, error) { return nil, nil, errors.New("no") }

func (reads) ReadFrom(io.Reader) (int64, error) { return 7, nil }

func newLimiter(t *testing.T, policy core.Policy) *core.Limiter {
	t.Helper()
	l, err := core.New(memstore.New(), policy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	return l
}

// A handler asks its writer what it can do, and takes another path if it cannot.
func TestTheWrappedWriterCanDoWhatTheOriginalCan(t *testing.T) {
	w := plain{httptest.NewRecorder()}
	for name, original := range map[string]http.ResponseWriter{
		"none": w,
		"F": struct {
			plain
			flushes
		}{plain: w},
		"H": struct {
			plain
			hijacks
		}{plain: w},
		"R": struct {
			plain
			reads
		}{plain: w},
		"FH": struct {
			plain
			flushes
			hijacks
		}{plain: w},
		"FR": struct {
			plain
			flushes
			reads
		}{plain: w},
		"HR": struct {
			plain
			hijacks
			reads
		}{plain: w},
		"FHR": struct {
			plain
			flushes
			hijacks
			reads
		}{plain: w},
	} {
		called := false
		limit := httplimit.New(newLimiter(t, core.Policy{core.Global(core.PerHour(9))}), httplimit.WithRefundOn(func(int) bool { return false }))
		limit(http.HandlerFunc(func(got http.ResponseWriter, _ *http.Request) {
			called = true
			_, wantF := original.(http.Flusher)
			_, wantH := original.(http.Hijacker)
			_, wantR := original.(io.ReaderFrom)
			f, gotF := got.(http.Flusher)
			h, gotH := got.(http.Hijacker)
			r, gotR := got.(io.ReaderFrom)
			if gotF != wantF || gotH != wantH || gotR != wantR {
				t.Errorf("%s: flushes %v, hijacks %v, reads %v", name, gotF, gotH, gotR)
			}
			if u, ok := got.(interface{ Unwrap() http.ResponseWriter }); !ok || u.Unwrap() != original {
				t.Errorf("%s: does not unwrap to the original", name)
			}
			if gotR {
				if n, _ := r.ReadFrom(nil); n != 7 {
					t.Errorf("%s: reads by itself", name)
				}
			}
			if gotH {
				if _, _, err := h.Hijack(); err == nil {
					t.Errorf("%s: hijacks by itself", name)
				}
			}
			if gotF {
				f.Flush()
			}
		})).ServeHTTP(original, httptest.NewRequest(http.MethodGet, "/", nil))
		if !called {
			t.Errorf("%s: not served", name)
		}
	}
}

func TestWithoutRefundsTheWriterIsTheOriginal(t *testing.T) {
	original := httptest.NewRecorder()
	limit := httplimit.New(newLimiter(t, core.Policy{core.Global(core.PerHour(9))}))
	limit(http.HandlerFunc(func(got http.ResponseWriter, _ *http.Request) {
		if got != http.ResponseWriter(original) {
			t.Errorf("the writer is a %T", got)
		}
	})).ServeHTTP(original, httptest.NewRequest(http.MethodGet, "/", nil))
}
