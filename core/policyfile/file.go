package policyfile

import (
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/tierlimit/tierlimit/core"
)

// MaxSize is the largest policy file in bytes: far above any that a person writes, and small
// enough that a wrong path does no harm.
const MaxSize = 1 << 20

// File is a parsed policy file. It never changes, so one serves any number of limiters.
type File struct {
	Name    string        // of the limiter, its key space; "" where the file gives none
	Policy  core.Policy   // the levels
	Proxies core.Proxies  // for the adapter's WithProxies
	Options []core.Option // everything else: the name, the routes, headers and the like

	runtime []core.Option // Options without the name, which a running limiter refuses
	demands []demand
	origin  string
}

// Load reads and parses a file.
func Load(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("policyfile: %w", err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, MaxSize+1))
	if err != nil {
		return nil, fmt.Errorf("policyfile: %w", err)
	}
	return Parse(path, data)
}

// Parse parses the text of a file; name stands for it in error messages. The error joins one
// *Error for each mistake, in the order of the file.
func Parse(name string, data []byte) (*File, error) {
	r := &reader{origin: name}
	f := &File{origin: name}
	if root, ok := r.document(data); ok {
		r.file(root, f)
	}
	if err := r.err(); err != nil {
		return nil, err
	}
	f.demands = r.demands
	return f, nil
}

// Limiter makes a limiter of the file. Options given here come after the file's and so win over
// them.
func (f *File) Limiter(store core.Store, opts ...core.Option) (*core.Limiter, error) {
	limiter, err := core.New(store, f.Policy, slices.Concat(f.Options, opts)...)
	if err == nil {
		return limiter, nil
	}
	if store != nil {
		if misfits := f.misfits(store.Traits()); misfits != nil {
			return nil, misfits
		}
	}
	return nil, err
}

// Update makes a running limiter follow the file, all at once. What the file does not mention
// goes back to its default, also where the program had set it: a field taken out has no effect
// any more. The name alone stays as it was, for it cannot change at run time.
func (f *File) Update(l *core.Limiter) error {
	defaults := []core.Option{
		core.WithHeaders(core.RateLimit), core.WithIPv6Prefix(64), core.WithRetryJitter(0),
		core.WithAllowList(core.List{}), core.WithDenyList(core.List{}),
	}
	return l.SetPolicy(f.Policy, slices.Concat(defaults, f.runtime)...)
}
