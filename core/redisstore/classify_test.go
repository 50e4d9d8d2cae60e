package redisstore_test

import (
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// Whose fault a reply is, word for word as servers and proxies send it. Servers before 7 wrap
// what a command in a script says.
var replies = map[core.Fault][]string{
	core.FaultStore: {
		"LOADING Redis is loading the dataset in memory",
		"READONLY You can't write against a read only replica.",
		"READONLY You can't write against a read only replica. script: 0123456789abcdef, on @user_script:95.",
		"ERR Error running script (call to f_0123): @user_script:95: @user_script: 95: -READONLY You can't write against a read only replica.",
		"MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
		"NOREPLICAS Not enough good replicas to write.",
		"ERR Error running script (call to f_0123): @user_script:95: -NOREPLICAS Not enough good replicas to write.",
		"CLUSTERDOWN The cluster is down",
		"CLUSTERDOWN Hash slot not served",
		"TRYAGAIN Multiple keys request during rehashing of slot",
		"MOVED 3999 127.0.0.1:6381", "ASK 3999 127.0.0.1:6381",
		"OOM command not allowed when used memory > 'maxmemory'.",
		"OOM command not allowed when used memory > 'maxmemory'. script: 0123, on @user_script:95.",
		"ERR Error running script (call to f_0123): @user_script:95: @user_script: 95: -OOM command not allowed when used memory > 'maxmemory'.",
		"MISCONF Redis is configured to save RDB snapshots, but it's currently unable to persist to disk.",
		"ERR Error running script (call to f_0123): @user_script:95: -MISCONF Errors writing to the AOF file: No space left on device",
		"BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
		"UNKILLABLE Sorry the script already executed write commands against the dataset.",
		"ERR max number of clients reached",
		"ERR max number of clients + cluster connections reached",
		"upstream failure", "no upstream host", // Envoy
		"ERR some word of a later version", "LATER some other", "ERR unknown", "ERR",
	},
	core.FaultConfig: {
		"NOAUTH Authentication required.",
		"ERR Protocol error: unauthenticated multibulk length",
		"WRONGPASS invalid username-password pair or user is disabled.",
		"ERR invalid password",
		"ERR AUTH <password> called without any password configured for the default user. Are you sure your configuration is correct?",
		"ERR Client sent AUTH, but no password is set",
		"NOPERM this user has no permissions to run the 'evalsha' command",
		"NOPERM User limiter has no permissions to run the 'evalsha' command",
		"NOPERM this user has no permissions to access one of the keys used as arguments",
		"ERR The user executing the script can't run this command or subcommand",
		"ERR The user executing the script can't run this command or subcommand script: 0123, on @user_script:9.",
		"ERR The user executing the script can't access at least one of the keys mentioned in the command arguments",
		"ERR ACL failure in script: User limiter has no permissions to run the 'time' command script: 0123, on @user_script:4.",
		"NOPERM ACL failure in script: User limiter has no permissions to run the 'set' command",
		"ERR unknown command `EVALSHA`, with args beginning with: `0123`, ",
		"ERR unknown command 'evalsha'",
		"ERR Unknown Redis command called from script script: 0123, on @user_script:9.",
		"ERR This Redis command is not allowed from script",
		"ERR This Redis command is not allowed from script script: 0123, on @user_script:9.",
		"ERR This Redis command is not allowed from Lua scripts",
		"ERR Error running script (call to f_0123): @user_script:95: Write commands not allowed after non deterministic commands",
		"ERR DB index is out of range",
		"ERR invalid DB index",
		"ERR SELECT is not allowed in cluster mode",
		"ERR This instance has cluster support disabled",
		"ERR wrong number of arguments for 'auth' command",
		"ERR unknown subcommand 'slots'. Try CLUSTER HELP.",
	},
	core.FaultRequest: {
		"WRONGTYPE Operation against a key holding the wrong kind of value",
		"ERR Error running script (call to f_0123): @user_script:95: WRONGTYPE Operation against a key holding the wrong kind of value",
		"CROSSSLOT Keys in request don't hash to the same slot",
		"ERR user_script:12: attempt to index local 'b' (a nil value) script: 0123, on @user_script:12.",
		"ERR Error compiling script (new function): user_script:1: unexpected symbol near '<'",
		"ERR value is not an integer or out of range",
		"ERR invalid expire time in 'set' command",
	},
}

// answering makes a store over a server that gives every script this reply.
func answering(t *testing.T, raw string) *redisstore.Store {
	front := serve(t, func([]string) string { return raw })
	return open(t, connect(t, front, &redis.Options{PoolSize: 1, DialerRetries: 1}), redisstore.WithBudget(patient))
}

func TestErrorRepliesAreClassedByTheirWords(t *testing.T) {
	t.Parallel()
	for want, texts := range replies {
		for _, words := range texts {
			t.Run(words, func(t *testing.T) {
				t.Parallel()
				s := answering(t, "-"+words+"\r\n")
				w := watching(s)
				_, err := try(s, bucket("b", core.PerHour(5)))
				if err == nil || core.FaultOf(err) != want || !strings.Contains(err.Error(), words) {
					t.Errorf("fault %v of %v, want %v and the server's words", core.FaultOf(err), err, want)
				}
				idle(t, s)
				if good, bad := w.reports(); good != 0 || len(bad) != 1 || core.FaultOf(bad[0]) != want {
					t.Errorf("%d good reports, failures %v", good, bad)
				}
			})
		}
	}
}

// A script never gives these. They are a bug, or something between us and Redis that is none:
// never an admission, and nothing that opens a breaker as often as a client likes.
func TestOddRepliesAreNoAnswer(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"null":            "$-1\r\n",
		"null array":      "*-1\r\n",
		"too short":       integers(1_790_000_000, 0, 1, 1),
		"too long":        integers(1_790_000_000, 0, 1, 1, 0, 1),
		"empty":           integers(),
		"only the time":   integers(1_790_000_000, 0),
		"one more bucket": integers(1_790_000_000, 0, 1, 1, 0, 1, 1, 0),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := answering(t, raw)
			out, err := try(s, bucket("b", core.PerHour(5)))
			if core.FaultOf(err) != core.FaultRequest || err == nil || out[0].Admits || out[0].Charged {
				t.Errorf("fault %v of %v, outcome %+v; want FaultRequest", core.FaultOf(err), err, out[0])
			}
		})
	}
}

