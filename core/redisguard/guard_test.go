package redisguard

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

func TestMistakesAreErrorsThatNameTheField(t *testing.T) {
	t.Parallel()
	client, ok := connect(t, "127.0.0.1:1", redis.Options{}), WithThreshold(10)
	ring := redis.NewRing(&redis.RingOptions{Addrs: map[string]string{"a": "127.0.0.1:1"}})
	t.Cleanup(func() { _ = ring.Close() })
	for _, c := range []struct {
		client Client
		opts   []Option
		says   string
	}{
		{nil, []Option{ok}, "client is nil"},
		{(*redis.Client)(nil), []Option{ok}, "client is nil"},
		{(*redis.ClusterClient)(nil), []Option{ok}, "client is nil"},
		{ring, []Option{ok}, "client is a *redis.Ring"},
		{client.Pipeline(), []Option{ok}, "client is a *redis.Pipeline"},
		{client, []Option{ok, nil}, "option is nil"},
		{client, nil, "threshold is 0"},
		{client, []Option{ok, WithError(0, 0.1)}, "epsilon is 0"},
		{client, []Option{ok, WithError(0.1, 0)}, "delta is 0"},
		{client, []Option{ok, WithWindow(0)}, "window is 0s"},
		{client, []Option{ok, WithRefuseAbove(9)}, "refuse-above is 9"},
		{client, []Option{ok, WithName("a:b")}, `name is "a:b"`},
		{client, []Option{ok, WithPrefix("")}, `prefix is ""`},
		{client, []Option{ok, WithInterval(time.Millisecond)}, "interval is 1ms"},
		{client, []Option{ok, WithClockSkew(-1)}, "clock skew is -1ns"},
		{client, []Option{ok, WithSecret(make([]byte, 65))}, "secret has 65 bytes"},
		{client, []Option{ok, WithLogger(nil)}, "logger is nil"},
	} {
		if g, err := New(c.client, c.opts...); err == nil || g != nil || !strings.HasPrefix(err.Error(), "redisguard: "+c.says) {
			t.Errorf("%v, want %s", err, c.says)
		}
	}
	if b := (*Guard)(nil).Bounds(); b != (core.GuardBounds{}) {
		t.Errorf("a nil guard has the bounds %+v", b)
	}
}

// Replicas count together, by themselves, and forget.
func TestReplicasCountTogether(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	opts := []Option{WithThreshold(10), WithWindow(time.Second), WithClockSkew(0), WithInterval(10 * time.Millisecond)}
	a, b := open(t, server.Client(t), opts...), open(t, server.Client(t), opts...)
	other := open(t, server.Client(t), append(opts, WithName("other"))...)
	secret := open(t, server.Client(t), append(opts, WithSecret([]byte("s")))...)
	connected := func() bool {
		return a.Stats().Connected && b.Stats().Connected && other.Stats().Connected && secret.Stats().Connected
	}
	eventually(t, 5*time.Second, "connected", connected)
	eventually(t, 5*time.Second, "counted together", func() bool {
		a.Admit("key", 3)
		time.Sleep(30 * time.Millisecond)
		b.Admit("key", 1)
		time.Sleep(30 * time.Millisecond)
		v, _ := b.Peek("key", 1)
		return v == core.CheckKey && connected() && a.Stats().Units >= 9
	})
	for name, g := range map[string]*Guard{"another name": other, "another secret": secret} {
		eventually(t, 5*time.Second, name, func() bool { v, _ := g.Peek("key", 1); return v == core.PassKey })
	}
	eventually(t, 10*time.Second, "forgotten", func() bool { v, _ := b.Peek("key", 1); return v == core.PassKey })
	if s := b.Stats(); s.LastError != nil || s.Passed+s.Checked == 0 || s.Exchanged > s.Exchanged.Truncate(time.Hour)+5*time.Second {
		t.Errorf("%+v", s)
	}
	_ = a.Close()
	_, _, _ = b.Close(), other.Close(), secret.Close()
	eventually(t, 10*time.Second, "slices expire", func() bool { return server.Do(t, "DBSIZE").(int64) == 0 })
	if v, _ := a.Peek("fresh", 1); v != core.CheckKey {
		t.Errorf("closed: verdict %d", v)
	}
	if err := a.Close(); err != nil {
		t.Errorf("closed twice: %v", err)
	}
}

