package web

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
)

const loopback = "127.0.0.1"

func paths() []string {
	var list []string
	for i := range 16 {
		list = append(list, fmt.Sprint("/items", i))
	}
	return list
}

// client is one keep-alive connection. It writes the least that is a request and reads only
// what it needs of the answer: it shares the processor with the service, and what it took would
// hide what the middlewares cost.
type client struct {
	conn net.Conn
	in   *bufio.Reader
	out  []byte
}

func dial(addr string) (*client, error) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		return nil, err
	}
	return &client{conn: conn, in: bufio.NewReader(conn)}, nil
}

func (c *client) get(r *engine.Request) (status int, err error) {
	path := strings.TrimPrefix(r.Endpoint, "GET ")
	c.out = append(append(append(c.out[:0], "GET "...), path...), " HTTP/1.1\r\nHost: bench\r\nX-Forwarded-For: "...)
	c.out = append(append(r.IP.AppendTo(c.out), "\r\nX-User: "...), r.User...)
	c.out = append(c.out, "\r\n\r\n"...)
	if _, err := c.conn.Write(c.out); err != nil {
		return 0, err
	}
	return c.answer()
}

var lengthHeader = []byte("Content-Length: ")

func (c *client) answer() (status int, err error) {
	line, err := c.in.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	const before, digits = len("HTTP/1.1 "), 3
	if len(line) < before+digits {
		return 0, fmt.Errorf("status line %q", line)
	}
	if status, err = strconv.Atoi(string(line[before : before+digits])); err != nil {
		return 0, err
	}
	body := int64(0)
	for len(line) > len("\r\n") {
		if line, err = c.in.ReadSlice('\n'); err != nil {
			return 0, err
		}
		if length, ok := bytes.CutPrefix(line, lengthHeader); ok {
			if body, err = strconv.ParseInt(string(bytes.TrimSpace(length)), 10, 64); err != nil {
				return 0, err
			}
		}
	}
	_, err = io.CopyN(io.Discard, c.in, body)
	return status, err
}
