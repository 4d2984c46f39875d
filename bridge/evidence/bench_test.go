//go:build linux

package evidence

import (
	"slices"
	"testing"
	"time"
)

// BenchmarkScratch prints how long a check on a copy takes, as a ratio to one in the sandbox alone.
func BenchmarkScratch(b *testing.B) {
	p := newPlace(b)
	for range b.N {
		var times [2][]time.Duration
		for range 20 {
			for i := range times {
				c := p.with("true")
				c.Scratch = i == 1
				begun := time.Now()
				p.check(c)
				times[i] = append(times[i], time.Since(begun))
			}
		}
		for i := range times {
			slices.Sort(times[i])
		}
		b.ReportMetric(float64(times[1][10])/float64(times[0][10]), "x-sandboxed")
		b.ReportMetric(float64((times[1][10]-times[0][10]).Microseconds())/1000, "ms-more")
	}
}
