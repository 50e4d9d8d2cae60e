// Command outage shows what a limiter does while Redis is away. It starts a Redis of its own, three
// replicas of a small service and a steady load, breaks Redis and mends it, and prints a line a second.
//
//	go run ./examples/outage
//	go run ./examples/outage -fault kill -for 10s -limit 100 -rate 500
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// replicas is how many processes of the service run. Nobody tells them: they count each other through
// Redis, which takes them counting at most.
const (
	replicas = 3
	counting = 6 * time.Second
)

type options struct {
	phase time.Duration
	rate  float64
	limit int64
	fault string
	serve string
}

func main() {
	log.SetFlags(0)
	log.SetPrefix("outage: ")
	redis.SetLogger(silence{})
	var o options
	flag.DurationVar(&o.phase, "for", 4*time.Second, "length of each phase: healthy, broken, healthy again; at least 1s")
	flag.Float64Var(&o.rate, "rate", 200, "requests a second of the busy client, above 0 to 2000")
	flag.Int64Var(&o.limit, "limit", 50, "requests a second that each client may make, 3 to 1000; as many at once")
	flag.StringVar(&o.fault, "fault", "both", "kill (SIGKILL), stop (SIGSTOP) or both, one after the other")
	flag.StringVar(&o.serve, "serve", "", "be a replica, with the Redis at this socket; what the program starts itself with")
	flag.Parse()
	err := o.validate()
	switch {
	case err != nil:
	case o.serve != "":
		err = serve(o.serve, o.limit)
	default:
		err = run(o)
	}
	if err != nil {
		log.Fatal(err)
	}
}

func (o options) validate() error {
	_, known := faults[o.fault]
	switch {
	case flag.NArg() > 0:
		return fmt.Errorf("unexpected argument %q, want flags only", flag.Arg(0))
	case o.phase < time.Second:
		return fmt.Errorf("-for is %v, want 1s or more", o.phase)
	case !(o.rate > 0 && o.rate <= 2000):
		return fmt.Errorf("-rate is %v, want above 0 to 2000", o.rate)
	case o.limit < replicas || o.limit > 1000: // below, each replica's share would be more than its part
		return fmt.Errorf("-limit is %d, want %d to 1000", o.limit, replicas)
	case !known:
		return fmt.Errorf("-fault is %q, want kill, stop or both", o.fault)
	}
	return nil
}

func run(o options) error {
	// SIGPIPE too: what was started has to end when the reader of the output has left.
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGPIPE)
	defer stop()
	dir, err := os.MkdirTemp("", "outage-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	server := &redisServer{dir: dir}
	defer func() { _ = server.kill() }() // fails only when it is gone already
	if err := server.start(ctx); err != nil {
		return err
	}
	t := newTimeline(os.Stdout, o)
	var started []*replica
	defer func() {
		for _, r := range started {
			r.kill()
		}
	}()
	var urls []string
	pids := []any{server.pid()}
	for range replicas {
		r, err := startReplica(server.socket(), o.limit, t)
		if err != nil {
			return err
		}
		started, urls, pids = append(started, r), append(urls, r.url), append(pids, r.pid())
	}
	fmt.Printf("Started redis-server (pid %d) and replicas of the service (pids %d, %d, %d).\n", pids...)
	fmt.Printf("Each client may make %d requests a second, and as many at once. The busy one makes %v, %d calm ones %v each.\n",
		o.limit, o.rate, calmClients, o.calm())

	fmt.Printf("They count each other through Redis first.\n\n")
	if err := pause(ctx, counting); err != nil {
		return err
	}

	working, rest := context.WithCancel(ctx)
	stopped := make(chan struct{})
	t.begin()
	go func() { defer close(stopped); t.print(working) }()
	l := startLoad(working, urls, o, t.add)
	err = acts(ctx, server, o, t)
	rest()
	l.wait()
	<-stopped
	if failed := t.summary(); err == nil {
		err = failed
	}
	return err
}

// silence is go-redis' logger here: it would write each failed dial between the lines.
type silence struct{}

func (silence) Printf(context.Context, string, ...any) {}
