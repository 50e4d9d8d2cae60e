package adaptertest

import (
	"time"

	"github.com/tierlimit/tierlimit/core"
)

// Option is one of the types below, each the adapters' option of that name: User is WithUser. One
// around a nil function stands for the option given nil, and a nil Option for a nil one.
type Option interface{ option() }

type (
	// User tells who is calling.
	User func(Call) string
	// Key gives the key of a level.
	Key struct {
		Level string
		Of    func(Call) (key string, ok bool)
	}
	// Proxies says whose forwarding header to believe.
	Proxies struct{ core.Proxies }
	// Cost tells what a request costs.
	Cost func(Call) int64
	// Skip lets requests through unlimited.
	Skip func(Call) bool
	// MaxDelay bounds how long a request may be held back.
	MaxDelay time.Duration
	// Policy adds levels.
	Policy core.Policy
	// Deny answers refused requests; its error is the framework's, as a Handler's is.
	Deny func(Call, core.Decision) error
	// RefundOn gives the charge back by the status of the answer.
	RefundOn func(status int) bool
)

func (User) option()     {}
func (Key) option()      {}
func (Proxies) option()  {}
func (Cost) option()     {}
func (Skip) option()     {}
func (MaxDelay) option() {}
func (Policy) option()   {}
func (Deny) option()     {}
func (RefundOn) option() {}

// Dialect is how one adapter calls these options: C is what its framework gives their functions, O
// the adapter's Option. But for View and Deny its fields are the adapter's own functions.
type Dialect[C, O any] struct {
	View     func(C) Call // for a function that only reads the request
	User     func(func(C) string) O
	Key      func(level string, of func(C) (string, bool)) O
	Proxies  func(core.Proxies) O
	Cost     func(func(C) int64) O
	Skip     func(func(C) bool) O
	MaxDelay func(time.Duration) O
	Policy   func(core.Policy) O
	Deny     func(Deny) O // nil for nil
	RefundOn func(func(status int) bool) O
}

// Options puts a mount's options into the dialect.
func (d Dialect[C, O]) Options(m Mount) []O {
	out := make([]O, len(m.Options))
	for i, o := range m.Options {
		out[i] = d.translate(o)
	}
	return out
}

func (d Dialect[C, O]) translate(o Option) O {
	switch o := o.(type) {
	case nil:
		var none O
		return none
	case User:
		return d.User(seenBy(d.View, o))
	case Key:
		if o.Of == nil {
			return d.Key(o.Level, nil)
		}
		return d.Key(o.Level, func(c C) (string, bool) { return o.Of(d.View(c)) })
	case Proxies:
		return d.Proxies(o.Proxies)
	case Cost:
		return d.Cost(seenBy(d.View, o))
	case Skip:
		return d.Skip(seenBy(d.View, o))
	case MaxDelay:
		return d.MaxDelay(time.Duration(o))
	case Policy:
		return d.Policy(core.Policy(o))
	case Deny:
		return d.Deny(o)
	case RefundOn:
		return d.RefundOn(o)
	}
	panic("adaptertest: an option that Dialect does not know")
}

// seenBy keeps nil nil: what an adapter does with a nil function is a case of its own.
func seenBy[C, R any](view func(C) Call, f func(Call) R) func(C) R {
	if f == nil {
		return nil
	}
	return func(c C) R { return f(view(c)) }
}
