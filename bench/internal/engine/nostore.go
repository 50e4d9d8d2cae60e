package engine

import (
	"context"

	"github.com/tierlimit/tierlimit/core"
)

// noStore admits everything at once.
type noStore struct{}

// NoStore are the limiter alone and with its headers.
var NoStore = []Kind{
	{Name: "Check", Open: openNoStore(false), Ours: true},
	{Name: "Check and headers", Open: openNoStore(true), Ours: true},
	{Name: "empty loop", Open: openEmpty, Reference: true},
}

func openNoStore(headers bool) func(Setup) (Engine, error) {
	return func(s Setup) (Engine, error) {
		l, err := core.New(noStore{}, policy(s, core.Open))
		return &tierlimit{limiter: l, source: core.FromCache, headers: headers}, err
	}
}

func (noStore) Take(_ context.Context, buckets []core.Bucket, out []core.Outcome) error {
	for i := range buckets {
		out[i] = core.Outcome{Admits: true, Charged: true, Remaining: buckets[i].Limit.Quota - 1, Source: core.FromShared}
	}
	return nil
}

func (s noStore) Peek(ctx context.Context, buckets []core.Bucket, out []core.Outcome) error {
	return s.Take(ctx, buckets, out)
}

func (noStore) Debit(context.Context, []core.Bucket) error                  { return nil }
func (noStore) Refund(context.Context, []core.Bucket, []core.Outcome) error { return nil }
func (noStore) Reset(context.Context, []core.Bucket) error                  { return nil }
func (noStore) Partition(string) string                                     { return "" }
func (noStore) Close() error                                                { return nil }

func (noStore) Traits() core.Traits {
	return core.Traits{Algorithms: []core.Algorithm{core.TokenBucket}}
}
