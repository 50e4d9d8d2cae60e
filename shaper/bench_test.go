package shaper_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/tierlimit/tierlimit/core"
	"github.com/tierlimit/tierlimit/internal/redistest"
	"github.com/tierlimit/tierlimit/shaper"
)

// BenchmarkWork is what taking, pacing and finishing a job costs with a handler that does nothing, at
// a pace that never holds it up.
func BenchmarkWork(b *testing.B) {
	for _, workers := range []int{1, 8} {
		b.Run(fmt.Sprint("workers=", workers), func(b *testing.B) {
			q := open(b, redistest.Start(b).Client(b), core.PerSecond(1_000_000), shaper.WithBacklog(b.N))
			for range b.N {
				add(b, q, "a payload of some thirty bytes")
			}
			var all sync.WaitGroup
			all.Add(b.N)
			b.ResetTimer()
			work(b, q, workers, func(context.Context, shaper.Job) error { all.Done(); return nil })
			all.Wait()
		})
	}
}

func BenchmarkAdd(b *testing.B) {
	q := open(b, redistest.Start(b).Client(b), fast, shaper.WithBacklog(1<<40))
	payload := []byte("a payload of some thirty bytes")
	for b.Loop() {
		if _, err := q.Add(b.Context(), payload); err != nil {
			b.Fatal(err)
		}
	}
}
