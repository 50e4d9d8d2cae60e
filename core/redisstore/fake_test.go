package redisstore_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// serve is a server that speaks RESP2 and answers EVALSHA and EVAL with what answer returns, raw;
// "" closes the connection. Calls of answer do not overlap.
func serve(t testing.TB, answer func(cmd []string) string) (addr string) {
	t.Helper()
	var mu sync.Mutex
	return listen(t, func(conn net.Conn) {
		in := bufio.NewReader(conn)
		for {
			cmd, err := readCommand(in)
			if err != nil {
				return
			}
			reply := "+OK\r\n"
			switch strings.ToLower(cmd[0]) {
			case "hello":
				reply = "-ERR unknown command 'HELLO'\r\n"
			case "evalsha", "eval":
				mu.Lock()
				reply = answer(cmd)
				mu.Unlock()
			}
			if _, err := io.WriteString(conn, reply); err != nil || reply == "" {
				return
			}
		}
	})
}

// listen handles each connection until the test ends.
func listen(t testing.TB, handle func(net.Conn)) (addr string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() {
		cancel()
		_ = ln.Close()
		wg.Wait()
	})
	wg.Go(func() {
		for {
			conn, err := ln.Accept()
			if err != nil {
				return
			}
			stop := context.AfterFunc(ctx, func() { _ = conn.Close() })
			wg.Go(func() {
				handle(conn)
				stop()
				_ = conn.Close()
			})
		}
	})
	return ln.Addr().String()
}

func readCommand(in *bufio.Reader) ([]string, error) {
	n, err := readLength(in, '*')
	if err != nil {
		return nil, err
	}
	cmd := make([]string, n)
	for i := range cmd {
		size, err := readLength(in, '$')
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(in, word); err != nil {
			return nil, err
		}
		cmd[i] = string(word[:size])
	}
	return cmd, nil
}

func readLength(in *bufio.Reader, kind byte) (int, error) {
	line, err := in.ReadString('\n')
	if err != nil {
		return 0, err
	}
	if line[0] != kind {
		return 0, fmt.Errorf("line is %q, want one that begins with %c", line, kind)
	}
	return strconv.Atoi(strings.TrimSpace(line[1:]))
}

// forward asks a real server and returns its reply to a script, raw.
func forward(client *redis.Client, cmd []string) string {
	args := make([]any, len(cmd))
	for i := range cmd {
		args[i] = cmd[i]
	}
	list, err := client.Do(context.Background(), args...).Int64Slice()
	if refusal, ok := errors.AsType[redis.Error](err); ok {
		return "-" + refusal.Error() + "\r\n"
	}
	if err != nil {
		return ""
	}
	return integers(list...)
}

func integers(list ...int64) string {
	var b strings.Builder
	fmt.Fprintf(&b, "*%d\r\n", len(list))
	for _, n := range list {
		fmt.Fprintf(&b, ":%d\r\n", n)
	}
	return b.String()
}
