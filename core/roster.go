package core

// roster is a List, compiled. It never changes; the nil one names nobody.
type roster struct {
	ips       prefixSet
	users     map[string]bool
	endpoints map[string]bool // normalized
	paths     map[string]bool // of endpoints that stand for every method
}

func (o *roster) addEndpoint(endpoint string) {
	if path, ok := anyMethod(endpoint); ok {
		o.paths[path] = true
	} else {
		o.endpoints[endpoint] = true
	}
}

// has reports whether r is on the list. Its endpoint is normalized, its address whole.
func (o *roster) has(r *Request) bool {
	return o != nil && (o.ips.has(r.IP) || o.users[r.User] || o.endpoints[r.Endpoint] ||
		len(o.paths) > 0 && o.paths[pathOf(r.Endpoint)])
}

// listed is what the lists say of a request; ok is false where it is on neither.
func (t *table) listed(r *Request) (why Reason, ok bool) {
	switch {
	case t.deny.has(r):
		return Listed, true
	case t.allow.has(r):
		return None, true
	}
	return None, false
}

// nowhere is the plan of a request that the lists decide: no level counts it.
var nowhere = &plan{exempt: true}

// uncounted is the decision on a request that is on a list.
func (l *Limiter) uncounted(t *table, r *Request, why Reason) Decision {
	t.lookup(r.Endpoint) // its route has been met all the same
	return Decision{Allowed: why == None, Reason: why, account: newAccount(l, t, nowhere)}
}
