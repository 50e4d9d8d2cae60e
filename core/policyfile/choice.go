package policyfile

import (
	"fmt"
	"slices"
	"strings"
)

// enum asks core for the names of its constants, in their order, so that a new one is known
// here as soon as it is there.
func enum[T interface {
	~uint8
	fmt.Stringer
}](parse func(name string) (T, bool),
) []string {
	var names []string
	for v := T(0); ; v++ {
		if _, ok := parse(v.String()); !ok {
			return names
		}
		names = append(names, v.String())
	}
}

// choice gives the index of one of names; 0 where it is none of them, which is reported.
func (r *reader) choice(n node, names []string) int {
	last := len(names) - 1
	want := strings.Join(names[:last], ", ") + " or " + names[last]
	name, ok := r.text(n, want)
	if !ok {
		return 0
	}
	i := slices.Index(names, name)
	if i < 0 {
		r.fail(n.place(), "got %v, want %s", n, want)
	}
	return max(i, 0)
}
