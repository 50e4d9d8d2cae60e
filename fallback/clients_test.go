package fallback_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/httplimit"
	"github.com/tierlimit/tierlimit/internal/redistest"
)

// site is a service over one Redis or a Cluster, of which clients are up to no good. Its budget is one that a loaded
// machine keeps: no failure is the machine's.
type site struct {
	*fallback.Store
	shared *redisstore.Store
	client redis.UniversalClient
	nodes  []*redistest.Server // those with keys
}

const unhurried = 10 * time.Second

func newSite(t *testing.T, client redis.UniversalClient, nodes []*redistest.Server) *site {
	t.Helper()
	shared := redisstore.Must(client, redisstore.WithBudget(unhurried))
	return &site{wrap(t, shared, fallback.WithReplicas(1)), shared, client, nodes}
}

// Whatever clients send and however they leave: no breaker takes it for a failure, and nobody else's decision
// is another for it.
func TestClientsDisturbNobody(t *testing.T) {
	for _, topology := range []struct {
		name  string
		start func(t *testing.T) (redis.UniversalClient, []*redistest.Server)
	}{
		{"single", func(t *testing.T) (redis.UniversalClient, []*redistest.Server) {
			server := redistest.Start(t)
			return server.Client(t), []*redistest.Server{server}
		}},
		{"cluster", func(t *testing.T) (redis.UniversalClient, []*redistest.Server) {
			cluster := redistest.StartCluster(t)
			return cluster.Client(t), cluster.Nodes()
		}},
	} {
		t.Run(topology.name, func(t *testing.T) {
			client, nodes := topology.start(t)
			for name, test := range map[string]func(*testing.T, *site){
				"odd ids": oddIDs, "callers that leave": callersLeave, "foreign values": foreignValues,
			} {
				t.Run(name, func(t *testing.T) {
					s := newSite(t, client, primaries(t, nodes))
					for _, n := range s.nodes {
						n.Do(t, "FLUSHALL")
					}
					test(t, s)
					h := s.Health()
					if f := h.Failures; h.Degraded || f.Store != 0 || f.Config != 0 || f.Request != 0 {
						t.Errorf("%+v, want neither failures nor an open breaker", h)
					}
					for _, n := range h.Nodes {
						if n.LastError != "" {
							t.Errorf("node %q: %s", n.Partition, n.LastError)
						}
					}
				})
			}
		})
	}
}

func primaries(t *testing.T, nodes []*redistest.Server) (found []*redistest.Server) {
	t.Helper()
	for _, n := range nodes {
		if role, _ := n.Do(t, "ROLE").([]any); len(role) > 0 && role[0] == "master" {
			found = append(found, n)
		}
	}
	return found
}

// keys calls f with each key that contains a text, and the node that it is on.
func (s *site) keys(t *testing.T, text string, f func(key string, on *redistest.Server)) {
	t.Helper()
	for _, n := range s.nodes {
		for _, k := range n.Do(t, "KEYS", "*").([]any) {
			if strings.Contains(k.(string), text) {
				f(k.(string), n)
			}
		}
	}
}

// still is a limit that refills no unit during a test.
var still = core.Per(1_000_000, 100_000*time.Hour)

// bystander asks on and on, one request after the other, until told to stop: each is to be charged, and by Redis.
func bystander(t *testing.T, s core.Store) (stop func()) {
	b, end := []core.Bucket{{Key: "bystander", Limit: still, Cost: 1, Level: "user"}}, make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for want := still.Quota - 1; ; want-- {
			out := make([]core.Outcome, 1)
			if err := s.Take(context.Background(), b, out); err != nil || !out[0].Charged || out[0].Remaining != want || out[0].Source != core.FromShared {
				t.Errorf("a bystander: %+v, %v, want %d left, by Redis", out[0], err, want)
				return
			}
			select {
			case <-end:
				return
			default:
			}
		}
	})
	return func() { close(end); wg.Wait() }
}

// parted are ids that would end a line, a word, a tag or a string where somebody took them as they are.
var parted = []string{
	"}", "{", "{}", "a}{b", "{a}b", "a", "b", "\x00", "a\x00b", "\r\n", "a\r\nb", "a\r\nX-Id: b", "\n", "*1\r\n$8\r\nFLUSHALL\r\n",
	"\xff\xfe", "a\xc3(", "\xed\xa0\x80", "é", "e\u0301", ":", "a:b", "%", "%00", "*", "?", " ", "a ",
}

