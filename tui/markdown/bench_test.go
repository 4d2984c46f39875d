package markdown

import (
	"fmt"
	"strings"
	"testing"
	"time"
)

// about returns a text of testdata, repeated until it has about n bytes.
func about(tb testing.TB, name string, n int) string {
	src := sources(tb)[name] + "\n"
	return strings.Repeat(src, n/len(src)+1)[:n]
}

func BenchmarkMarkdown10KB(b *testing.B) {
	src := about(b, "talk", 10<<10)
	b.SetBytes(int64(len(src)))
	b.ReportAllocs()
	for b.Loop() {
		Markdown(src, Options{Width: 100})
	}
}

func BenchmarkHighlight10KB(b *testing.B) {
	src := strings.Repeat("\tif err := f(x, \"y\"); err != nil { return 42 } // why\n", 200)[:10<<10]
	b.SetBytes(int64(len(src)))
	for b.Loop() {
		Highlight("go", src)
	}
}

func BenchmarkDiff1000Lines(b *testing.B) {
	old := strings.Repeat("one\ntwo\nthree\n", 333)
	edited := strings.Replace(old, "two", "zwei", 40)
	for b.Loop() {
		Diff(old, edited, "go", Options{Width: 100}, 3)
	}
}

// BenchmarkStream100KB streams a text in deltas of 50 bytes, and reports how much more it costs to lay out
// the whole text each time.
func BenchmarkStream100KB(b *testing.B) {
	const delta = 50
	src := about(b, "talk", 100<<10)
	o := Options{Width: 100}
	var stream time.Duration
	for b.Loop() {
		start := time.Now()
		var s Stream
		for at := delta; at <= len(src); at += delta {
			s.Set(src[:at], o)
		}
		stream = time.Since(start)
	}
	start := time.Now()
	const every = 64 // one in so many deltas is a sample
	for at := delta; at <= len(src); at += delta * every {
		Markdown(src[:at], o)
	}
	whole := time.Since(start) * every
	b.ReportMetric(float64(stream.Microseconds())/float64(len(src)/delta), "µs/delta")
	b.ReportMetric(float64(whole.Microseconds())/float64(len(src)/delta), "anew-µs/delta")
	b.ReportMetric(float64(whole)/float64(stream), "times-cheaper")
}

// BenchmarkStreamDelta appends one delta to one long block, and reports how much more it costs to lay out the whole
// text anew.
func BenchmarkStreamDelta(b *testing.B) {
	for name, unit := range map[string]string{"paragraph": "some words of prose ",
		"marked": "*some* `words` of **prose** ", "code": "```go\n", "table": "|a|b|\n|-|-|\n", "nested": "- a\n"} {
		src := unit
		switch name {
		case "code":
			src += strings.Repeat("\treturn fmt.Errorf(\"x\")\n", 4000)
		case "table":
			src += strings.Repeat("|some|words of a cell|\n", 600)
		case "nested":
			src += strings.Repeat("  - *some* words\n", 340)
		default:
			src = strings.Repeat(unit, 5900/len(unit))
		}
		b.Run(fmt.Sprintf("%s of %d KB", name, len(src)>>10), func(b *testing.B) {
			var before Stream
			o := Options{Width: 100}
			before.Set(src, o)
			for b.Loop() {
				s := before
				s.Set(src+"word", o)
			}
			start := time.Now()
			const samples = 5
			for range samples {
				Markdown(src+"word", o)
			}
			anew := time.Since(start) / samples
			b.ReportMetric(float64(anew.Nanoseconds())*float64(b.N)/float64(b.Elapsed().Nanoseconds()), "times-cheaper")
		})
	}
}

// BenchmarkHostile is the hostile text with the highest cost per byte, and its cost per byte at an eighth
// of the length.
func BenchmarkHostile(b *testing.B) {
	dearest := func(n int) (most float64) {
		for _, src := range hostile(n) {
			began := time.Now()
			Markdown(src, Options{Width: 80})
			most = max(most, float64(time.Since(began).Nanoseconds())/float64(len(src)))
		}
		return most
	}
	for b.Loop() {
		b.ReportMetric(dearest(1<<12), "short-ns/byte")
		b.ReportMetric(dearest(1<<15), "long-ns/byte")
	}
}
