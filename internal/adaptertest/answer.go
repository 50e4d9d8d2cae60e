package adaptertest

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// answer is what a client got.
type answer struct {
	request string
	status  int
	header  http.Header
	body    string
}

func (a answer) String() string {
	return fmt.Sprintf("%s: %d %v %q", a.request, a.status, a.header, a.body)
}

// is wants a status and, of the limits named, the units left: "ip 9".
func (a answer) is(t *testing.T, status int, left ...string) answer {
	t.Helper()
	if a.status != status {
		t.Errorf("%v: status is %d, want %d", a, a.status, status)
	}
	if len(left) == 0 {
		return a
	}
	if got := a.left(); !slices.Equal(got, left) {
		t.Errorf("%v: left is %q, want %q", a, got, left)
	}
	return a
}

// left reads the RateLimit header: each item's name and r.
func (a answer) left() []string {
	var out []string
	for item := range strings.SplitSeq(a.header.Get("RateLimit"), ", ") {
		if item == "" {
			continue
		}
		name, params, _ := strings.Cut(item, ";r=")
		r, _, _ := strings.Cut(params, ";")
		out = append(out, strings.Trim(name, `"`)+" "+r)
	}
	return out
}

// has wants a header with one line of that value; "" wants none.
func (a answer) has(t *testing.T, name, value string) answer {
	t.Helper()
	var want []string
	if value != "" {
		want = []string{value}
	}
	if got := a.header.Values(name); !slices.Equal(got, want) {
		t.Errorf("%v: %s is %q, want %q", a, name, got, want)
	}
	return a
}

// bare wants no header of ours at all.
func (a answer) bare(t *testing.T) answer {
	t.Helper()
	for name := range a.header {
		if ours(name) {
			t.Errorf("%v: has %s", a, name)
		}
	}
	return a
}

func ours(header string) bool {
	name := strings.ToLower(header)
	return strings.Contains(name, "ratelimit") || name == "retry-after"
}

// text is the whole answer: the status, the headers in order of their names, but for the date,
// and the body.
func (a answer) text() string {
	lines := []string{strconv.Itoa(a.status)}
	for _, name := range slices.Sorted(maps.Keys(a.header)) {
		for _, v := range a.header[name] {
			if name != "Date" {
				lines = append(lines, name+": "+v)
			}
		}
	}
	return strings.Join(append(lines, a.body), "\n")
}