// oddIDs come as headers of HTTP: as they are, where they can, and in base64.
func oddIDs(t *testing.T, s *site) {
	const long = 64 << 10
	users := int64(1000)
	if raceEnabled { // it makes 64 MiB of headers a matter of seconds
		users = 100
	}
	url, ask := serveIDs(t, s)
	stop := bystander(t, s)
	defer stop()
	ids := append(slices.Clone(parted), strings.Repeat("x", 1<<20), strings.Repeat("x", 1<<20)+"y", strings.Repeat("x", 1<<20)+"z")
	for _, id := range ids {
		first, second := encoded(id), encoded(id)
		if trimmed := strings.TrimSpace(id); trimmed == id && !strings.ContainsAny(id, "\x00\r\n") {
			second = http.Header{"X-Id": {id}} // the same id, and so the same bucket
		}
		if a, b := ask(first), ask(second); a != http.StatusOK || b != http.StatusTooManyRequests {
			t.Errorf("id %.40q of %d bytes: answers %d and %d, want one admitted", id, len(id), a, b)
		}
	}
	for range 2 {
		if a := ask(http.Header{"X-Id": {""}}); a != http.StatusOK {
			t.Errorf("no id: answer %d, want it not limited", a)
		}
	}

	before := heldHeap()
	prefix := strings.Repeat("k", long-8)
	var next, admitted atomic.Int64
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for i := next.Add(1); i <= 2*users; i = next.Add(1) {
				if ask(http.Header{"X-Id": {fmt.Sprintf("%s%08d", prefix, i%users)}}) == http.StatusOK {
					admitted.Add(1)
				}
			}
		})
	}
	wg.Wait()
	url.CloseClientConnections()
	if n := admitted.Load(); n != users {
		t.Errorf("%d of %d users with long ids admitted twice over, want each once", n, users)
	}
	var grown int64
	eventually(t, "memory of long ids is given back", 5*time.Second, func() bool { grown = heldHeap() - before; return grown < 4<<20 })

	names, longest := map[string]bool{}, 0
	s.keys(t, ":id:", func(key string, _ *redistest.Server) {
		_, name, _ := strings.Cut(key, "1t:")
		names[name], longest = true, max(longest, len(key))
		if strings.ContainsFunc(name, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune("{}*?", r) }) {
			t.Errorf("key %q is not plain", key)
		}
	})
	t.Logf("%d ids of up to 1 MiB, and %d of %d bytes: %d keys of at most %d bytes; %d bytes more in the heap", len(ids), users, long, len(names), longest, grown)
	if want := len(ids) + int(users); len(names) != want || longest > 128 {
		t.Errorf("%d keys of at most %d bytes, want %d of 128", len(names), longest, want)
	}
}

func encoded(id string) http.Header {
	return http.Header{"X-Id-64": {base64.StdEncoding.EncodeToString([]byte(id))}}
}

// serveIDs is a service that counts by ids in headers, and how to ask it.
func serveIDs(t *testing.T, s core.Store) (*httptest.Server, func(http.Header) (status int)) {
	t.Helper()
	l := limiter(t, s, core.PerKey("id", core.Provided, core.PerHour(1)))
	id := func(r *http.Request) (string, bool) {
		if v := r.Header.Get("X-Id-64"); v != "" {
			b, err := base64.StdEncoding.DecodeString(v)
			return string(b), err == nil
		}
		return r.Header.Get("X-Id"), true
	}
	done := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	server := httptest.NewUnstartedServer(httplimit.New(l, httplimit.WithKey("id", id))(done))
	server.Config.MaxHeaderBytes = 4 << 20
	server.Start()
	t.Cleanup(server.Close)
	return server, func(h http.Header) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL, http.NoBody)
		if err != nil {
			t.Error(err)
			return 0
		}
		r.Header = h
		answer, err := server.Client().Do(r)
		if err != nil {
			t.Error(err)
			return 0
		}
		_ = answer.Body.Close()
		return answer.StatusCode
	}
}

