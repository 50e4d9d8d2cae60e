package floodguard_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/tierlimit/tierlimit/core/floodguard"
)

// What a request pays, over 100,000 keys: in a sketch that fits the caches and in one that does not.
func BenchmarkAdmit(b *testing.B) {
	keys := make([]string, 100_000)
	for i := range keys {
		keys[i] = fmt.Sprintf("1t:shop::ip:60s:203.0.113.%d", i)
	}
	for _, size := range []struct {
		name    string
		epsilon float64
	}{{"1MiB", 1.56e-4}, {"64MiB", 2.44e-6}} {
		g := guard(b, floodguard.WithThreshold(30), floodguard.WithWindow(time.Hour), floodguard.WithError(size.epsilon, 0.01))
		b.Run(size.name, func(b *testing.B) {
			b.ReportAllocs()
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); i++ {
					g.Admit(keys[i*7919%len(keys)], 1)
				}
			})
		})
	}
}
