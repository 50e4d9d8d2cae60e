package adaptertest

import (
	"io"
	"net/http"
	"slices"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// statuses notes what WithRefundOn was asked, and answers by a rule.
type statuses struct {
	mu   sync.Mutex
	seen []int
	rule func(status int) bool
}

func (s *statuses) judge(status int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.seen = append(s.seen, status)
	return s.rule(status)
}

// want waits for the judgements, which may come after the answer has reached the client.
func (s *statuses) want(t *testing.T, want ...int) {
	t.Helper()
	var seen []int
	eventually(func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		seen = slices.Clone(s.seen)
		return len(seen) >= len(want)
	})
	if !slices.Equal(seen, want) {
		t.Errorf("statuses judged are %v, want %v", seen, want)
	}
}

// eventually waits for what follows an answer, such as a refund.
func eventually(done func() bool) {
	for deadline := time.Now().Add(soon); !done() && time.Now().Before(deadline); {
		time.Sleep(time.Millisecond)
	}
}

func successes(status int) bool { return status < 400 }
func failures(status int) bool  { return status >= 400 }

// byStatus answers as the request asks, by X-Answer: a status, or how to fail.
func (h *harness) byStatus(c Call) error {
	h.calls.Add(1)
	switch how := c.Header("X-Answer"); how {
	case "panic":
		panic("scripted panic")
	case "stream and panic":
		_ = c.Stream(textType, func(send func(string) error) { _ = send("begun") })
		panic("scripted panic")
	case "write and panic":
		_, _ = io.WriteString(c.Writer(), "begun")
		panic("scripted panic")
	case "reply and panic":
		_ = c.Reply(http.StatusAccepted, textType, "begun")
		panic("scripted panic")
	case "nothing":
		return nil
	case "fail":
		return c.Fail(http.StatusForbidden)
	case "reply and fail":
		_ = c.Reply(http.StatusAccepted, textType, "begun")
		return c.Fail(http.StatusForbidden)
	default:
		status, _ := strconv.Atoi(how)
		return c.Reply(status, textType, "as asked")
	}
}

func (h *harness) refunding(t *testing.T, s *statuses, n int64) (*client, *core.Limiter) {
	l := h.limiter(t, core.Policy{core.PerIP(core.PerHour(n))})
	service := h.simple(l, RefundOn(s.judge))
	service.Routes = append(service.Routes, Route{Method: "GET", Path: "/by", Handler: h.byStatus})
	return h.serve(t, service), l
}

var loopback = core.Proxies{}.Client("127.0.0.1", nil)

// wantLeft asks the limiter itself, since the headers of an answer were written before a refund.
func wantLeft(t *testing.T, l *core.Limiter, want int64) {
	t.Helper()
	var left int64
	eventually(func() bool {
		left = l.Peek(t.Context(), core.Request{IP: loopback, Endpoint: "GET /x"}).Remaining
		return left == want
	})
	if left != want {
		t.Fatalf("%d units are left, want %d", left, want)
	}
}

// receive waits for what a handler sends.
func receive[T any](t *testing.T, from <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-from:
	case <-time.After(soon):
		t.Fatal("nothing came")
	}
	return v
}