// callersLeave before their request is sent, while it waits to be, and while Redis has it.
func callersLeave(t *testing.T, s *site) {
	const rounds, callers, ways = 10, 1000, 4
	request := func(i int) []core.Bucket {
		b := make([]core.Bucket, 3)
		for j, key := range []string{fmt.Sprint("ip", i%7), fmt.Sprint("user", i), "endpoint"} {
			b[j] = core.Bucket{Key: "1t:leave::" + key, Limit: still, Cost: 1, Level: key}
		}
		return b
	}
	take(t, s, request(0)...)
	goroutines := runtime.NumGoroutine()
	stop := bystander(t, s)
	for range rounds {
		for _, n := range s.nodes {
			n.Do(t, "CLIENT", "PAUSE", "30000", "WRITE") // scripts wait
		}
		var wg sync.WaitGroup
		for i := range callers {
			wg.Go(func() {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				switch i % ways {
				case 0:
					cancel()
				case 1:
					go cancel()
				default:
					defer time.AfterFunc(time.Duration(i%ways-1)*10*time.Millisecond, cancel).Stop()
				}
				if err := s.Take(ctx, request(i), make([]core.Outcome, 3)); err == nil || core.FaultOf(err) != core.FaultCaller {
					t.Errorf("caller %d: error %v, want it to be the caller's", i, err)
				}
			})
		}
		wg.Wait()
		for _, n := range s.nodes {
			n.Do(t, "CLIENT", "UNPAUSE")
		}
	}
	stop()
	spent := func(b core.Bucket) int64 {
		out := make([]core.Outcome, 1)
		if err := s.Peek(t.Context(), []core.Bucket{b}, out); err != nil {
			t.Fatal(err)
		}
		return still.Quota - out[0].Remaining
	}
	given := func(b core.Bucket, want int64) {
		eventually(t, "charges of "+b.Key+" given back", 10*time.Second, func() bool { return spent(b) == want })
	}
	given(request(0)[2], 1) // of the one that stayed
	for i := range callers {
		given(request(i)[1], int64(max(1-i, 0)))
	}
	h := s.Health()
	t.Logf("%d callers left: %d goroutines before and %d after", h.Failures.Caller, goroutines, runtime.NumGoroutine())
	if h.Failures.Caller != rounds*callers {
		t.Errorf("%d callers were seen to leave, want %d", h.Failures.Caller, rounds*callers)
	}
	eventually(t, "end of their goroutines", 10*time.Second, func() bool { return runtime.NumGoroutine() <= goroutines+10 })
}

// foreignValues stand where buckets were. Limits that take longer than 104 days to fill have a script of their own.
func foreignValues(t *testing.T, s *site) {
	stop := bystander(t, s)
	defer stop()
	for name, limit := range map[string]core.Limit{"quick": core.Per(1000, 2400*time.Hour), "general": core.Per(1000, 24_000*time.Hour)} {
		s.foreign(t, name, limit)
	}
}

func (s *site) foreign(t *testing.T, name string, limit core.Limit) {
	t.Helper()
	const users = 200
	kinds := [][]any{{"LPUSH", "", "a"}, {"SET", "", "not an instant, say"}, {"HSET", "", "a", "b"}, {"SET", "", ""}, {"SET", "", "-1"}, {"SADD", "", "a"}}
	request := func(i int) (b []core.Bucket) {
		for _, key := range []string{fmt.Sprint("own::", i), fmt.Sprint("hit::", i), "all"} {
			b = append(b, core.Bucket{Key: "1t:" + name + ":" + key, Limit: limit, Cost: 1, Level: key})
		}
		return b
	}
	for i := range users {
		take(t, s, request(i)...)
	}
	hit := 0
	s.keys(t, name+":hit::", func(key string, on *redistest.Server) {
		on.Do(t, "DEL", key)
		command := slices.Clone(kinds[hit%len(kinds)])
		command[1] = key
		on.Do(t, command...)
		hit++
	})
	if hit != users {
		t.Fatalf("%d keys are hit, want %d", hit, users)
	}
	var wg sync.WaitGroup
	for i := range users {
		wg.Go(func() {
			for _, o := range take(t, s, request(i)...) {
				if !o.Charged || o.Err != nil || o.Source != core.FromShared {
					t.Errorf("%s: request %d: %+v", name, i, o)
				}
			}
		})
	}
	wg.Wait()
	for i := range users {
		out := make([]core.Outcome, 3)
		if err := s.Peek(t.Context(), request(i), out); err != nil {
			t.Fatal(err)
		}
		for j, want := range []int64{2, 1, 2 * users} {
			if spent := limit.Quota - out[j].Remaining; spent != want {
				t.Errorf("%s: request %d: %d spent of bucket %d, want %d", name, i, spent, j, want)
			}
		}
	}
}
