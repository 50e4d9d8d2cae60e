package redisstore

import (
	"context"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// hungMap is a topology of which nothing can be read until it is released.
type hungMap struct {
	topology
	readings atomic.Int32
	release  chan struct{}
}

func (h *hungMap) refresh(context.Context) error {
	h.readings.Add(1)
	<-h.release
	return context.DeadlineExceeded
}

// A client without time-outs may hang for as long as it likes: what waits for it is bounded.
func TestReadingsThatHangAreBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := &hungMap{release: make(chan struct{})}
		c := newCluster(&Store{budget: 50 * time.Millisecond}, h)
		fail := func(long time.Duration) {
			for end := time.Now().Add(long); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
				c.reload()
			}
		}
		fail(time.Second)
		if n := h.readings.Load(); n < 5 || n > 6 {
			t.Errorf("%d readings in a second, want one every 200 ms", n)
		}
		fail(time.Minute)
		if n := h.readings.Load(); n != maxReloads {
			t.Errorf("%d readings hang, want %d", n, maxReloads)
		}
		close(h.release)
		fail(time.Second)
		if n := h.readings.Load(); n < maxReloads+4 {
			t.Errorf("%d readings, want more after they have returned", n)
		}
		c.wait(time.Minute)
	})
}
