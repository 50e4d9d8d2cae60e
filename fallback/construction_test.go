package fallback_test

import (
	"math"
	"strings"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
	"github.com/tierlimit/tierlimit/fallback"
)

func TestWrongOptionsAreNamed(t *testing.T) {
	for want, opt := range map[string]fallback.Option{
		"replicas is 0":         fallback.WithReplicas(0),
		"replicas is -1":        fallback.WithReplicas(-1),
		"share is 0":            fallback.WithShare(0),
		"share is 1.5":          fallback.WithShare(1.5),
		"share is NaN":          fallback.WithShare(math.NaN()),
		"share is +Inf":         fallback.WithShare(math.Inf(1)),
		"max entries is 3":      fallback.WithLocalEntries(3),
		"logger is nil":         fallback.WithLogger(nil),
		"on-change function is": fallback.WithOnChange(nil),
		"option is nil":         nil,
	} {
		if _, err := fallback.New(newFake(), opt); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error is %v, want one that says %q", err, want)
		}
	}
	for _, shared := range []core.Store{nil, memstore.New()} {
		if _, err := fallback.New(shared); err == nil {
			t.Errorf("no error for the shared store %T", shared)
		}
	}
}
