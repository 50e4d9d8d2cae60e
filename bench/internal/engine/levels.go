package engine

import (
	"context"
	"strconv"
)

const namedLevels = 3

// LevelName is ip, user, endpoint, then l4, l5 and so on.
func LevelName(i int) string {
	switch i {
	case 0:
		return "ip"
	case 1:
		return "user"
	case 2:
		return "endpoint"
	}
	return "l" + strconv.Itoa(i+1)
}

// ask is one level of a limiter that knows one key at a time.
type ask func(ctx context.Context, key string) (bool, error)

// oneByOne asks level after level and stops at the first that refuses, as a chain of
// middlewares does. What the levels before it were charged stays charged.
type oneByOne struct {
	levels []ask
	close  func() error
}

func eachLevel(s Setup, level func() (ask, error), closing func() error) (Engine, error) {
	e := &oneByOne{close: closing}
	for range s.Levels {
		a, err := level()
		if err != nil {
			return nil, err
		}
		e.levels = append(e.levels, a)
	}
	return e, nil
}

func (e *oneByOne) Take(ctx context.Context, r *Request) (bool, error) {
	for i, level := range e.levels {
		if ok, err := level(ctx, r.Keys[i]); !ok || err != nil {
			return false, err
		}
	}
	return true, nil
}

func (e *oneByOne) Close() error {
	if e.close == nil {
		return nil
	}
	return e.close()
}
