package ginlimit_test

import (
	"bufio"
	"io"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/gin-gonic/gin"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/ginlimit"
)

func TestHTTP2(t *testing.T) {
	l, _ := newLimiter(t, core.Policy{core.PerIP(core.PerHour(2))})
	e := gin.New()
	e.Use(ginlimit.New(l, ginlimit.WithRefundOn(func(int) bool { return false })))
	e.GET("/x", ok)
	read := make(chan struct{})
	e.GET("/events", func(c *gin.Context) {
		for i := range 2 {
			c.SSEvent("tick", i)
			c.Writer.Flush()
			select {
			case <-read:
			case <-time.After(3 * time.Second):
			}
		}
	})
	server := httptest.NewUnstartedServer(e)
	server.EnableHTTP2 = true
	server.StartTLS()
	defer server.Close()

	resp, err := server.Client().Get(server.URL + "/events")
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if got := resp.Header.Get("RateLimit"); resp.ProtoMajor != 2 || got != `"ip";r=1;t=1800` {
		t.Errorf("%s with RateLimit %q", resp.Proto, got)
	}
	body := bufio.NewReader(resp.Body)
	for i := range 2 {
		for range 3 { // event, data, empty
			if _, err := body.ReadString('\n'); err != nil {
				t.Errorf("event %d: %v", i, err)
			}
		}
		select {
		case read <- struct{}{}:
		case <-time.After(3 * time.Second):
			t.Fatalf("event %d was not sent by itself", i)
		}
	}
	for i, status := range []int{200, 429} {
		resp, err := server.Client().Get(server.URL + "/x")
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if got := resp.Header.Get("RateLimit"); resp.StatusCode != status || got != `"ip";r=0;t=1800` {
			t.Errorf("request %d: %s with RateLimit %q, want %d", i+1, resp.Status, got, status)
		}
	}
}
