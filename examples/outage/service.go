package main

import (
	"context"
	"encoding/json"
	"log/slog"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
	"github.com/tierlimit/tierlimit/httplimit"
)

// message is a line that a replica writes: first where it listens, then its changes of state.
type message struct {
	URL   string `json:"url,omitempty"`
	Local bool   `json:"local"`
}

// The headers with which a replica tells of its decisions, admissions and refusals alike.
const (
	decidedBy = "Decided-By"
	decidedIn = "Decided-In"
)

// serve is a replica: a service behind a limiter, as any would have it.
func serve(socket string, limit int64) error {
	rdb := redis.NewClient(&redis.Options{Network: "unix", Addr: socket})
	out := json.NewEncoder(os.Stdout)
	store, err := fallback.New(redisstore.Must(rdb),
		fallback.WithLogger(slog.New(slog.DiscardHandler)), // the timeline tells the same
		fallback.WithOnChange(func(c fallback.Change) { _ = out.Encode(message{Local: c.Degraded}) }),
	)
	if err != nil {
		return err
	}
	limiter, err := core.New(store, core.Policy{core.PerUser(core.PerSecond(limit))}, core.WithName("outage"))
	if err != nil {
		return err
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	if err := out.Encode(message{URL: "http://" + listener.Addr().String()}); err != nil {
		return err
	}
	limited := httplimit.New(limiter, httplimit.WithUser(user), httplimit.WithDeny(deny))
	server := &http.Server{Handler: timed(limited(http.HandlerFunc(item))), ReadHeaderTimeout: 5 * time.Second}
	return server.Serve(listener)
}

// user takes the load's word for who is calling; a real service verifies an identity first.
func user(r *http.Request) string { return r.Header.Get("X-User") }

func item(w http.ResponseWriter, r *http.Request) {
	d, _ := core.FromContext(r.Context())
	tell(w, r, d)
}

func deny(w http.ResponseWriter, r *http.Request, d core.Decision) {
	tell(w, r, d)
	w.WriteHeader(d.Status())
}

type begun struct{}

// timed notes when the limiter was asked.
func timed(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), begun{}, time.Now())))
	})
}

func tell(w http.ResponseWriter, r *http.Request, d core.Decision) {
	at, _ := r.Context().Value(begun{}).(time.Time)
	w.Header().Set(decidedBy, d.Source.String())
	w.Header().Set(decidedIn, time.Since(at).String())
}
