package core

import "net/netip"

// Request is what a decision is made from. Adapters fill it from their framework's request;
// code that limits something else fills it by hand. The zero Request is valid: no level
// that needs an address, a user or an endpoint applies to it.
type Request struct {
	IP       netip.Addr // client address, already resolved (see Proxies); zero: unknown
	User     string     // verified identity; "": anonymous, the user level does not apply
	Endpoint string     // route template with its method, "POST /login"; gRPC full method; "": no route matched
	Cost     int64      // units; 0 means 1; a negative cost is refused as Invalid

	// Header is nil or the request's headers or metadata, for custom levels. http.Header fits.
	Header interface{ Get(string) string }

	keys []levelKey
}

type levelKey struct {
	level, key string
	ok         bool
}

// SetKey gives the key of a level for this request in place of the level's own Key
// function. It is how an adapter's WithKey reaches the policy. ok false: the level does
// not apply.
func (r *Request) SetKey(level, key string, ok bool) {
	r.keys = append(r.keys, levelKey{level, key, ok})
}

func (r *Request) units() int64 {
	if r.Cost == 0 {
		return 1
	}
	return r.Cost
}

// appendKey asks the request first and the level second. An empty key never counts: it would
// be one bucket for everybody whose key is missing.
func (r *Request) appendKey(b []byte, l *planLevel, lent *guest) (_ []byte, ok bool) {
	var key string
	if given := r.given(l.Name); given != nil {
		key, ok = given.key, given.ok
	} else {
		switch l.reads {
		case readsAddress:
			if !r.IP.IsValid() {
				return b, false
			}
			return r.IP.AppendTo(b), true
		case readsUser:
			key, ok = r.User, true
		case readsEndpoint:
			key, ok = r.Endpoint, true
		case readsAll:
			key, ok = all, true
		case readsNothing:
		default:
			key, ok = l.Key(lent.of(r))
			lent.leave(r)
		}
	}
	return append(b, key...), ok && key != ""
}

// given is the key that SetKey gave for a level, nil for none.
func (r *Request) given(level string) *levelKey {
	for i := range r.keys {
		if k := &r.keys[i]; k.level == level {
			return k
		}
	}
	return nil
}

// guest is the Request that a service's own functions see: a copy, since it has to be on the heap
// for them, which a request that meets none is spared. What one of them changes the next one sees.
type guest struct{ r *Request }

func (g *guest) of(r *Request) *Request {
	if g.r == nil {
		g.r = new(Request)
	}
	*g.r = *r
	return g.r
}

func (g *guest) leave(r *Request) { *r = *g.r }
