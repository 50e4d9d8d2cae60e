package policyfile_test

import (
	"context"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/core/memstore"
)

func TestBanAndStrict(t *testing.T) {
	f := parse(t, `
levels:
  - {name: user, limit: 1/h, strict: true, ban: {after: 2, within: 1h, for: 90min, multiply: 2, max: 1d}}
  - {name: global, limit: 100/s}
`)
	want := core.Ban{After: 2, Within: time.Hour, For: 90 * time.Minute, Multiply: 2, Max: 24 * time.Hour}
	if got := f.Policy[0]; got.Ban != want || !got.Strict || f.Policy[1].Ban != (core.Ban{}) || f.Policy[1].Strict {
		t.Errorf("ban %+v, strict %v", got.Ban, got.Strict)
	}
	store := memstore.New()
	defer store.Close()
	l, err := f.Limiter(store)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []core.Reason{core.None, core.Quota, core.Quota, core.Banned} {
		if d := l.Check(context.Background(), core.Request{User: "ann"}); d.Reason != want {
			t.Errorf("refused for %v, want %v", d.Reason, want)
		}
	}
}
