package core

import (
	"errors"
	"fmt"
)

// FailureMode is what a level does while the shared store cannot answer.
type FailureMode uint8

const (
	// Local decides from this replica's own buckets. It needs a store that has some:
	// wrap the shared one in fallback.New, or use memstore.
	Local FailureMode = iota
	// Open admits.
	Open
	// Closed refuses, with 503 in HTTP and UNAVAILABLE in gRPC: never with 429.
	Closed
)

var failureModeNames = [...]string{"local", "open", "closed"}

// String returns the name used in policy files.
func (m FailureMode) String() string {
	if int(m) < len(failureModeNames) {
		return failureModeNames[m]
	}
	return "unknown failure mode"
}

// Level is one dimension of a policy: who or what is counted, and how much of it is
// admitted. Write it with field names. A request pays at every level that applies to it.
type Level struct {
	// Name is a metric label and a header policy name: [a-z][a-z0-9_-]*, at most 64 bytes.
	Name string
	// Key says which bucket a request pays from. ok false, or an empty key: the level does
	// not apply to it. The *Request is valid only during the call. Key runs on every
	// request, concurrently.
	Key func(*Request) (key string, ok bool)
	// Limits must all admit: {10/s, 5000/day}.
	Limits []Limit
	// LimitsFor, if set, chooses the limits for a request, as plan tiers do. A nil or
	// invalid result falls back to Limits; invalid ones are counted in Stats. Each different
	// limit counts in a bucket of its own, so moving between tiers refills nothing.
	LimitsFor func(*Request) []Limit
	// Shadow judges and reports but never denies.
	Shadow bool
	// OnFailure is what this level does without the shared store; the zero value is Local.
	OnFailure FailureMode
	// Lease lets each replica take units of a bucket from the shared store in blocks and spend
	// them in process, so that most requests need not ask about that bucket; the zero value asks
	// for each. A block is about what the replica spends in 100 ms, more where that would have
	// refilled before it is spent, and at most 1/16 of the capacity: so much of a bucket may be out
	// of the others' reach for each replica, for a second where it is not spent. Nothing is
	// admitted that was not charged before. Use it for few, busy buckets with a high limit:
	// global, endpoint. It gains nothing where each caller has a bucket of its own, and does
	// nothing for capacities below 32, in shadow, and in stores that are in process anyway.
	Lease bool
	// Strict has each replica hold the whole limit in process too, beside the shared store: where that
	// loses what it has counted, as a failover may, no replica admits more than its own count of
	// the limit. For security limits: login, codes by SMS. It costs the memory of the buckets in process.
	Strict bool
	// Ban blocks callers that are denied here again and again; the zero value blocks nobody. A
	// denial at such a level costs a second call to the store, which counts it.
	Ban Ban
	// Guard, if set, spares this level's check for keys that it knows to have asked for little: see
	// core/floodguard. A key may spend up to the guard's threshold in each of its windows beyond
	// the limits. Where the guard passes a request, the level is not among its results and headers,
	// and neither Settle nor Refund concerns it. What LimitsFor brings that is too small for the
	// threshold is checked without the guard. In shadow a guard refuses nobody.
	Guard Guard

	scope scope
}

// scope tells the levels keyed by who is calling from those that callers share, and whose
// keys may be a secret or personal from those that are the service's own words.
type scope uint8

const (
	scopeCaller scope = iota
	scopeAddress
	scopeShared
)

// PerIP counts by client address, IPv6 by its prefix (WithIPv6Prefix). A request without an
// address is not counted here, but in Stats.
func PerIP(limits ...Limit) Level {
	return Level{Name: "ip", Limits: limits, scope: scopeAddress, Key: addressOf}
}

// PerUser counts by Request.User. Feed it verified identities only: an identity that a
// client can choose is a new bucket with each request.
func PerUser(limits ...Limit) Level {
	return Level{Name: "user", Limits: limits, Key: userOf}
}

// PerEndpoint counts by route template, over all callers.
func PerEndpoint(limits ...Limit) Level {
	return Level{Name: "endpoint", Limits: limits, scope: scopeShared, Key: endpointOf}
}

// Global counts every request in one bucket.
func Global(limits ...Limit) Level {
	return Level{Name: "global", Limits: limits, scope: scopeShared, Key: everybody}
}

// PerKey counts by whatever key returns: tenant, API key, region.
func PerKey(name string, key func(*Request) (string, bool), limits ...Limit) Level {
	return Level{Name: name, Key: key, Limits: limits}
}

// Provided is the Key of a level that only an adapter's WithKey, or Request.SetKey, keys.
func Provided(*Request) (string, bool) { return "", false }

// ByHeader keys a level by a request header or metadata entry. Clients choose their
// headers: rely on it only for headers that something in front of the service sets.
func ByHeader(name string) func(*Request) (string, bool) {
	return func(r *Request) (string, bool) {
		if r.Header == nil {
			return "", false
		}
		v := r.Header.Get(name)
		return v, v != ""
	}
}

func (l *Level) validate() error {
	if !validName(l.Name) {
		return fmt.Errorf("name is %q, want [a-z][a-z0-9_-]*, at most 64 bytes", l.Name)
	}
	if l.Key == nil {
		return errors.New("key is nil, want a function; core.Provided if an adapter's WithKey supplies it")
	}
	if l.OnFailure > Closed {
		return fmt.Errorf("OnFailure is %d, want Local, Open or Closed", int(l.OnFailure))
	}
	if err := l.Ban.validate(); err != nil {
		return err
	}
	if l.Shadow && l.Strict {
		return errors.New("strict is set on a shadow level, which denies nobody: want one of the two")
	}
	if l.Guard != nil && l.Ban != (Ban{}) {
		return errors.New("ban is set beside a guard, which lets requests pass without asking for bans: want them on two levels")
	}
	if l.Shadow && l.Ban != (Ban{}) {
		return errors.New("ban is set on a shadow level, which denies nobody: want one of the two")
	}
	if len(l.Limits) == 0 {
		return errors.New("limits is empty, want at least one; core.Unlimited to admit everything")
	}
	for i, limit := range l.Limits {
		if err := limit.Validate(); err != nil {
			return fmt.Errorf("limits[%d]: %w", i, err)
		}
	}
	if l.Guard != nil {
		if err := l.Guard.Bounds().fits(l.Limits); err != nil {
			return fmt.Errorf("guard: %w", err)
		}
	}
	return nil
}

// validName is the common form of level and limiter names: they become parts of keys, metric
// labels and header items.
func validName(name string) bool {
	if name == "" || len(name) > 64 || name[0] < 'a' || name[0] > 'z' {
		return false
	}
	for i := 1; i < len(name); i++ {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '-' {
			return false
		}
	}
	return true
}
