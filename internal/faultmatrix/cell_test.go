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
	l := &load{handler: service(t, s), users: []string{"user"}}
	at := site{t: t, group: g}
	at.until("first shared decision", func() bool { return l.send(0).source == core.FromShared.String() })
	if g.topology == cluster {
		l.users = oneOnEach(t, shared)
	}
	for i := range l.users {
		at.until("shared decision of "+l.users[i], func() bool { return l.send(i).source == core.FromShared.String() })
	}
	at = g.failing(t, shared, keyOf(t, l.users[0]))
	time.Sleep(100 * time.Millisecond)

	taken := func() {}
	if c.failsOver() {
		taken = at.promotion()
	}
	l.seen = nil
	watch := watchStalls()
	l.start()
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
	watch.end()
	return c.judge(l.seen, watch, begun, answers, back)
}

// oneOnEach finds a user for each primary.
func oneOnEach(t *testing.T, s *redisstore.Store) (users []string) {
	found := map[string]bool{}
	for i := 0; len(users) < 3; i++ {
		user := fmt.Sprint("user", i)
		if at := s.Partition(keyOf(t, user)); !found[at] {
			found[at] = true
			users = append(users, user)
		}
	}
	return users
}

// spy learns the key of a user's bucket.
type spy struct {
	*memstore.Store
	key string
}

func (s *spy) Take(ctx context.Context, b []core.Bucket, out []core.Outcome) error {
	s.key = b[0].Key
	return s.Store.Take(ctx, b, out)
}

func keyOf(t *testing.T, user string) string {
	s := &spy{Store: memstore.New()}
	defer s.Close()
	(&load{handler: service(t, s), users: []string{user}}).send(0)
	return s.key
}
