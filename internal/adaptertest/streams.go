package adaptertest

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// withAndWithoutRefund runs f over plain middleware and over one that must know the status,
// which is where an adapter may have to stand between the handler and the connection.
func (h *harness) withAndWithoutRefund(t *testing.T, path string, handler Handler, f func(t *testing.T, c *client)) {
	t.Helper()
	for _, opts := range [][]Option{nil, {RefundOn(func(int) bool { return false })}} {
		s := h.simple(limiterOver(t, h.anotherStore(t), core.Policy{core.PerIP(core.PerHour(100))}), opts...)
		s.Routes = append(s.Routes, Route{Method: "GET", Path: path, Handler: handler})
		f(t, h.serve(t, s))
	}
}

// streamCases: what the framework can do with a connection it can do behind the middleware.
var streamCases = group{
	"events arrive one by one": func(t *testing.T, h *harness) {
		read := make(chan struct{})
		stream := func(c Call) error {
			return c.Stream("text/event-stream", func(send func(string) error) {
				for i := range 3 {
					if err := send(fmt.Sprintf("data: %d\n\n", i)); err != nil {
						return
					}
					select {
					case <-read: // the next event is sent when this one has been read
					case <-time.After(soon):
						return
					}
				}
			})
		}
		h.withAndWithoutRefund(t, "/events", stream, func(t *testing.T, c *client) {
			resp, err := c.send(t.Context(), "GET /events")
			if err != nil {
				t.Fatal(err)
			}
			defer resp.Body.Close()
			equal(t, "status", resp.StatusCode, 200)
			equal(t, "RateLimit", resp.Header.Get("RateLimit"), `"ip";r=99;t=36`)
			equal(t, "Content-Type", resp.Header.Get("Content-Type"), "text/event-stream")
			body := bufio.NewReader(resp.Body)
			for i := range 3 {
				line, err := body.ReadString('\n')
				if err != nil || line != fmt.Sprintf("data: %d\n", i) {
					t.Fatalf("event %d: %q, %v", i, line, err)
				}
				_, _ = body.ReadString('\n')
				select {
				case read <- struct{}{}:
				case <-time.After(soon):
					t.Fatalf("event %d was not sent by itself", i)
				}
			}
			if rest, err := io.ReadAll(body); err != nil || len(rest) > 0 {
				t.Errorf("after the last event: %q, %v", rest, err)
			}
		})
	},

	"a stream that a refund is judged on arrives whole": func(t *testing.T, h *harness) {
		s := &statuses{rule: successes}
		l := h.limiter(t, core.Policy{core.PerIP(core.PerHour(2))})
		service := h.simple(l, RefundOn(s.judge))
		service.Routes = append(service.Routes, Route{Method: "GET", Path: "/events", Handler: func(c Call) error {
			return c.Stream(textType, func(send func(string) error) {
				for range 100 {
					_ = send(strings.Repeat("x", 1000))
				}
			})
		}})
		c := h.serve(t, service)
		for range 3 {
			equal(t, "bytes", len(c.do(t, "GET /events").is(t, 200, "ip 1").body), 100_000)
			wantLeft(t, l, 2)
		}
		s.want(t, 200, 200, 200)
	},

	"a connection can be hijacked": func(t *testing.T, h *harness) {
		echo := func(c Call) error {
			return c.Hijack(func(conn net.Conn) {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(patience))
				_, _ = io.WriteString(conn, "HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
				line, _ := bufio.NewReader(conn).ReadString('\n')
				_, _ = io.WriteString(conn, "echo "+line)
			})
		}
		h.withAndWithoutRefund(t, "/echo", echo, func(t *testing.T, c *client) {
			conn, err := c.dial()
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			_ = conn.SetDeadline(time.Now().Add(patience))
			fmt.Fprint(conn, "GET /echo HTTP/1.1\r\nHost: service\r\nConnection: Upgrade\r\nUpgrade: echo\r\n\r\n")
			r := bufio.NewReader(conn)
			resp, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			equal(t, "status", resp.StatusCode, http.StatusSwitchingProtocols)
			fmt.Fprint(conn, "hello\n")
			if got, err := io.ReadAll(r); err != nil || string(got) != "echo hello\n" {
				t.Errorf("echo is %q, %v", got, err)
			}
		})
	},

	"http.ResponseController reaches the connection": func(t *testing.T, h *harness) {
		h.needs(t, HTTPWriter)
		control := func(c Call) error {
			rc := http.NewResponseController(c.Writer())
			for name, err := range map[string]error{
				"SetReadDeadline":  rc.SetReadDeadline(time.Now().Add(patience)),
				"SetWriteDeadline": rc.SetWriteDeadline(time.Now().Add(patience)),
				"EnableFullDuplex": rc.EnableFullDuplex(),
				"Flush":            rc.Flush(),
			} {
				if err != nil {
					return c.Reply(500, textType, name+": "+err.Error())
				}
			}
			_, err := io.WriteString(c.Writer(), "ok")
			return err
		}
		h.withAndWithoutRefund(t, "/control", control, func(t *testing.T, c *client) {
			equal(t, "body", c.do(t, "GET /control").is(t, 200, "ip 99").body, "ok")
		})
	},

	"a large body copied from a reader arrives whole": func(t *testing.T, h *harness) {
		h.needs(t, HTTPWriter)
		const size = 1 << 20
		copies := func(c Call) error {
			_, err := io.Copy(c.Writer(), io.LimitReader(zeros{}, size))
			return err
		}
		h.withAndWithoutRefund(t, "/large", copies, func(t *testing.T, c *client) {
			equal(t, "bytes", len(c.do(t, "GET /large").is(t, 200).body), size)
		})
	},
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) {
	clear(p)
	return len(p), nil
}
