package policyfile_test

import (
	"os"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core/policyfile"
)

// The reference is held to what it says: its examples parse, and its mistakes are reported so.
func TestReference(t *testing.T) {
	text, err := os.ReadFile("../../docs/policy-file.md")
	if err != nil {
		t.Fatal(err)
	}
	examples := 0
	for i, block := range strings.Split(string(text), "```") {
		if example, ok := strings.CutPrefix(block, "yaml\n"); ok && i%2 == 1 {
			parse(t, example)
			examples++
		}
	}
	if examples != 2 {
		t.Errorf("%d examples, want 2", examples)
	}
	_, err = policyfile.Parse("shop.yaml", []byte(`# three mistakes
levels:
  - {name: ip, limit: 300}
  - {name: user, limit: 1/s, bann: {after: 3}}
routes:
  POST /login: [{name: tenant, limit: 1/s}]
`))
	if err == nil || !strings.Contains(string(text), "\n```\n"+err.Error()+"\n```\n") {
		t.Errorf("the reference does not have\n%v", err)
	}
}
