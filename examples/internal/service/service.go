// Package service is what the example programs have in common: flags, store, limiter, metrics. A
// real service writes these few lines in its own main.
package service

import (
	_ "embed"
	"errors"
	"flag"
	"net/http"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/core/policyfile"
	"github.com/tierlimit/tierlimit/core/prommetrics"
	"github.com/tierlimit/tierlimit/core/redisstore"
	"github.com/tierlimit/tierlimit/fallback"
)

//go:embed policy.yaml
var builtIn []byte

// Flags are the command line of every example.
type Flags struct {
	Addr, Redis, Policy string
	Replicas            int
}

// ParseFlags reads the command line.
func ParseFlags() Flags {
	var f Flags
	flag.StringVar(&f.Addr, "addr", "127.0.0.1:8080", "address to listen on")
	flag.StringVar(&f.Redis, "redis", "", "Redis URL, such as redis://127.0.0.1:6379/0, or rediss://USER:PASSWORD@HOST:PORT/0 for TLS; empty: count in this process")
	flag.StringVar(&f.Policy, "policy", "", "policy file; empty: the built-in policy")
	flag.IntVar(&f.Replicas, "replicas", 0, "how many of this service run: each holds its part of the limits while Redis is away; 0: they count each other")
	flag.Parse()
	return f
}

// Service is a limiter with all that belongs to it.
type Service struct {
	Limiter *core.Limiter
	Proxies core.Proxies
	Metrics http.Handler

	fallback *fallback.Store // nil without Redis
	client   *redis.Client   // nil without Redis
}

// Open sets up what the flags ask for. Redis need not be there yet.
func Open(f Flags) (*Service, error) {
	policy, err := policyfile.Parse("built-in policy", builtIn)
	if f.Policy != "" {
		policy, err = policyfile.Load(f.Policy)
	}
	if err != nil {
		return nil, err
	}
	s := &Service{Proxies: policy.Proxies}
	store, err := s.store(f)
	if err != nil {
		return nil, err
	}
	reg := prometheus.NewRegistry()
	metrics, err := prommetrics.New(reg)
	if err != nil {
		return nil, err
	}
	policy.Options = append(policy.Options, core.WithObserver(metrics.Observe))
	if s.Limiter, err = policy.Limiter(store); err != nil {
		return nil, err
	}
	if err := prommetrics.Limiter(reg, s.Limiter); err != nil {
		return nil, err
	}
	if s.fallback != nil {
		if err := prommetrics.Fallback(reg, s.fallback); err != nil {
			return nil, err
		}
	}
	s.Metrics = promhttp.HandlerFor(reg, promhttp.HandlerOpts{})
	return s, nil
}

var errURL = errors.New("-redis: not the URL of a Redis, want redis://HOST:PORT/DB, or over TLS rediss://USER:PASSWORD@HOST:PORT/DB, with %40 for an @ in the password and so on")

// store is Redis first and this process when it fails, or this process alone.
func (s *Service) store(f Flags) (core.Store, error) {
	if f.Redis == "" {
		return memstore.New(), nil
	}
	opts, err := redis.ParseURL(f.Redis)
	if err != nil {
		return nil, errURL // err quotes the URL, and with it the password
	}
	opts.DialerRetries = 1 // a dial that fails says at once why; the store dials again by itself
	if opts.TLSConfig != nil && opts.Protocol == 0 {
		opts.Protocol = 2 // with 3, go-redis waits 50 ms on many a new connection over TLS: the whole budget
	}
	s.client = redis.NewClient(opts)
	shared, err := redisstore.New(s.client)
	if err != nil {
		return nil, err
	}
	if f.Replicas == 0 {
		s.fallback, err = fallback.New(shared)
	} else {
		s.fallback, err = fallback.New(shared, fallback.WithReplicas(f.Replicas))
	}
	return s.fallback, err
}

// Close ends what runs in the background.
func (s *Service) Close() {
	_ = s.Limiter.Close() // nothing is left to be done about an error here
	if s.client != nil {
		_ = s.client.Close()
	}
}
