package redisstore_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// conditions are states in which a real server refuses, what it says then, and whose fault it is.
var conditions = []struct {
	name  string
	says  string
	fault core.Fault
	make  func(t *testing.T) *redis.Client
}{
	{"loading", "LOADING", core.FaultStore, func(t *testing.T) *redis.Client {
		server := redistest.Start(t, "--dir", t.TempDir(), "--key-load-delay", "500", "--loading-process-events-interval-bytes", "1024")
		server.Do(t, "DEBUG", "POPULATE", 20_000)
		server.Do(t, "SAVE")
		server.Restart()
		return server.Client(t)
	}},
	{"replica", "READONLY", core.FaultStore, func(t *testing.T) *redis.Client {
		server := redistest.Start(t)
		server.Do(t, "REPLICAOF", "127.0.0.1", "1")
		return server.Client(t)
	}},
	{"replica without its master", "MASTERDOWN", core.FaultStore, func(t *testing.T) *redis.Client {
		server := redistest.Start(t, "--replica-serve-stale-data", "no")
		server.Do(t, "REPLICAOF", "127.0.0.1", "1")
		return server.Client(t)
	}},
	{"too few replicas", "NOREPLICAS", core.FaultStore, func(t *testing.T) *redis.Client {
		return redistest.Start(t, "--min-replicas-to-write", "1").Client(t)
	}},
	{"out of memory", "OOM", core.FaultStore, func(t *testing.T) *redis.Client {
		return redistest.Start(t, "--maxmemory", "1").Client(t)
	}},
	{"cannot save", "MISCONF", core.FaultStore, func(t *testing.T) *redis.Client {
		dir := t.TempDir()
		server := redistest.Start(t, "--dir", dir, "--save", "3600 1")
		if err := os.RemoveAll(dir); err != nil {
			t.Fatal(err)
		}
		server.Do(t, "BGSAVE")
		eventually(t, 10*time.Second, "failed save", func() bool {
			return strings.Contains(fmt.Sprint(server.Do(t, "INFO", "persistence")), "rdb_last_bgsave_status:err")
		})
		return server.Client(t)
	}},
	{"busy with another script", "BUSY", core.FaultStore, func(t *testing.T) *redis.Client {
		server := redistest.Start(t, "--busy-reply-threshold", "20")
		conn, err := net.Dial("tcp", server.Addr())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		fmt.Fprint(conn, "EVAL \"while true do end\" 0\r\n")
		time.Sleep(100 * time.Millisecond)
		return server.Client(t)
	}},
	{"too many clients", "", core.FaultStore, func(t *testing.T) *redis.Client {
		server := redistest.Start(t)
		client := server.Client(t)
		server.Do(t, "CONFIG", "SET", "maxclients", "1")
		for range 100 { // the server may still count the connection that set the bound
			conn := client.Conn()
			t.Cleanup(func() { _ = conn.Close() })
			if conn.Ping(context.Background()).Err() == nil {
				return client
			}
			time.Sleep(10 * time.Millisecond)
		}
		t.Fatal("the one connection that there may be was not had")
		return nil
	}},
	{"no password given", "", core.FaultConfig, func(t *testing.T) *redis.Client {
		return redistest.Start(t, "--requirepass", "secret").Client(t)
	}},
	{"no password given, RESP2", "", core.FaultConfig, func(t *testing.T) *redis.Client {
		return connect(t, redistest.Start(t, "--requirepass", "secret").Addr(), &redis.Options{Protocol: 2})
	}},
	{"wrong password", "WRONGPASS", core.FaultConfig, func(t *testing.T) *redis.Client {
		return connect(t, redistest.Start(t, "--requirepass", "secret").Addr(), &redis.Options{Password: "guess"})
	}},
	{"wrong password, RESP2", "WRONGPASS", core.FaultConfig, func(t *testing.T) *redis.Client {
		return connect(t, redistest.Start(t, "--requirepass", "secret").Addr(), &redis.Options{Password: "guess", Protocol: 2})
	}},
	{"user that does not exist", "WRONGPASS", core.FaultConfig, func(t *testing.T) *redis.Client {
		return connect(t, redistest.Start(t).Addr(), &redis.Options{Username: "nobody", Password: "guess"})
	}},
	{"script commands are forbidden", "NOPERM", core.FaultConfig, func(t *testing.T) *redis.Client {
		server := redistest.Start(t)
		server.Do(t, "ACL", "SETUSER", "default", "-evalsha", "-eval")
		return server.Client(t)
	}},
	{"script commands are renamed away", "unknown command", core.FaultConfig, func(t *testing.T) *redis.Client {
		return redistest.Start(t, "--rename-command", "EVALSHA", "", "--rename-command", "EVAL", "").Client(t)
	}},
	{"a command in the script is renamed away", "ERR", core.FaultConfig, func(t *testing.T) *redis.Client {
		return redistest.Start(t, "--rename-command", "SET", "").Client(t)
	}},
	{"cluster without slots", "CLUSTERDOWN", core.FaultStore, func(t *testing.T) *redis.Client {
		return redistest.Start(t, "--cluster-enabled", "yes").Client(t)
	}},
	{"cluster, levels in other slots", "CROSSSLOT", core.FaultRequest, func(t *testing.T) *redis.Client {
		server := redistest.Start(t, "--cluster-enabled", "yes")
		server.Do(t, "CLUSTER", "ADDSLOTSRANGE", 0, 16383)
		eventually(t, 10*time.Second, "cluster", func() bool {
			return strings.Contains(fmt.Sprint(server.Do(t, "CLUSTER", "INFO")), "cluster_state:ok")
		})
		return server.Client(t)
	}},
	{"nobody listens", "refused", core.FaultStore, func(t *testing.T) *redis.Client {
		return connect(t, redistest.Reserve(t).Addr(), &redis.Options{DialerRetries: 1})
	}},
	{"no such host", "", core.FaultStore, func(t *testing.T) *redis.Client {
		return connect(t, "tierlimit.invalid:6379", &redis.Options{DialerRetries: 1})
	}},
	{"closed client", "closed", core.FaultStore, func(t *testing.T) *redis.Client {
		client := connect(t, redistest.Start(t).Addr(), nil)
		_ = client.Close()
		return client
	}},
}

func TestErrorsOfARealServerAreClassed(t *testing.T) {
	t.Parallel()
	for _, c := range conditions {
		t.Run(c.name, func(t *testing.T) {
			s := open(t, c.make(t), redisstore.WithBudget(patient))
			w := watching(s)
			out, err := try(s, levels("")...)
			if err == nil || core.FaultOf(err) != c.fault || !strings.Contains(err.Error(), c.says) {
				t.Errorf("fault %v of %v; want %v and %q", core.FaultOf(err), err, c.fault, c.says)
			}
			for _, o := range out {
				if o.Admits || o.Charged {
					t.Errorf("outcome with an error: %+v", o)
				}
			}
			idle(t, s)
			if good, bad := w.reports(); good != 0 || len(bad) != 1 || core.FaultOf(bad[0]) != c.fault {
				t.Errorf("%d good reports, failures %v", good, bad)
			}
		})
	}
}

// A password that the server does not ask for is no reason to fail.
func TestPasswordThatNobodyAsksFor(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	for _, protocol := range []int{2, 3} {
		s := open(t, connect(t, server.Addr(), &redis.Options{Password: "secret", Protocol: protocol}), redisstore.WithBudget(patient))
		take(t, s, levels("")...)
	}
}
