package policyfile_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/policyfile"
)

// base is the least that a file needs.
const base = "levels: [{name: ip, limit: 1/s}]\n"

// level makes a file of one level, which begins at 2:5.
func level(s string) string { return "levels:\n  - " + s + "\n" }

// partial is a store that has what it says, and runs nothing.
type partial struct {
	core.Store
	has core.Traits
}

func (p partial) Traits() core.Traits { return p.has }

// everything has all that a file can ask for.
var everything = partial{has: core.Traits{
	Algorithms: []core.Algorithm{core.TokenBucket, core.LeakyBucket, core.FixedWindow, core.SlidingWindow, core.SlidingLog},
	Shapes:     true,
	Local:      true,
}}

func parse(t *testing.T, text string) *policyfile.File {
	t.Helper()
	f, err := policyfile.Parse("p.yaml", []byte(text))
	if err != nil {
		t.Fatalf("%v\nin\n%s", err, text)
	}
	return f
}

// describe says what a policy is, but for its keys.
func describe(p core.Policy) string {
	var lines []string
	for _, l := range p {
		s := fmt.Sprintf("%s %v", l.Name, l.Limits)
		if l.OnFailure != core.Local {
			s += fmt.Sprintf(" failing %s", map[core.FailureMode]string{core.Open: "open", core.Closed: "closed"}[l.OnFailure])
		}
		if l.Shadow {
			s += " shadow"
		}
		if l.Lease {
			s += " leased"
		}
		if l.Guard != nil {
			b := l.Guard.Bounds()
			s += fmt.Sprintf(" guarded below %d per %v", b.Threshold, b.Window)
			if b.RefuseAbove > 0 {
				s += fmt.Sprintf(" refusing above %d", b.RefuseAbove)
			}
		}
		lines = append(lines, s)
	}
	return strings.Join(lines, "; ")
}
