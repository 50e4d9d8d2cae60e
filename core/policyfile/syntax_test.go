package policyfile

import (
	"errors"
	"testing"

	"go.yaml.in/yaml/v3"
)

// Another version of the library may keep its marks elsewhere.
func TestSyntaxWithoutMarks(t *testing.T) {
	r := &reader{origin: "p.yaml"}
	r.syntax(new(yaml.Decoder), errors.New("yaml: line 3: did not find expected key"))
	if got, want := r.err().Error(), "p.yaml:1:1: not YAML: line 3: did not find expected key"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
