package transcript

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"
)

// BenchmarkFollowLatency is the time from the return of the write that ends a line
// to the line's delivery; the aim is a p99 under 10 ms. Beside it the same with
// polling once a second, the obvious way.
func BenchmarkFollowLatency(b *testing.B) {
	for _, way := range []struct {
		name string
		o    WatchOptions
		most int // appends, 0: b.N; polling takes its time
	}{
		{"notified", WatchOptions{}, 0},
		{"polling1s", WatchOptions{Poll: true, Interval: time.Second}, 5},
	} {
		b.Run(way.name, func(b *testing.B) {
			w := NewWatcher(way.o)
			defer w.Close()
			path := filepath.Join(b.TempDir(), "f")
			watch := w.File(path)
			defer watch.Close()
			delivered := make(chan time.Time, 1)
			f := &Follower{Path: path, Waker: watch, OnLine: func(Followed) { delivered <- time.Now() }}
			ctx, cancel := context.WithCancel(context.Background())
			done := make(chan struct{})
			go func() { defer close(done); f.Run(ctx) }()
			defer func() { cancel(); <-done }()

			file, err := os.OpenFile(path, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
			if err != nil {
				b.Fatal(err)
			}
			defer file.Close()
			line := append(bytes.Repeat([]byte("x"), 1500), '\n')
			appendLine := func() time.Duration {
				if _, err := file.Write(line); err != nil {
					b.Fatal(err)
				}
				written := time.Now()
				return (<-delivered).Sub(written)
			}
			appendLine() // the file has been found
			var took []time.Duration
			for i := 0; b.Loop(); i++ {
				if way.most == 0 || i < way.most {
					if i%5 == 4 { // not in step with the ticks
						b.StopTimer()
						pause(time.Duration(1+i%3) * time.Millisecond)
						b.StartTimer()
					}
					took = append(took, max(0, appendLine()))
				}
			}
			slices.Sort(took)
			b.ReportMetric(0, "ns/op") // of the loop: says nothing
			b.ReportMetric(float64(took[len(took)/2].Microseconds()), "p50_µs")
			b.ReportMetric(float64(took[len(took)*99/100].Microseconds()), "p99_µs")
		})
	}
}

// pause lets the machine come to rest, as it is between the lines of an agent.
func pause(d time.Duration) { <-time.After(d) }

// BenchmarkFollowThroughput follows a file of 128 MB that is there, and one that is
// written meanwhile.
func BenchmarkFollowThroughput(b *testing.B) {
	path, lines := benchFile(b, 128<<20, mixed...)
	content, err := os.ReadFile(path)
	if err != nil {
		b.Fatal(err)
	}
	follow := func(b *testing.B, path string, waker Waker, write func()) {
		ctx, cancel := context.WithCancel(context.Background())
		left := lines
		f := &Follower{Path: path, Waker: waker, OnLine: func(Followed) {
			if left--; left == 0 {
				cancel()
			}
		}}
		go write()
		f.Run(ctx)
	}
	b.Run("there", func(b *testing.B) {
		b.SetBytes(int64(len(content)))
		for b.Loop() {
			follow(b, path, NewBell(), func() {})
		}
	})
	b.Run("written", func(b *testing.B) {
		w := NewWatcher(WatchOptions{})
		defer w.Close()
		dir := b.TempDir()
		b.SetBytes(int64(len(content)))
		for i := 0; b.Loop(); i++ {
			path := filepath.Join(dir, fmt.Sprint(i))
			watch := w.File(path)
			written := make(chan error, 1)
			follow(b, path, watch, func() { written <- writeInPieces(path, content) })
			if err := <-written; err != nil {
				b.Fatal(err)
			}
			watch.Close()
			os.Remove(path)
		}
	})
}

func writeInPieces(path string, content []byte) error {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer f.Close()
	for piece := range slices.Chunk(content, 16<<10) {
		if _, err := f.Write(piece); err != nil {
			return err
		}
	}
	return nil
}
