package grpclimit_test

import (
	"sync"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/grpclimit"
)

func TestManyAtOnceOnAFreshKey(t *testing.T) {
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(50)), core.PerEndpoint(core.PerHour(1000))})
	var s service
	conn := dial(t, s.start(t, behind(l)...))
	var admitted, refused atomic.Int64
	var wg sync.WaitGroup
	for i := range 200 {
		wg.Go(func() {
			var a answer
			if i%2 == 0 {
				a = do(t, conn, say)
			} else if cs, err := conn.NewStream(t.Context(), &grpc.StreamDesc{ServerStreams: true, ClientStreams: true}, chat); err == nil {
				a = end(t, cs)
			}
			switch a.err.Code() {
			case codes.OK:
				admitted.Add(1)
			case codes.ResourceExhausted:
				refused.Add(1)
			}
		})
	}
	wg.Wait()
	equal(t, "admitted", admitted.Load(), 50)
	equal(t, "refused", refused.Load(), 150)
	equal(t, "handlers run", s.calls.Load(), 50)
}

func TestManyMessagesAtOnce(t *testing.T) {
	const streams, each = 20, 10
	l := newBench(t).limiter(t, core.Policy{core.PerIP(core.PerHour(streams + 100))})
	var s service
	conn := dial(t, s.start(t, behind(l, grpclimit.WithPerMessage(), grpclimit.WithStreamHeader())...))
	var opened []grpc.ClientStream
	for range streams {
		opened = append(opened, open(t, conn, chat))
	}
	eventually(t, "the streams", func() bool { return s.calls.Load() == streams })
	var echoed, ended atomic.Int64
	var wg sync.WaitGroup
	for _, cs := range opened {
		wg.Go(func() {
			for range each {
				send(t, cs, "x")
				if _, err := recv(cs); err != nil {
					ended.Add(1)
					equal(t, "code", codeOf(err), codes.ResourceExhausted)
					return
				}
				echoed.Add(1)
			}
			end(t, cs)
		})
	}
	wg.Wait()
	equal(t, "messages echoed", echoed.Load(), 100)
	if ended.Load() == 0 {
		t.Error("no stream was ended")
	}
}
