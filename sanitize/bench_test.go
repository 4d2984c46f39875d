package sanitize

import (
	"strings"
	"testing"
	"time"
)

// BenchmarkText compares Text with a plain copy of the same text.
func BenchmarkText(b *testing.B) {
	for _, name := range []string{"ascii", "mixed", "ansi", "lies"} {
		b.Run(name, func(b *testing.B) { benchmark(b, benched[name], Text) })
		b.Run(name+"/copy", func(b *testing.B) { benchmark(b, benched[name], strings.Clone) })
	}
}

func BenchmarkRedact(b *testing.B) { benchmark(b, logText, Redact) }

// BenchmarkRedactInsistent measures the text with the highest cost per byte, and the cost per byte of the same
// text at a twentieth of the length.
func BenchmarkRedactInsistent(b *testing.B) {
	perByte := func(unit string, n int) float64 {
		text := strings.Repeat(unit, n/len(unit))
		began := time.Now()
		sink = Redact(text)
		return float64(time.Since(began).Nanoseconds()) / float64(len(text))
	}
	for b.Loop() {
		short, long := 0.0, 0.0
		for _, unit := range insistent {
			short, long = max(short, perByte(unit, 20_000)), max(long, perByte(unit, 400_000))
		}
		b.ReportMetric(short, "short-ns/byte")
		b.ReportMetric(long, "long-ns/byte")
	}
}
