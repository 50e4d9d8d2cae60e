package adaptertest

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// Nothing waits this long unless something is broken: patience is for answers, soon for what
// follows them.
const (
	patience = 30 * time.Second
	soon     = 3 * time.Second
)

// client calls a service by one door, over connections that are kept alive.
type client struct {
	http  http.Client
	lobby *lobby
	door  net.Addr
	dials atomic.Int64
}

func newClient(t *testing.T, l *lobby, door net.Addr) *client {
	c := &client{lobby: l, door: door}
	transport := &http.Transport{
		DialContext:         func(context.Context, string, string) (net.Conn, error) { return c.dial() },
		MaxConnsPerHost:     100,
		MaxIdleConnsPerHost: 100,
		DisableCompression:  true,
	}
	t.Cleanup(transport.CloseIdleConnections)
	c.http = http.Client{
		Transport:     transport,
		Timeout:       patience,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	return c
}

func (c *client) dial() (net.Conn, error) {
	c.dials.Add(1)
	return net.Dial(c.door.Network(), c.door.String())
}

// send makes a request of a line such as "GET /x" and header lines such as "X-User: ann". The
// caller closes the response's body.
func (c *client) send(ctx context.Context, line string, headers ...string) (*http.Response, error) {
	method, path, _ := strings.Cut(line, " ")
	r, err := http.NewRequestWithContext(ctx, method, "http://service"+path, nil)
	if err != nil {
		return nil, err
	}
	for _, h := range headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return c.http.Do(r)
}

// do makes a request and reads the answer. It may be called from any goroutine.
func (c *client) do(t *testing.T, line string, headers ...string) answer {
	t.Helper()
	a := answer{request: line}
	resp, err := c.send(context.Background(), line, headers...)
	if err == nil {
		defer resp.Body.Close()
		var body []byte
		body, err = io.ReadAll(resp.Body)
		a.status, a.header, a.body = resp.StatusCode, resp.Header, string(body)
	}
	if err != nil {
		t.Errorf("%s: %v", line, err)
	}
	return a
}

// times makes the same request n times, and wants admitted of them answered 200, the first
// ones, and the others 429.
func (c *client) times(t *testing.T, n, admitted int, line string, headers ...string) {
	t.Helper()
	for i := range n {
		want := http.StatusOK
		if i >= admitted {
			want = http.StatusTooManyRequests
		}
		if a := c.do(t, line, headers...); a.status != want {
			t.Fatalf("of %d, number %d: %v, want %d", n, i+1, a, want)
		}
	}
}

// raw writes a request as it stands and returns all that comes back until the server closes.
func (c *client) raw(t *testing.T, request string) string {
	t.Helper()
	conn, err := c.dial()
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(patience))
	fmt.Fprintf(conn, "%s HTTP/1.1\r\nHost: service\r\nConnection: close\r\n\r\n", request)
	response, err := io.ReadAll(conn)
	if err != nil {
		t.Fatalf("%s: %v after %q", request, err, response)
	}
	return string(response)
}
