package core

import (
	"errors"
	"fmt"
)

// Policy is the levels a request is checked against, in order of reporting: broadest first.
// The order does not change any decision.
type Policy []Level

// Exempt is the policy of a route that is not limited at all.
var Exempt = Policy{{Name: "exempt"}}

func (p Policy) exempt() bool { return len(p) == 1 && &p[0] == &Exempt[0] }

func (p Policy) validate() error {
	if p.exempt() {
		return nil
	}
	if len(p) == 0 {
		return errors.New("policy is empty, want at least one level; core.Exempt to limit nothing")
	}
	seen := make(map[string]bool, len(p))
	for i := range p {
		if err := p[i].validate(); err != nil {
			return fmt.Errorf("level %q: %w", p[i].Name, err)
		}
		if seen[p[i].Name] {
			return fmt.Errorf("level %q: name is used twice, want each once: a level takes several limits", p[i].Name)
		}
		seen[p[i].Name] = true
	}
	return nil
}

// override lays a route's levels over p: a level of the same name takes its place, the
// others are inherited, new ones come last. own reports which levels are the route's.
func (p Policy) override(route Policy) (merged Policy, own []bool) {
	merged = append(Policy(nil), p...)
	own = make([]bool, len(p), len(p)+len(route))
next:
	for _, level := range route {
		for i := range p {
			if p[i].Name == level.Name {
				merged[i], own[i] = level, true
				continue next
			}
		}
		merged, own = append(merged, level), append(own, true)
	}
	return merged, own
}
