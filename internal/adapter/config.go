// Package adapter is what the framework adapters have in common: their options, and how a
// framework's request becomes a core.Request. It knows no framework.
package adapter

import (
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Config is what the options of an adapter set, named like them. C is the framework's request.
type Config[C any] struct {
	User     func(C) string
	Keys     []Key[C]
	Proxies  core.Proxies
	Cost     func(C) int64
	Skip     func(C) bool
	MaxDelay time.Duration
	Policy   core.Policy

	errs []error
}

// Key is one WithKey.
type Key[C any] struct {
	Level string
	Of    func(C) (string, bool)
}

// Header is a request's headers or metadata. http.Header is one.
type Header interface {
	Get(name string) string      // the first line, "" for none
	Values(name string) []string // all lines in order
}

// Defaults is the Config of an adapter without options.
func Defaults[C any]() Config[C] { return Config[C]{MaxDelay: time.Second} }

// Require notes what an option was given wrong, for Limiter to report.
func (c *Config[C]) Require(ok bool, format string, args ...any) {
	if !ok {
		c.errs = append(c.errs, fmt.Errorf(format, args...))
	}
}

// Limiter is the limiter to ask: the one given, or one derived from it for WithPolicy. Its error
// names each option that is wrong.
func (c *Config[C]) Limiter(l *core.Limiter) (*core.Limiter, error) {
	if l == nil {
		return nil, errors.New("limiter is nil, want one from core.New")
	}
	if c.Policy != nil {
		derived, err := l.With(c.Policy)
		c.Require(err == nil, "WithPolicy: %w", err)
		if err == nil {
			l = derived
		}
	}
	for _, k := range c.Keys {
		c.Require(l.HasLevel(k.Level), "WithKey: level %q is not in the policy", k.Level)
	}
	return l, errors.Join(c.errs...)
}

// Request is the core.Request of a framework's request; ok is false where it is not limited.
func (c *Config[C]) Request(ctx C, peer string, header Header, endpoint string) (r core.Request, ok bool) {
	if c.Skip != nil && c.Skip(ctx) {
		return r, false
	}
	r = core.Request{Endpoint: endpoint, Header: header, IP: c.Proxies.Client(peer, header.Values)}
	if c.Cost != nil {
		if r.Cost = c.Cost(ctx); r.Cost == 0 {
			return r, false
		}
	}
	if c.User != nil {
		r.User = c.User(ctx)
	}
	for _, k := range c.Keys {
		key, applies := k.Of(ctx)
		r.SetKey(k.Level, key, applies)
	}
	return r, true
}

// Preflight reports a CORS preflight (Fetch section 3.2.2): a browser's question that the client
// cannot avoid, and that its code never sees refused for a reason. A bare OPTIONS is none.
func Preflight(method string, header Header) bool {
	return method == http.MethodOptions && header.Get("Origin") != "" && header.Get("Access-Control-Request-Method") != ""
}
