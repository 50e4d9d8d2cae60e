package policyfile

import (
	"strings"

	"github.com/tierlimit/tierlimit/core"
)

// anyStore can do everything, as far as core.New asks.
type anyStore struct{ core.Store }

func (anyStore) Traits() core.Traits { return core.Traits{Local: true, Bans: true} }

// trial builds a limiter with one option, so that what core allows is written down in core
// alone.
func trial(opt core.Option) (*core.Limiter, error) {
	return core.New(anyStore{}, core.Policy{core.Global(core.Unlimited)}, opt)
}

// judge reports what core has against an option read from n.
func (r *reader) judge(n node, opt core.Option) bool {
	_, err := trial(opt)
	if err != nil {
		r.fail(n.place(), "%s", problem(err))
	}
	return err == nil
}

// problem puts an error of core in the words of this package. The field, which core names in
// its own way ("ipv6 prefix is 20, want ..."), is in the path already.
func problem(err error) string {
	text := strings.TrimPrefix(strings.TrimPrefix(err.Error(), "core: "), "headers: ")
	if _, got, ok := strings.Cut(text, " is "); ok {
		text = "got " + got
	}
	return strings.Replace(text, ", want 0: ", ", want none: ", 1) // what core takes for nothing is left out here
}
