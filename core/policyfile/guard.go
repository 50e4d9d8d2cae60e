package policyfile

import (
	"strings"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/floodguard"
)

const wantWindow = "a time such as 30s or 5min"

// guard makes the guard of a level, in process. What floodguard and core allow is written down there
// alone.
func (r *reader) guard(n node, limits []core.Limit) core.Guard {
	fields, ok := r.fields(n, "a guard such as {threshold: 30, window: 1min}", "threshold", "window", "epsilon", "delta", "refuse_above")
	if !ok {
		return nil
	}
	before := len(r.errs)
	opts := []floodguard.Option{floodguard.WithThreshold(r.units(n, fields["threshold"]))}
	if window := fields["window"]; window.given() {
		opts = append(opts, floodguard.WithWindow(r.span(window, "window")))
	}
	epsilon, delta := floodguard.DefaultEpsilon, floodguard.DefaultDelta
	if n := fields["epsilon"]; n.given() {
		const want = "1e-6 to 0.1"
		if epsilon, ok = r.float(n, want); ok && epsilon < 1e-6 {
			r.fail(n.place(), "got %v, want %s: each guard of a smaller one takes gigabytes", n, want)
		}
	}
	if n := fields["delta"]; n.given() {
		delta, _ = r.float(n, "1e-6 to 0.5")
	}
	opts = append(opts, floodguard.WithError(epsilon, delta))
	if above := fields["refuse_above"]; above.given() {
		opts = append(opts, floodguard.WithRefuseAbove(r.units(n, above)))
	}
	if len(r.errs) > before {
		return nil
	}
	guard, err := floodguard.New(opts...)
	if err != nil {
		r.fail(n.place(), "%s", strings.TrimPrefix(err.Error(), "floodguard: "))
		return nil
	}
	level := core.Global(limits...)
	level.Guard = guard
	if _, err := core.New(anyStore{}, core.Policy{level}); err != nil {
		// Anything else is said of the limits themselves.
		if _, text, ok := strings.Cut(err.Error(), ": guard: "); ok {
			r.fail(n.place(), "%s", text)
		}
	}
	return guard
}

func (r *reader) units(guard, n node) int64 {
	const want = "a number of units, 1 to 4294967295"
	if !n.given() {
		r.fail(guard.field("threshold", guard.Node).place(), "missing, want %s", want)
		return 0
	}
	units, _ := r.integer(n, 33, want)
	return units
}
