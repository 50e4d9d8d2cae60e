package grpclimit

import (
	"context"
	"fmt"
	"testing"
	"time"
)

func TestLongestWaitStands(t *testing.T) {
	var w waits
	c := call{"target", "/s/m"}
	for _, wait := range []time.Duration{time.Hour, time.Minute, 0, -time.Hour} {
		w.add(c, wait)
		if left := w.left(c); left < 59*time.Minute || left > time.Hour {
			t.Errorf("%v are left", left)
		}
	}
	for _, other := range []call{{"target", "/s/n"}, {"other", "/s/m"}} {
		if left := w.left(other); left > 0 {
			t.Errorf("%v has %v left", other, left)
		}
	}
}

func TestWaitsThatAreOverAreForgotten(t *testing.T) {
	var w waits
	for i := range 100 {
		w.add(call{"target", fmt.Sprint(i)}, time.Nanosecond)
	}
	time.Sleep(time.Millisecond)
	w.add(call{"target", "last"}, time.Hour)
	if len(w.until) != 1 {
		t.Errorf("%d entries, want 1", len(w.until))
	}
}

func TestLaterWordIsHeeded(t *testing.T) {
	var p pacer
	c := call{"target", "/s/m"}
	began := time.Now()
	p.waits.add(c, 50*time.Millisecond)
	time.AfterFunc(20*time.Millisecond, func() { p.waits.add(c, 100*time.Millisecond) })
	if s := p.heed(context.Background(), c, began.Add(time.Minute)); s != nil {
		t.Error(s)
	}
	if took := time.Since(began); took < 120*time.Millisecond {
		t.Errorf("waited %v only", took)
	}
}
