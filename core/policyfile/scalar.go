package policyfile

import (
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// text gives a string. What YAML takes for a number or the like is not one, so that a value
// means the same to every reader of the file.
func (r *reader) text(n node, want string) (string, bool) {
	if !r.is(n, yaml.ScalarNode, want) {
		return "", false
	}
	if n.Tag != "!!str" {
		r.fail(n.place(), "got %v, want %s", n, want)
		return "", false
	}
	return n.Value, true
}

func (r *reader) boolean(n node) bool {
	if !r.is(n, yaml.ScalarNode, "true or false") {
		return false
	}
	if n.Tag != "!!bool" {
		r.fail(n.place(), "got %v, want true or false", n)
		return false
	}
	return strings.EqualFold(n.Value, "true")
}

// integer reads plain digits from the text itself: to YAML 010 is 8, and 1_000 a number.
func (r *reader) integer(n node, bitSize int, want string) (int64, bool) {
	if !r.is(n, yaml.ScalarNode, want) {
		return 0, false
	}
	if n.Tag != "!!str" && plainDigits(n.Value) {
		if v, err := strconv.ParseInt(n.Value, 10, bitSize); err == nil {
			return v, true
		}
	}
	r.fail(n.place(), "got %v, want %s", n, want)
	return 0, false
}

func (r *reader) float(n node, want string) (float64, bool) {
	if !r.is(n, yaml.ScalarNode, want) {
		return 0, false
	}
	if n.Tag == "!!float" || n.Tag == "!!int" {
		if v, err := strconv.ParseFloat(n.Value, 64); err == nil {
			return v, true
		}
	}
	r.fail(n.place(), "got %v, want %s", n, want)
	return 0, false
}

func plainDigits(s string) bool {
	if s == "" || s[0] == '0' && len(s) > 1 {
		return false
	}
	return strings.Trim(s, "0123456789") == ""
}
