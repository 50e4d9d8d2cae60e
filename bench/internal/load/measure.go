package load

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/tierlimit/tierlimit/bench/internal/engine"
)

const warmUp = 200 * time.Millisecond

// Run is one measurement: an engine made anew on an empty server.
type Run struct {
	Kind       engine.Kind
	Setup      engine.Setup
	Server     *Server // nil for engines in process
	Space      *Space
	Goroutines int
	Exhaust    int // identities whose limits are used up first
	Fill       int // keys of others that the server holds
	Time       time.Duration
}

// Sample is what one run gave.
type Sample struct {
	Metrics Metrics
	Error   string // one of the errors, if there were any
}

func text(err error) string {
	if err == nil {
		return ""
	}
	return strings.ReplaceAll(err.Error(), "\n", ": ") // joined errors stand on lines of their own
}

// Measure warms up, then measures.
func (r Run) Measure(ctx context.Context) (Sample, error) {
	if r.Server != nil {
		if err := r.Server.Flush(ctx); err != nil {
			return Sample{}, err
		}
		if r.Fill > 0 {
			if err := r.Server.Fill(ctx, r.Fill); err != nil {
				return Sample{}, err
			}
		}
	}
	e, err := r.Kind.Open(r.Setup)
	if err != nil {
		return Sample{}, fmt.Errorf("%s: %w", r.Kind.Name, err)
	}
	sample, err := r.measure(ctx, e)
	if closing := e.Close(); err == nil && closing != nil {
		err = fmt.Errorf("%s: close: %w", r.Kind.Name, closing)
	}
	return sample, err
}

func (r Run) measure(ctx context.Context, e engine.Engine) (Sample, error) {
	Exhaust(ctx, e, r.Space, r.Exhaust)
	Warm(ctx, e, r.Space, r.Goroutines, min(warmUp, r.Time))
	var before, after Usage
	var err error
	if r.Server != nil {
		if before, err = r.Server.Usage(ctx); err != nil {
			return Sample{}, err
		}
	}
	c := Drive(ctx, e, r.Space, r.Goroutines, r.Time)
	m := c.Metrics()
	if r.Server != nil {
		if after, err = r.Server.Usage(ctx); err != nil {
			return Sample{}, err
		}
		m.AddServer(before, after, c.Made())
	}
	if c.Made() == 0 {
		return Sample{}, fmt.Errorf("%s: every decision failed: %w", r.Kind.Name, c.Err)
	}
	return Sample{m, text(c.Err)}, nil
}
