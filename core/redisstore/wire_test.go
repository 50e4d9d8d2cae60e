package redisstore_test

import (
	"bufio"
	"context"
	"fmt"
	"net"
	"strconv"
	"testing"

	"github.com/redis/go-redis/v9"
)

// wire is a client of one connection that waits for as long as it takes: a loaded machine may stand
// still for longer than any client's time-out, and these tests run for minutes.
type wire struct {
	conn net.Conn
	in   *bufio.Reader
}

// refusal is an error reply.
type refusal string

func (r refusal) Error() string { return string(r) }
func (refusal) RedisError()     {}

func dial(t *testing.T, addr string) *wire {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &wire{conn, bufio.NewReader(conn)}
}

// Process sends a command and reads integers.
func (w *wire) Process(_ context.Context, cmd redis.Cmder) error {
	text := fmt.Appendf(nil, "*%d\r\n", len(cmd.Args()))
	for _, arg := range cmd.Args() {
		if s, ok := arg.(*string); ok {
			arg = *s
		}
		part := fmt.Sprint(arg)
		text = fmt.Appendf(text, "$%d\r\n%s\r\n", len(part), part)
	}
	if _, err := w.conn.Write(text); err != nil {
		return err
	}
	n, err := w.number('*')
	if err != nil {
		return err
	}
	out := make([]int64, n)
	for i := range out {
		if out[i], err = w.number(':'); err != nil {
			return err
		}
	}
	cmd.(interface{ SetVal([]int64) }).SetVal(out)
	return nil
}

func (w *wire) number(kind byte) (int64, error) {
	line, err := w.in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line = line[:len(line)-2]; line[0] == '-' {
		return 0, refusal(line[1:])
	}
	if line[0] != kind {
		return 0, fmt.Errorf("reply is %q, want %c", line, kind)
	}
	return strconv.ParseInt(line[1:], 10, 64)
}
