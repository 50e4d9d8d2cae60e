package redistest_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

const (
	patience = 200 * time.Millisecond // where a timeout is expected
	lenient  = 20 * time.Second       // where none is
)

func proxied(t *testing.T) (*redistest.Server, *redistest.Proxy) {
	t.Helper()

	s := redistest.Start(t)

	return s, redistest.StartProxy(t, s.Addr())
}

func TestProxyBlackHole(t *testing.T) {
	s, p := proxied(t)
	client := impatient(t, p.Addr(), patience)
	warm(t, client)

	p.SetMode(redistest.BlackHole)

	start := time.Now()
	if err := client.Incr(context.Background(), "n").Err(); !isTimeout(err) {
		t.Fatalf("INCR into the black hole: %v, want a timeout", err)
	}

	if took := time.Since(start); took < patience {
		t.Fatalf("timed out after %v, before the read timeout", took)
	}

	dial(t, p.Addr()) // accepted all the same

	if got := s.Do(t, "GET", "n"); got != nil {
		t.Fatalf("n = %v: the request got through", got)
	}

	p.Heal()

	// The lost request arrives late, as a retransmission would.
	for s.Do(t, "GET", "n") != "1" {
		time.Sleep(time.Millisecond)
	}

	incr(t, impatient(t, p.Addr(), lenient), 2)
}

func TestProxySwallowReplies(t *testing.T) {
	s, p := proxied(t)
	client := impatient(t, p.Addr(), patience)
	warm(t, client)

	raw := dial(t, p.Addr())
	p.SetMode(redistest.SwallowReplies)

	if err := client.Incr(context.Background(), "n").Err(); !isTimeout(err) {
		t.Fatalf("INCR: %v, want a timeout", err)
	}

	if got := s.Do(t, "GET", "n"); got != "1" {
		t.Fatalf("n = %v, want 1: the request was not executed", got)
	}

	send(t, raw, "INCR n\r\n")

	for s.Do(t, "GET", "n") != "2" {
		time.Sleep(time.Millisecond)
	}

	time.Sleep(20 * time.Millisecond) // its reply is lost by now
	p.Heal()

	// A connection with a gap must not go on.
	if got, err := io.ReadAll(raw); len(got) != 0 || !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("after Heal: %q, %v; want a reset", got, err)
	}

	incr(t, impatient(t, p.Addr(), lenient), 3)
}

func TestProxyHalfReply(t *testing.T) {
	s, p := proxied(t)
	raw := dial(t, p.Addr())
	client := impatient(t, p.Addr(), lenient)
	incr(t, client, 1)

	p.SetMode(redistest.HalfReply)
	send(t, raw, "ECHO 12345\r\n") // the reply is "$5\r\n12345\r\n"

	if got, err := io.ReadAll(raw); string(got) != "$5\r\n1" || !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("got %q, %v; want half and a reset", got, err)
	}

	if err := client.Incr(context.Background(), "n").Err(); !errors.Is(err, syscall.ECONNRESET) {
		t.Fatalf("INCR: %v, want a reset", err)
	}

	if got := s.Do(t, "GET", "n"); got != "2" {
		t.Fatalf("n = %v, want 2", got)
	}

	p.Heal()
	incr(t, client, 3)
}

func send(t *testing.T, conn net.Conn, text string) {
	t.Helper()

	if err := conn.SetDeadline(time.Now().Add(lenient)); err != nil {
		t.Fatal(err)
	}

	if _, err := io.WriteString(conn, text); err != nil {
		t.Fatal(err)
	}
}

func ping(t *testing.T, conn net.Conn) {
	t.Helper()
	send(t, conn, "PING\r\n")

	if line, err := bufio.NewReader(conn).ReadString('\n'); err != nil || strings.TrimSpace(line) != "+PONG" {
		t.Fatalf("PING: %q, %v", line, err)
	}
}
