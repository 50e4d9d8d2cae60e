package redistest_test

import (
	"context"
	"errors"
	"net"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/redis/go-redis/v9/logging"
	"go.uber.org/goleak"

	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestMain(m *testing.M) {
	logging.Disable() // it tells of each dial that these tests make fail
	goleak.VerifyTestMain(m, redistest.ClientLeftovers()...)
}

// impatient fails fast and never retries, so that a test sees the first error.
func impatient(t *testing.T, addr string, readTimeout time.Duration) *redis.Client {
	t.Helper()

	client := redis.NewClient(&redis.Options{
		Addr:          addr,
		MaxRetries:    -1,
		DialerRetries: 1,
		DialTimeout:   time.Second,
		ReadTimeout:   readTimeout,
	})

	t.Cleanup(func() { _ = client.Close() })

	return client
}

// warm opens a connection of client. On a busy machine that may exceed the
// short timeout that the test needs later.
func warm(t *testing.T, client *redis.Client) {
	t.Helper()

	var err error

	for range 100 {
		if err = client.Ping(context.Background()).Err(); err == nil {
			return
		}
	}

	t.Fatal(err)
}

func dial(t *testing.T, addr string) net.Conn {
	t.Helper()

	conn, err := net.DialTimeout("tcp", addr, time.Second)
	if err != nil {
		t.Fatal(err)
	}

	t.Cleanup(func() { _ = conn.Close() })

	return conn
}

func incr(t *testing.T, client redis.Cmdable, want int64) {
	t.Helper()

	got, err := client.Incr(context.Background(), "n").Result()
	if err != nil || got != want {
		t.Fatalf("INCR = %d, %v; want %d", got, err, want)
	}
}

func isTimeout(err error) bool {
	timeout, ok := errors.AsType[net.Error](err)

	return ok && timeout.Timeout()
}
