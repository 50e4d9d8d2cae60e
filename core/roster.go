package core

import (
	"iter"
	"sync/atomic"
)

// roster is a List, compiled. Nothing of it changes but what it has met; the nil one names nobody.
type roster struct {
	ips       prefixSet
	users     map[string]bool
	endpoints map[string]*listedEndpoint // normalized
	paths     map[string]*listedEndpoint // by path, for those that stand for every method
}

type listedEndpoint struct {
	name string
	seen atomic.Bool
}

func (o *roster) addEndpoint(endpoint string) {
	index, key := o.endpoints, endpoint
	if path, ok := anyMethod(endpoint); ok {
		index, key = o.paths, path
	}
	index[key] = &listedEndpoint{name: endpoint}
}

// has reports whether r is on the list. Its endpoint is normalized, its address whole. The endpoint
// is looked at first: it has been met, whatever else of the request is on the list.
func (o *roster) has(r *Request) bool {
	return o != nil && (o.names(r.Endpoint) || o.ips.has(r.IP) || o.users[r.User])
}

func (o *roster) names(endpoint string) bool {
	e := o.endpoints[endpoint]
	if e == nil && len(o.paths) > 0 {
		e = o.paths[pathOf(endpoint)]
	}
	if e == nil {
		return false
	}
	if !e.seen.Load() {
		e.seen.Store(true)
	}
	return true
}

// unseen are the endpoints that no request has met, in no order.
func (o *roster) unseen() iter.Seq[string] {
	return func(yield func(string) bool) {
		if o == nil {
			return
		}
		for _, index := range []map[string]*listedEndpoint{o.endpoints, o.paths} {
			for _, e := range index {
				if !e.seen.Load() && !yield(e.name) {
					return
				}
			}
		}
	}
}

// listed is what the lists say of a request; ok is false where it is on neither.
func (t *table) listed(r *Request) (why Reason, ok bool) {
	denied, allowed := t.deny.has(r), t.allow.has(r)
	if denied {
		return Listed, true
	}
	return None, allowed
}

// nowhere is the plan of a request that the lists decide: no level counts it.
var nowhere = &plan{exempt: true}

// uncounted is the decision on a request that is on a list.
func (l *Limiter) uncounted(t *table, r *Request, why Reason) Decision {
	t.lookup(r.Endpoint) // its route has been met all the same
	return Decision{Allowed: why == None, Reason: why, account: newAccount(l, t, nowhere)}
}
