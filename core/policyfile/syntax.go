package policyfile

import (
	"fmt"
	"reflect"
	"strings"

	"go.yaml.in/yaml/v3"
)

// syntax reports that the text is not YAML. The library's own message has no column, and its
// line is that of what encloses the mistake, some of the time counted from 0. It knows better:
// the marks that it keeps to itself are read here, and should they be gone in another version
// the mistake is reported without a place, as the library tells it.
func (r *reader) syntax(dec *yaml.Decoder, err error) {
	parser := inside(reflect.ValueOf(dec), "parser", "parser")
	problem := stringOf(inside(parser, "problem"))
	at, ok := r.mark(inside(parser, "problem_mark"))
	if problem == "" { // found after parsing, as an unknown anchor is
		problem = strings.TrimPrefix(err.Error(), "yaml: ")
		at, ok = r.mark(inside(reflect.ValueOf(dec), "parser", "event", "start_mark"))
	}
	if !ok {
		r.fail(place{line: 1, column: 1}, "not YAML: %s", strings.TrimPrefix(err.Error(), "yaml: "))
		return
	}
	if context := stringOf(inside(parser, "context")); context != "" {
		if from, ok := r.mark(inside(parser, "context_mark")); ok && from != at {
			context += fmt.Sprintf(" that begins at %d:%d", from.line, from.column)
		}
		problem += " " + context
	}
	r.fail(at, "not YAML: %s", problem)
}

// inside follows field names through structs and pointers; the zero Value where one is missing.
func inside(v reflect.Value, names ...string) reflect.Value {
	for _, name := range names {
		for v.Kind() == reflect.Pointer {
			v = v.Elem()
		}
		if v.Kind() != reflect.Struct {
			return reflect.Value{}
		}
		v = v.FieldByName(name)
	}
	return v
}

func stringOf(v reflect.Value) string {
	if v.Kind() != reflect.String {
		return ""
	}
	return v.String()
}

// mark reads a mark of the library, which counts from 0 and, at the end of a text whose last
// line has no end, sees a further line begin.
func (r *reader) mark(v reflect.Value) (place, bool) {
	line, column := inside(v, "line"), inside(v, "column")
	if !line.CanInt() || !column.CanInt() {
		return place{}, false
	}
	at := place{line: int(line.Int()) + 1, column: int(column.Int()) + 1}
	if at.line > r.end.line {
		at = r.end
	}
	return at, true
}
