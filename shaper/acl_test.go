package shaper_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

// rights are all that a queue needs, as the package's documentation lists them.
var rights = []any{
	"~tierlimit:*", "+evalsha", "+eval", "+xack", "+xadd", "+xautoclaim", "+xclaim", "+xdel", "+xgroup|create",
	"+xgroup|delconsumer", "+xinfo|consumers", "+xinfo|groups", "+xlen", "+xpending", "+xrange", "+xreadgroup",
	"+hincrby", "+hmget", "+time", "+mget", "+set", "+incrby", "+pexpire", "+del",
}

// restricted is a client whose user has these rights and no others.
func restricted(t *testing.T, server *redistest.Server, rights ...any) *redis.Client {
	t.Helper()
	server.Do(t, append([]any{"ACL", "SETUSER", "worker", "reset", "on", ">secret"}, rights...)...)
	return connect(t, redis.Options{Addr: server.Addr(), Username: "worker", Password: "secret", DisableIdentity: true})
}

// everything does all that a queue can do. Its jobs are tried twice.
func everything(t *testing.T, q *shaper.Queue) {
	t.Helper()
	var r record
	stop := work(t, q, 2, func(_ context.Context, j shaper.Job) error {
		r.note(j)
		if string(j.Payload) == "bad" {
			return errors.New("no")
		}
		return nil
	})
	add(t, q, "good", "bad", "good", "bad")
	drained(t, q, 20*time.Second)
	dead, err := q.Dead(t.Context(), "", 10)
	if err != nil || len(dead) != 2 {
		t.Fatalf("dead: %+v, %v", dead, err)
	}
	if n, err := q.Discard(t.Context(), dead[0].ID); n != 1 || err != nil {
		t.Errorf("discarded %d, %v", n, err)
	}
	if _, err := q.Revive(t.Context(), dead[1].ID); err != nil {
		t.Errorf("revive: %v", err)
	}
	drained(t, q, 20*time.Second)
	if errs := stop(); len(errs) > 0 {
		t.Errorf("Work: %v", errs)
	}
	if s := stats(t, q); s != (shaper.Stats{Done: 2, Failed: 6, Dead: 1}) || len(r.all()) != 8 {
		t.Errorf("%+v after %d starts", s, len(r.all()))
	}
}

func TestDocumentedRightsAreEnough(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	everything(t, open(t, restricted(t, server, rights...), core.PerSecond(1000), shaper.WithAttempts(2), shaper.WithRetryAfter(0)))
	for _, entry := range server.Do(t, "ACL", "LOG").([]any) {
		t.Errorf("the server refused: %v", entry)
	}
}

// Each right is needed: without it the server refuses something.
func TestNoRightIsSuperfluous(t *testing.T) {
	t.Parallel()
	for i, right := range rights {
		t.Run(fmt.Sprint(right), func(t *testing.T) {
			t.Parallel()
			if right == "+del" {
				t.Skip("only to give back a slot whose answer was late")
			}
			server := redistest.Start(t)
			client := restricted(t, server, slices.Delete(slices.Clone(rights), i, i+1)...)
			// Slots lie ahead, so that the pace's bucket moves as well as begins.
			q := open(t, client, core.PerSecond(20), shaper.WithAttempts(1), shaper.WithGrace(0))
			stop := work(t, q, 12, func(context.Context, shaper.Job) error { return errors.New("no") })
			refused := func() bool { return len(server.Do(t, "ACL", "LOG").([]any)) > 0 }
			for deadline := time.Now().Add(5 * time.Second); !refused() && time.Now().Before(deadline); {
				_, _ = q.Add(t.Context(), nil)
				_, _ = q.Stats(t.Context())
				_, _ = q.Dead(t.Context(), "", 1)
				_, _ = q.Discard(t.Context(), "1-1")
				time.Sleep(20 * time.Millisecond)
				if strings.Contains(fmt.Sprint(right), "delconsumer") {
					stop()
				}
			}
			if !refused() {
				t.Error("not needed")
			}
		})
	}
}

func TestRightsAreThoseOfTheDocumentation(t *testing.T) {
	t.Parallel()
	for _, file := range []string{"doc.go", "../docs/shaper.md"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		listed := map[string]bool{}
		for word := range strings.FieldsSeq(string(text)) {
			if strings.HasPrefix(word, "+") && len(word) > 1 || strings.HasPrefix(word, "~") {
				listed[word] = true
			}
		}
		for _, right := range rights {
			if !listed[right.(string)] {
				t.Errorf("%s does not list %v", file, right)
			}
			delete(listed, right.(string))
		}
		for _, right := range clusterOnly {
			if !listed[right.(string)] {
				t.Errorf("%s does not list %v", file, right)
			}
			delete(listed, right.(string))
		}
		if len(listed) > 0 {
			t.Errorf("%s lists %v, which are not needed", file, listed)
		}
	}
}
