package redisstore_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// A flush, a restart and a fail-over all lose the script. No operation may notice but by one
// more command.
func TestForgottenScriptCostsOneMoreCommand(t *testing.T) {
	t.Parallel()
	const rounds = 100
	ctx := context.Background()
	b := []core.Bucket{bucket("b", core.PerHour(1000)), bucket("c", core.PerHour(1000))}
	for name, op := range map[string]struct {
		run  func(s *redisstore.Store, out []core.Outcome) error
		left func(before, done int64) int64
	}{
		"take":   {func(s *redisstore.Store, out []core.Outcome) error { return s.Take(ctx, b, out) }, func(n, done int64) int64 { return n - done }},
		"peek":   {func(s *redisstore.Store, out []core.Outcome) error { return s.Peek(ctx, b, out) }, func(n, _ int64) int64 { return n }},
		"debit":  {func(s *redisstore.Store, _ []core.Outcome) error { return s.Debit(ctx, b) }, func(n, done int64) int64 { return n - done }},
		"refund": {func(s *redisstore.Store, out []core.Outcome) error { return s.Refund(ctx, b, out) }, func(n, done int64) int64 { return n + done }},
		"reset":  {func(s *redisstore.Store, _ []core.Outcome) error { return s.Reset(ctx, b) }, func(int64, int64) int64 { return 1000 }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			admin := server.Client(t)
			s := open(t, server.Client(t), redisstore.WithBudget(patient), redisstore.WithClock(new(storetest.Clock).Now))
			taken := make([][]core.Outcome, rounds)
			for i := range taken {
				taken[i] = take(t, s, b...)
			}
			before := peek(t, s, b[1]).Remaining
			server.Do(t, "CONFIG", "RESETSTAT")
			for i := range taken {
				if err := admin.ScriptFlush(ctx).Err(); err != nil {
					t.Fatal(err)
				}
				if err := op.run(s, taken[i]); err != nil {
					t.Fatalf("call %d after a flush: %v", i, err)
				}
			}
			n := calls(t, server)
			if n["evalsha"] != rounds || n["eval"] != rounds || n["script|load"] != 0 {
				t.Errorf("%d EVALSHA, %d EVAL, %d SCRIPT LOAD for %d calls, want one EVALSHA and one EVAL each", n["evalsha"], n["eval"], n["script|load"], rounds)
			}
			if got, want := peek(t, s, b[1]).Remaining, op.left(before, rounds); got != want {
				t.Errorf("%d left after %d calls from %d, want %d", got, rounds, before, want)
			}
		})
	}
}

// Buckets that owe something already are read together and moved, each in one command.
func TestKnownScriptIsOneCommand(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := open(t, server.Client(t), redisstore.WithBudget(patient))
	take(t, s, levels("")...)
	server.Do(t, "CONFIG", "RESETSTAT")
	for range 50 {
		take(t, s, levels("")...)
	}
	if n := calls(t, server); n["evalsha"] != 50 || n["eval"] != 0 || n["mget"] != 50 || n["incrby"] != 150 || n["set"] != 0 || n["time"] != 50 {
		t.Errorf("50 requests of 3 levels made %v", n)
	}
}

// Other servers and proxies word it otherwise.
func TestForgottenScriptInOtherWords(t *testing.T) {
	t.Parallel()
	for _, words := range []string{
		"(error) NOSCRIPT No matching script.",
		"NOSCRIPT",
		"NOSCRIPT No matching script. Please use EVAL.",
		"ERR Error running script: NOSCRIPT No matching script",
	} {
		t.Run(words, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			relay := server.Client(t)
			var evals int
			front := serve(t, func(cmd []string) string {
				if strings.EqualFold(cmd[0], "evalsha") {
					return "-" + words + "\r\n"
				}
				evals++
				return forward(relay, cmd)
			})
			s := open(t, connect(t, front, &redis.Options{PoolSize: 1}), redisstore.WithBudget(patient))
			w := watching(s)
			for left := int64(4); left >= -1; left-- {
				o := take(t, s, bucket("b", core.PerHour(5)))[0]
				if o.Admits != (left >= 0) || o.Remaining != max(left, 0) {
					t.Errorf("with %d left after it: %+v", left, o)
				}
			}
			idle(t, s)
			if good, bad := w.reports(); good != 6 || len(bad) != 0 || evals != 6 {
				t.Errorf("%d good reports, bad %v, %d EVALs; want 6, none and 6", good, bad, evals)
			}
		})
	}
}

// An old server that refuses TIME in scripts would else be an endless fallback nobody sees.
func TestServerThatRefusesACommandInScriptsIsNamedAsMisconfigured(t *testing.T) {
	t.Parallel()
	const words = "ERR This Redis command is not allowed from script"
	front := serve(t, func([]string) string { return "-" + words + "\r\n" })
	s := open(t, connect(t, front, nil), redisstore.WithBudget(patient))
	_, err := try(s, bucket("b", core.PerHour(5)))
	if core.FaultOf(err) != core.FaultConfig || !strings.Contains(err.Error(), words) {
		t.Errorf("fault %v, error %v; want FaultConfig and the server's words", core.FaultOf(err), err)
	}
}

// The clocks of the replicas decide nothing: none is sent.
func TestClockIsTheServers(t *testing.T) {
	t.Parallel()
	relay := redistest.Start(t).Client(t)
	front := serve(t, func(cmd []string) string {
		if now := cmd[3+3 : 3+3+2]; cmd[2] != "3" || now[0] != "" || now[1] != "" {
			t.Errorf("%s keys and the time %q were sent, want 3 keys and none", cmd[2], now)
		}
		return forward(relay, cmd)
	})
	take(t, open(t, connect(t, front, nil), redisstore.WithBudget(patient)), levels("")...)
}
