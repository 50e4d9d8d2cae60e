package core_test

import (
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/tierlimit/tierlimit"

type pkg struct {
	ImportPath string
	Name       string
	Standard   bool
	Imports    []string
	Deps       []string
}

// list asks the go command about packages of this module, without their tests.
func list(t *testing.T, args ...string) (out []pkg) {
	t.Helper()
	if _, err := exec.LookPath("go"); err != nil {
		t.Fatal("no go command in PATH")
	}
	cmd := exec.CommandContext(t.Context(), "go", append([]string{"list", "-e", "-json=ImportPath,Name,Standard,Imports,Deps"}, args...)...)
	cmd.Dir = ".." // the module's root
	var stderr strings.Builder
	cmd.Stderr = &stderr
	raw, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.String())
	}
	for dec := json.NewDecoder(strings.NewReader(string(raw))); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return out
		} else if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
}

func adapter(path string) bool {
	name, ok := strings.CutPrefix(path, module+"/")
	return ok && strings.HasSuffix(name, "limit") && !strings.Contains(name, "/")
}

func store(path string) bool {
	return slices.Contains([]string{module + "/core/memstore", module + "/core/redisstore", module + "/fallback"}, path)
}

// Whoever takes the library takes core, and nothing comes along with it.
func TestCoreImportsOnlyTheStandardLibrary(t *testing.T) {
	all := list(t, "-deps", "./core")
	if len(all) < 10 {
		t.Fatalf("core has %d dependencies only", len(all))
	}
	for _, p := range all {
		if !p.Standard && p.ImportPath != module+"/core" && !strings.HasPrefix(p.ImportPath, module+"/core/internal/") {
			t.Errorf("core depends on %s", p.ImportPath)
		}
	}
}

func TestImportsRunOneWay(t *testing.T) {
	all := list(t, "./...")
	if !slices.ContainsFunc(all, func(p pkg) bool { return p.ImportPath == module+"/core" }) {
		t.Fatal("core is not listed")
	}
	for _, p := range all {
		for _, dep := range p.Imports {
			switch {
			case adapter(dep) && p.Name != "main":
				t.Errorf("%s imports the adapter %s", p.ImportPath, dep)
			case adapter(p.ImportPath) && strings.HasPrefix(dep, module+"/") && dep != module+"/core" && !strings.HasPrefix(dep, module+"/internal/"):
				t.Errorf("the adapter %s imports %s", p.ImportPath, dep)
			}
		}
		for _, dep := range p.Deps {
			switch {
			case adapter(p.ImportPath) && store(dep):
				t.Errorf("the adapter %s depends on the store %s", p.ImportPath, dep)
			case store(p.ImportPath) && adapter(dep):
				t.Errorf("the store %s depends on the adapter %s", p.ImportPath, dep)
			}
		}
		// Only a program chooses both.
		if p.Name != "main" && slices.ContainsFunc(p.Deps, adapter) && slices.ContainsFunc(p.Deps, store) {
			t.Errorf("%s is no program and depends on both an adapter and a store", p.ImportPath)
		}
	}
}
