// Command nethttp is a small service on net/http alone behind a limiter.
//
//	go run ./examples/nethttp
//	go run ./examples/nethttp -redis redis://127.0.0.1:6379/0
package main

import (
	"io"
	"net/http"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/examples/internal/service"
	"github.com/tierlimit/tierlimit/httplimit"
)

func main() { service.Main("nethttp", server) }

func server(s *service.Service) service.Server {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /items/{id}", item)
	mux.HandleFunc("POST /login", func(w http.ResponseWriter, _ *http.Request) { answer(w, []byte(service.Login)) })
	mux.HandleFunc("GET /stream", stream)
	mux.HandleFunc("GET /healthz", func(w http.ResponseWriter, _ *http.Request) { answer(w, s.Health()) })
	mux.Handle("GET /metrics", s.Metrics)
	limit := httplimit.New(s.Limiter, httplimit.WithMux(mux), httplimit.WithProxies(s.Proxies), httplimit.WithUser(user))
	return service.HTTP(limit(mux))
}

// user takes the caller's word for who they are, so that you can try it with curl. A real
// service verifies an identity first, and gives the limiter what it has verified.
func user(r *http.Request) string { return r.Header.Get("X-User") }

func item(w http.ResponseWriter, r *http.Request) {
	d, _ := core.FromContext(r.Context())
	answer(w, service.Item(r.PathValue("id"), d))
}

func answer(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Type", service.JSON)
	_, _ = w.Write(body) // a client that has left needs no answer
}

func stream(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", service.EventStream)
	for _, event := range service.Events {
		if _, err := io.WriteString(w, event); err != nil {
			return
		}
		_ = http.NewResponseController(w).Flush() // the next write tells of an error
		time.Sleep(service.EventGap)
	}
}