// What no Redis sends is taken for a broken server, and is no answer either.
func TestRepliesThatAreNoRedis(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"text": "+OK\r\n", "number": ":1\r\n", "words in the array": "*5\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n$1\r\na\r\n",
		"nothing, and closes": "", "garbage": "\x00\x01\x02\r\n", "HTTP": "HTTP/1.1 400 Bad Request\r\n\r\n",
		"number out of range": "*5\r\n:1\r\n:99999999999999999999\r\n:1\r\n:1\r\n:1\r\n",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := answering(t, raw)
			if out, err := try(s, bucket("b", core.PerHour(5))); err == nil || out[0].Admits || out[0].Charged {
				t.Errorf("error %v, outcome %+v; want an error and no answer", err, out[0])
			} else {
				t.Logf("fault %v: %v", core.FaultOf(err), err)
			}
		})
	}
}

func TestPortOfAnotherProtocolIsAStoreFailure(t *testing.T) {
	t.Parallel()
	for name, handle := range map[string]func(net.Conn){
		"HTTP": func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			fmt.Fprint(c, "HTTP/1.1 400 Bad Request\r\nContent-Type: text/plain\r\nConnection: close\r\n\r\n400 Bad Request")
		},
		"closes at once": func(net.Conn) {},
		"closes in the middle of the handshake": func(c net.Conn) {
			_, _ = c.Read(make([]byte, 1))
			fmt.Fprint(c, "%7\r\n$6\r\nser")
		},
		"talks first": func(c net.Conn) { fmt.Fprint(c, "220 mail ESMTP\r\n"); _, _ = io.Copy(io.Discard, c) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t, connect(t, listen(t, handle), &redis.Options{DialerRetries: 1}), redisstore.WithBudget(patient))
			if _, err := try(s, bucket("b", core.PerHour(5))); err == nil || core.FaultOf(err) != core.FaultStore {
				t.Errorf("fault %v of %v, want the store's", core.FaultOf(err), err)
			}
		})
	}
}

// What the client says by itself, as it says it.
func TestClientsOwnErrorsAreStoreFailures(t *testing.T) {
	t.Parallel()
	busy := connect(t, redistest.Start(t).Addr(), &redis.Options{PoolSize: 1, PoolTimeout: 10 * time.Millisecond})
	conn := busy.Conn()
	t.Cleanup(func() { _ = conn.Close() })
	if err := conn.Ping(t.Context()).Err(); err != nil {
		t.Fatal(err)
	}
	lost := redis.NewFailoverClient(&redis.FailoverOptions{
		MasterName: "none", SentinelAddrs: []string{"127.0.0.1:1", "127.0.0.1:2"}, DialerRetries: 1,
	})
	t.Cleanup(func() { _ = lost.Close() })
	closed := redis.NewClient(&redis.Options{})
	_ = closed.Close()
	for words, client := range map[string]*redis.Client{
		"connection pool timeout": busy,
		"all sentinels":           lost,
		"client is closed":        closed,
	} {
		t.Run(words, func(t *testing.T) {
			_, err := try(open(t, client, redisstore.WithBudget(patient)), bucket("b", core.PerHour(5)))
			if err == nil || core.FaultOf(err) != core.FaultStore || !strings.Contains(err.Error(), words) {
				t.Errorf("fault %v of %v, want the store's, and %q", core.FaultOf(err), err, words)
			}
		})
	}
}
