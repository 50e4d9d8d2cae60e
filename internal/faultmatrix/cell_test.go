package faultmatrix_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
)

const budget = 50 * time.Millisecond

// cell is one fault of one topology under one set-up of the client.
type cell struct {
	fault fault
	at    topology
	setup setup
}

func (c cell) String() string { return fmt.Sprintf("%s/%s/%s", c.at, c.fault.name, c.setup.name) }

func (c cell) failsOver() bool { return c.fault.failsOver && c.at != single }

func (c cell) run(t *testing.T, g *group) result {
	if c.failsOver() {
		g = start(t, c.at) // it is not the same again afterwards
	}
	shared := redisstore.Must(g.client(t, c.setup), redisstore.WithBudget(budget))
	s, err := fallback.New(shared, fallback.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	l := &load{handler: service(t, s, plenty), users: []string{"user"}}
	at := site{t: t, group: g}
	at.until("first shared decision", func() bool { return l.send(0).source == core.FromShared.String() })
	if g.topology == cluster {
		l.users = oneOnEach(t, shared)
	}
	for i := range l.users {
		at.until("shared decision of "+l.users[i], func() bool { return l.send(i).source == core.FromShared.String() })
	}
	at = g.failing(t, shared, bucketOf(t, l.users[0], plenty).Key)
	spent := c.spend(at, shared)
	time.Sleep(100 * time.Millisecond)

	taken := func() {}
	if c.failsOver() {
		taken = at.promotion()
	}
	l.seen, spent.seen = nil, nil
	watch := watchStalls()
	l.start()
	spent.start()
	end := c.fault.begin(at)
	begun := time.Now()
	if c.failsOver() {
		taken()
	} else {
		time.Sleep(outage)
		end()
	}
	answers := time.Now()
	var back time.Time
	at.until("decisions are shared again", func() (ok bool) { back, ok = l.shared(answers); return ok })
	time.Sleep(100 * time.Millisecond)
	l.end()
	spent.end()
	watch.end()
	r := c.judge(l.seen, watch, begun, answers, back)
	if n := spent.regained(); n > 0 && (!c.fault.forgets || c.failsOver()) {
		r.broken = append(r.broken, fmt.Sprintf("%d requests were admitted of a limit that is spent", n))
	}
	return r
}

var daily = core.PerDay(1)

// spend makes the load of a user who has nothing left where the fault will be: through a store of its own, so that
// the others wait as often as without it. It remembers no denial and always asks.
func (c cell) spend(at site, beside *redisstore.Store) *load {
	shared := redisstore.Must(at.group.client(at.t, c.setup), redisstore.WithBudget(budget), redisstore.WithPrefix("spent"), redisstore.WithDenyCache(0))
	s, err := fallback.New(shared, fallback.WithLogger(slog.New(slog.DiscardHandler)))
	if err != nil {
		at.t.Fatal(err)
	}
	at.t.Cleanup(func() { _ = s.Close() })
	l := &load{handler: service(at.t, s, daily)}
	for i := 0; l.users == nil; i++ {
		if user := fmt.Sprint("spent", i); at.group.topology != cluster || beside.Partition(bucketOf(at.t, user, daily).Key) == at.server.Addr() {
			l.users = []string{user}
		}
	}
	out, b := make([]core.Outcome, 1), bucketOf(at.t, l.users[0], daily)
	at.until("nothing left", func() bool {
		l.send(0)
		return shared.Peek(at.t.Context(), []core.Bucket{b}, out) == nil && !out[0].Admits
	})
	return l
}

// oneOnEach finds a user for each primary.
func oneOnEach(t *testing.T, s *redisstore.Store) (users []string) {
	found := map[string]bool{}
	for i := 0; len(users) < 3; i++ {
		user := fmt.Sprint("user", i)
		if at := s.Partition(bucketOf(t, user, plenty).Key); !found[at] {
			found[at] = true
			users = append(users, user)
		}
	}
	return users
}

// spy learns a user's bucket.
type spy struct {
	*memstore.Store
	bucket core.Bucket
}

func (s *spy) Take(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	s.bucket = b[0]
	return s.Store.Take(ctx, b, out)
}

func bucketOf(t *testing.T, user string, l core.Limit) core.Bucket {
	s := &spy{Store: memstore.New()}
	defer s.Close()
	(&load{handler: service(t, s, l), users: []string{user}}).send(0)
	return s.bucket
}
