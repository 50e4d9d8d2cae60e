package policyfile

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// node is a YAML node that knows its path. The zero node stands for a field left out.
type node struct {
	*yaml.Node
	path string
}

func (n node) given() bool { return n.Node != nil }

func (n node) place() place { return place{n.Line, n.Column, n.path} }

func (n node) item(i int) node { return node{n.Content[i], fmt.Sprintf("%s[%d]", n.path, i)} }

var plainName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_-]{0,63}$`)

func (n node) field(key string, value *yaml.Node) node {
	switch {
	case !plainName.MatchString(key):
		return node{value, n.path + "[" + quote(key) + "]"}
	case n.path == "":
		return node{value, key}
	}
	return node{value, n.path + "." + key}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// String says what stands in the file, for messages.
func (n node) String() string {
	switch {
	case n.Kind == yaml.MappingNode:
		return "a mapping"
	case n.Kind == yaml.SequenceNode:
		return "a list"
	case n.Tag == "!!null":
		return "nothing"
	case n.Tag == "!!str":
		return quote(n.Value)
	}
	return shorten(n.Value)
}

func quote(s string) string { return strconv.Quote(shorten(s)) }

func shorten(s string) string {
	if len(s) > 80 {
		s = strings.ToValidUTF8(s[:80], "") + "..."
	}
	return s
}

// plain refuses the parts of YAML that a policy has no use for. An alias could make a small file
// as large as memory; a tag says that a value is not what it looks like.
func (r *reader) plain(n node) bool {
	switch {
	case n.Kind == yaml.AliasNode:
		r.fail(n.place(), "*%s is an alias, want the value itself", shorten(n.Value))
	case n.Anchor != "":
		r.fail(n.place(), "&%s is an anchor, want none: aliases are not supported", shorten(n.Anchor))
	case n.Style&yaml.TaggedStyle != 0:
		r.fail(n.place(), "the tag %s is given, want the value without it", quote(n.Tag))
	default:
		return true
	}
	return false
}

// is reports whether n is of the kind, and says what was wanted if not.
func (r *reader) is(n node, kind yaml.Kind, want string) bool {
	if !r.plain(n) {
		return false
	}
	if n.Kind != kind {
		r.fail(n.place(), "got %v, want %s", n, want)
		return false
	}
	return true
}

// list gives the items of a list.
func (r *reader) list(n node, want string) ([]node, bool) {
	if !r.is(n, yaml.SequenceNode, want) {
		return nil, false
	}
	items := make([]node, len(n.Content))
	for i := range items {
		items[i] = n.item(i)
	}
	return items, true
}

// entry is one key of a mapping and its value; both have the path of the value.
type entry struct {
	name       string
	key, value node
}

// entries gives a mapping in the order of the file. A key given twice is reported, and left out
// the second time.
func (r *reader) entries(n node, want string) ([]entry, bool) {
	if !r.is(n, yaml.MappingNode, want) {
		return nil, false
	}
	out := make([]entry, 0, len(n.Content)/2)
	first := make(map[string]place, len(n.Content)/2)
	for i := 0; i < len(n.Content); i += 2 {
		key := node{n.Content[i], n.path}
		if !r.plain(key) {
			continue
		}
		if key.Kind != yaml.ScalarNode {
			r.fail(key.place(), "got %v as a key, want text", key)
			continue
		}
		e := entry{key.Value, n.field(key.Value, key.Node), n.field(key.Value, n.Content[i+1])}
		if earlier, twice := first[e.name]; twice {
			r.fail(e.key.place(), "given twice, first at %d:%d, want it once", earlier.line, earlier.column)
			continue
		}
		first[e.name] = e.key.place()
		out = append(out, e)
	}
	return out, true
}

// fields gives a mapping whose keys are known beforehand.
func (r *reader) fields(n node, want string, known ...string) (map[string]node, bool) {
	list, ok := r.entries(n, want)
	if !ok {
		return nil, false
	}
	out := make(map[string]node, len(list))
	for _, e := range list {
		if !slices.Contains(known, e.name) {
			r.fail(e.key.place(), "unknown field, want one of %s", strings.Join(known, ", "))
			continue
		}
		out[e.name] = e.value
	}
	return out, true
}