// A refusal is for who has asked all replicas together for more than the threshold.
func TestRefusals(t *testing.T) {
	t.Parallel()
	server, c := redistest.Start(t), &clock{time.Unix(1767225600, 0)}
	opts := []Option{WithThreshold(10), WithRefuseAbove(100)}
	a, b := still(t, server.Client(t), c.now, opts...), still(t, server.Client(t), c.now, opts...)
	a.Admit("key", 98)
	meet(t, a, b)
	b.Admit("key", 1)
	meet(t, b)
	if v, _ := b.Peek("key", 1); v != core.CheckKey { // 100, and the sketch may err by 1
		t.Errorf("verdict %d at the threshold", v)
	}
	b.Admit("key", 1)
	v, wait := b.Admit("key", 1)
	if v != core.RefuseKey || wait <= 0 || wait > b.Bounds().Memory {
		t.Fatalf("verdict %d, wait %v", v, wait)
	}
	c.at = c.at.Add(wait)
	meet(t, a, b)
	if v, _ := b.Admit("key", 1); v == core.RefuseKey {
		t.Errorf("refused after the %v that it was told", wait)
	}
	// Without Redis nobody is refused on what may have changed.
	b.Admit("key", 200)
	c.at = c.at.Add(5 * time.Second)
	if v, _ := b.Admit("key", 1); v != core.CheckKey {
		t.Errorf("verdict %d five seconds after the last exchange", v)
	}
}

func TestAdmitAllocatesNothing(t *testing.T) {
	server := redistest.Start(t)
	g := still(t, server.Client(t), time.Now, WithThreshold(10), WithRefuseAbove(100), WithSecret([]byte("0123456789abcdef")))
	meet(t, g)
	if n := testing.AllocsPerRun(300, func() { g.Admit("1t:shop::ip:60s:192.0.2.1", 1); g.Peek("1t:shop::ip:60s:192.0.2.2", 1) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
	if s := g.Stats(); s.Refused == 0 || s.Passed == 0 || s.Checked == 0 {
		t.Errorf("%+v", s)
	}
}

// rights are all that the guard needs, as the docs list them.
var rights = []any{"~tierlimit:guard:*", "+set", "+bitfield", "+pexpire"}

func TestTheDocumentedRightsSufficeAndAreNeeded(t *testing.T) {
	t.Parallel()
	server, c := redistest.Start(t), &clock{time.Unix(1767225600, 0)}
	forgetting := func(name string, rights ...any) error {
		server.Do(t, append([]any{"ACL", "SETUSER", name, "reset", "on", ">secret"}, rights...)...)
		g := still(t, connect(t, server.Addr(), redis.Options{Username: name, Password: "secret"}), c.now, WithThreshold(10))
		for range 2 {
			g.Admit("key", 1)
			if err := g.meet(t.Context()); err != nil {
				return err
			}
			server.Do(t, "FLUSHALL")
		}
		return nil
	}
	if err := forgetting("all", rights...); err != nil {
		t.Error(err)
	}
	for _, entry := range server.Do(t, "ACL", "LOG").([]any) {
		t.Errorf("the server refused: %v", entry)
	}
	for i, right := range rights {
		if err := forgetting(fmt.Sprint("without", i), slices.Delete(slices.Clone(rights), i, i+1)...); err == nil {
			t.Errorf("%v is not needed", right)
		}
	}
}

func TestCluster(t *testing.T) {
	cluster := redistest.StartCluster(t)
	opts := []Option{WithThreshold(10), WithInterval(10 * time.Millisecond)}
	var guards []*Guard
	for range 2 {
		client := redis.NewClusterClient(&redis.ClusterOptions{Addrs: cluster.Addrs()})
		t.Cleanup(func() { _ = client.Close() })
		guards = append(guards, open(t, client, opts...))
	}
	eventually(t, 10*time.Second, "counted together", func() bool {
		guards[0].Admit("key", 3)
		guards[1].Admit("key", 1)
		time.Sleep(50 * time.Millisecond)
		v, _ := guards[1].Peek("key", 1)
		s := guards[1].Stats()
		return v == core.CheckKey && s.Connected && s.Units >= 4*guards[1].current.Load().cur.counted()
	})
}
