package load

import (
	"context"
	"fmt"
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
	Exhaust    bool // use up the limits first
	Fill       int  // keys of others that the server holds
	Time       time.Duration
}

// Measure warms up, then measures.
func (r Run) Measure(ctx context.Context) (Metrics, error) {
	if r.Server != nil {
		if err := r.Server.Flush(ctx); err != nil {
			return nil, err
		}
		if r.Fill > 0 {
			if err := r.Server.Fill(ctx, r.Fill); err != nil {
				return nil, err
			}
		}
	}
	e, err := r.Kind.Open(r.Setup)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", r.Kind.Name, err)
	}
	m, err := r.measure(ctx, e)
	if closing := e.Close(); err == nil && closing != nil {
		err = fmt.Errorf("%s: close: %w", r.Kind.Name, closing)
	}
	return m, err
}

func (r Run) measure(ctx context.Context, e engine.Engine) (Metrics, error) {
	if r.Exhaust {
		Exhaust(ctx, e, r.Space)
	}
	Drive(ctx, e, r.Space, r.Goroutines, min(warmUp, r.Time))
	var before, after Usage
	var err error
	if r.Server != nil {
		if before, err = r.Server.Usage(ctx); err != nil {
			return nil, err
		}
	}
	c := Drive(ctx, e, r.Space, r.Goroutines, r.Time)
	m := c.Metrics()
	if r.Server != nil {
		if after, err = r.Server.Usage(ctx); err != nil {
			return nil, err
		}
		m.AddServer(before, after, c.Decisions)
	}
	if c.Errors == c.Decisions {
		return m, fmt.Errorf("%s: every decision failed: %w", r.Kind.Name, c.FirstErr)
	}
	return m, nil
}
