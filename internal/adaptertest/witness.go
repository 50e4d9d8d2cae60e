package adaptertest

import (
	"slices"
	"strings"
	"sync"

	"github.com/tierlimit/tierlimit/core"
)

// witness sees each core.Request that an adapter makes of its framework's: its level counts
// nothing, and so changes nothing.
type witness struct {
	mu   sync.Mutex
	seen []core.Request
}

func (w *witness) level() core.Level {
	return core.PerKey("witness", func(r *core.Request) (string, bool) {
		w.mu.Lock()
		defer w.mu.Unlock()
		// The request is valid during the call only, and its strings may be.
		w.seen = append(w.seen, core.Request{IP: r.IP, User: strings.Clone(r.User), Endpoint: strings.Clone(r.Endpoint), Cost: r.Cost})
		return "", false
	}, core.Unlimited)
}

// requests are those seen since the last call.
func (w *witness) requests() []core.Request {
	w.mu.Lock()
	defer w.mu.Unlock()
	seen := w.seen
	w.seen = nil
	return seen
}

// endpoints are the different ones seen since the last call, sorted.
func (w *witness) endpoints() []string {
	var out []string
	for _, r := range w.requests() {
		out = append(out, r.Endpoint)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// addresses are those seen since the last call, in order; "" for none.
func (w *witness) addresses() []string {
	var out []string
	for _, r := range w.requests() {
		ip := ""
		if r.IP.IsValid() {
			ip = r.IP.String()
		}
		out = append(out, ip)
	}
	return out
}
