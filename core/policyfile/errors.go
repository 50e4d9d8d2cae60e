package policyfile

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Error is one mistake in a policy file.
type Error struct {
	File    string // as given to Load or Parse
	Line    int    // from 1
	Column  int    // from 1, in characters
	Path    string // of the field: levels[1].limit; "" for the file as a whole
	Problem string // what is wrong and what was expected
}

// Error gives "FILE:LINE:COLUMN: path: problem".
func (e *Error) Error() string {
	s := fmt.Sprintf("%s:%d:%d: ", e.File, e.Line, e.Column)
	if e.Path != "" {
		s += e.Path + ": "
	}
	return s + e.Problem
}

// What is said of a file that is no policy at all has to stay readable.
const (
	maxErrors  = 20
	maxProblem = 500 // bytes
)

// place is where in the file something stands.
type place struct {
	line, column int
	path         string
}

// reader collects what is wrong with a file and what it asks of a store.
type reader struct {
	origin  string
	end     place // of the text
	errs    []*Error
	demands []demand

	keys        map[string]keyFunc // of the limiter's own levels
	keysUnknown bool               // mistakes there make it futile to look a level up
}

func (r *reader) fail(at place, format string, args ...any) {
	r.errs = append(r.errs, newError(r.origin, at, format, args...))
}

func newError(origin string, at place, format string, args ...any) *Error {
	problem := fmt.Sprintf(format, args...)
	if len(problem) > maxProblem {
		problem = strings.ToValidUTF8(problem[:maxProblem], "") + "..."
	}
	return &Error{File: origin, Line: at.line, Column: at.column, Path: at.path, Problem: problem}
}

func (r *reader) err() error { return join(r.errs) }

// join sorts because a file is read in the order of dependence, not of lines.
func join(errs []*Error) error {
	slices.SortStableFunc(errs, func(a, b *Error) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
	})
	if len(errs) > maxErrors {
		next := *errs[maxErrors]
		next.Path, next.Problem = "", fmt.Sprintf("and %d more mistakes from here on", len(errs)-maxErrors)
		errs = append(errs[:maxErrors:maxErrors], &next)
	}
	joined := make([]error, len(errs))
	for i, e := range errs {
		joined[i] = e
	}
	return errors.Join(joined...)
}
