package redisstore_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/core/storetest"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// rights are all that the store needs, as the docs list them. Connecting needs none: HELLO and
// AUTH are always allowed, and what go-redis sends beside them may be refused.
var rights = []any{"~tierlimit:*", "+evalsha", "+eval", "+time", "+mget", "+set", "+incrby", "+pexpire", "+del"}

// restricted is a client whose user has these rights and no others.
func restricted(t *testing.T, server *redistest.Server, rights ...any) *redis.Client {
	t.Helper()
	server.Do(t, append([]any{"ACL", "SETUSER", "limiter", "reset", "on", ">secret"}, rights...)...)
	return connect(t, server.Addr(), &redis.Options{Username: "limiter", Password: "secret"})
}

func TestContractWithTheDocumentedRightsOnly(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := restricted(t, server, append([]any{"+scan", "+get"}, rights...)...) // two to list bans
	storetest.Run(t, func(t *testing.T, clock *storetest.Clock) core.Store {
		server.Do(t, "FLUSHALL")
		return redisstore.Must(client, redisstore.WithBudget(patient), redisstore.WithClock(clock.Now))
	})
	client = restricted(t, server, rights...)
	s := open(t, client, redisstore.WithBudget(patient)) // the contract does not ask for the server's time
	server.Do(t, "SCRIPT", "FLUSH")
	if o := take(t, s, levels("time")...); !o[0].Charged {
		t.Errorf("on the server's clock: %+v", o)
	}
	for _, entry := range server.Do(t, "ACL", "LOG").([]any) {
		t.Errorf("the server refused: %v", entry)
	}
}

// Each right is needed, and that it is missing is said by name as the operator's fault, not
// passed off as something a client could cause.
func TestMissingRightIsTheOperatorsFault(t *testing.T) {
	t.Parallel()
	for i, right := range rights {
		t.Run(fmt.Sprint(right), func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			s := open(t, restricted(t, server, slices.Delete(slices.Clone(rights), i, i+1)...), redisstore.WithBudget(patient))
			w := watching(s)
			var err error
			for _, run := range []func() error{
				func() error { _, err := try(s, levels("")...); return err }, // writes anew
				func() error { _, err := try(s, levels("")...); return err }, // moves what is there
				func() error { return s.Reset(t.Context(), levels("")) },
			} {
				if failed := run(); failed != nil {
					err = failed
					if core.FaultOf(err) != core.FaultConfig {
						t.Errorf("fault %v of %q, want FaultConfig", core.FaultOf(err), err)
					}
				}
			}
			if err == nil {
				t.Error("not needed")
			}
			idle(t, s)
			if _, bad := w.reports(); len(bad) == 0 {
				t.Error("nobody was told")
			}
			t.Logf("without %v: %v", right, err)
			if name := strings.TrimLeft(fmt.Sprint(right), "+~"); !strings.Contains(fmt.Sprint(server.Do(t, "ACL", "LOG")), name) {
				t.Logf("ACL LOG: %v", server.Do(t, "ACL", "LOG"))
			}
		})
	}
}

// Keys outside the pattern are nobody's business here.
func TestRightsToOtherKeysAreNotNeeded(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	client := restricted(t, server, "~shop:*", "+evalsha", "+eval", "+time", "+mget", "+set", "+incrby", "+pexpire", "+del")
	take(t, open(t, client, redisstore.WithBudget(patient), redisstore.WithPrefix("shop")), levels("")...)
	_, err := try(open(t, client, redisstore.WithBudget(patient)), levels("")...)
	if core.FaultOf(err) != core.FaultConfig || err == nil {
		t.Errorf("fault %v of %v, want FaultConfig", core.FaultOf(err), err)
	}
}

// A database other than 0 takes one right more.
func TestDatabaseOtherThanZeroNeedsSelect(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	server.Do(t, append([]any{"ACL", "SETUSER", "limiter", "reset", "on", ">secret", "+select"}, rights...)...)
	client := connect(t, server.Addr(), &redis.Options{Username: "limiter", Password: "secret", DB: 3, ReadTimeout: time.Second})
	take(t, open(t, client, redisstore.WithBudget(patient)), levels("")...)
}
