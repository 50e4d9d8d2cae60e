package engine

import "context"

// empty decides nothing: what the measuring loop costs by itself.
type empty struct{}

func openEmpty(Setup) (Engine, error) { return empty{}, nil }

func (empty) Take(context.Context, *Request) (bool, error) { return true, nil }

func (empty) Close() error { return nil }
