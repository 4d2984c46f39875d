package journal

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// quantile of durations, in milliseconds.
func quantile(d []time.Duration, q float64) float64 {
	if len(d) == 0 {
		return 0
	}
	slices.Sort(d)
	return float64(d[int(q*float64(len(d)-1))]) / float64(time.Millisecond)
}

// produce lets n producers write until all messages are durable, each its next one when the one before is
// durable, and returns how long each took.
func produce(n, messages int, write func() error) ([]time.Duration, error) {
	var wg sync.WaitGroup
	took := make([][]time.Duration, n)
	errs := make([]error, n)
	for i := range n {
		wg.Go(func() {
			for range messages / n {
				began := time.Now()
				if errs[i] = write(); errs[i] != nil {
					return
				}
				took[i] = append(took[i], time.Since(began))
			}
		})
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return nil, err
		}
	}
	return slices.Concat(took...), nil
}

// BenchmarkDurable measures how many messages a second become durable, and after how long. The baseline is the
// plain way in the same directory: append and fsync, one after the other.
func BenchmarkDurable(b *testing.B) {
	for _, producers := range []int{1, 8, 64} {
		b.Run(fmt.Sprint("producers=", producers), func(b *testing.B) {
			dir := b.TempDir()
			const messages = 4096
			var ours, plain []time.Duration
			var ourTime, plainTime time.Duration
			for b.Loop() {
				began := time.Now()
				ours = append(ours, benchJournal(b, dir, producers, messages)...)
				ourTime += time.Since(began)
				began = time.Now()
				plain = append(plain, benchPlain(b, dir, producers, messages)...)
				plainTime += time.Since(began)
			}
			rate := float64(len(ours)) / ourTime.Seconds()
			plainRate := float64(len(plain)) / plainTime.Seconds()
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(rate, "msgs/s")
			b.ReportMetric(quantile(ours, 0.99), "p99-ms")
			b.ReportMetric(plainRate, "plain-msgs/s")
			b.ReportMetric(quantile(plain, 0.99), "plain-p99-ms")
			b.ReportMetric(rate/plainRate, "ratio")
		})
	}
}

func benchJournal(b *testing.B, dir string, producers, messages int) []time.Duration {
	s, err := OpenStore(filepath.Join(dir, "state"))
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	r, err := s.Create(Meta{Run: "bench"}, Options{})
	if err != nil {
		b.Fatal(err)
	}
	message := make([]byte, 500)
	took, err := produce(producers, messages, func() error {
		if _, err := r.Append(Input, message); err != nil {
			return err
		}
		return r.Sync(context.Background())
	})
	if err != nil {
		b.Fatal(err)
	}
	if err := r.Close(); err != nil {
		b.Fatal(err)
	}
	if err := s.Remove("bench"); err != nil {
		b.Fatal(err)
	}
	return took
}

func benchPlain(b *testing.B, dir string, producers, messages int) []time.Duration {
	f, err := os.CreateTemp(dir, "plain")
	if err != nil {
		b.Fatal(err)
	}
	defer os.Remove(f.Name())
	defer f.Close()
	message := make([]byte, 500+frameHead)
	var mu sync.Mutex
	took, err := produce(producers, messages, func() error {
		mu.Lock()
		defer mu.Unlock()
		if _, err := f.Write(message); err != nil {
			return err
		}
		return syncData(f)
	})
	if err != nil {
		b.Fatal(err)
	}
	return took
}

// bigRun writes a journal of 100 MB, nearly all narration of 1 to 8 KB.
func bigRun(tb testing.TB, dir string) (*Store, int64) {
	s, err := OpenStore(dir)
	if err != nil {
		tb.Fatal(err)
	}
	r, err := s.Create(Meta{Run: "big"}, Options{MaxPending: 256 << 20})
	if err != nil {
		tb.Fatal(err)
	}
	text := randomBytes(8 << 10)
	var size int64
	for i := 0; size < 100<<20; i++ {
		kind, n := Narration, 1<<10+i*37%(7<<10)
		if i%20 == 0 {
			kind, n = Input, 300
		}
		if _, err := r.Append(kind, text[:n]); err != nil {
			tb.Fatal(err)
		}
		if size += int64(n + frameHead); i%500 == 0 {
			if err := r.Sync(tb.Context()); err != nil {
				tb.Fatal(err)
			}
		}
	}
	if err := r.Close(); err != nil {
		tb.Fatal(err)
	}
	return s, size
}

// BenchmarkRead100MB opens a run of 100 MB and reads its records. The baseline is reading the file.
func BenchmarkRead100MB(b *testing.B) {
	s, size := bigRun(b, filepath.Join(b.TempDir(), "state"))
	defer s.Close()
	var ours, plain time.Duration
	b.SetBytes(size)
	b.ReportAllocs()
	for b.Loop() {
		ours += readBig(b, s)
		b.StopTimer()
		began := time.Now()
		f, err := os.Open(filepath.Join(s.root.Path(), runsName, "big", segmentName(1)))
		if err != nil {
			b.Fatal(err)
		}
		if _, err := io.CopyBuffer(struct{ io.Writer }{io.Discard}, struct{ io.Reader }{f},
			make([]byte, windowSize)); err != nil {
			b.Fatal(err)
		}
		f.Close()
		plain += time.Since(began)
		b.StartTimer()
	}
	b.ReportMetric(ours.Seconds()*1000/float64(b.N), "ms")
	b.ReportMetric(plain.Seconds()*1000/float64(b.N), "plain-ms")
	b.ReportMetric(float64(ours)/float64(plain), "ratio")
}

// readBig opens, reads and closes the big run, and returns how long it took.
func readBig(tb testing.TB, s *Store) time.Duration {
	began := time.Now()
	inputs := 0
	rec, err := s.Read("big", func(r Record) error {
		if r.Kind == Input {
			inputs++
		}
		return nil
	})
	if err != nil || rec.Damage != nil || inputs == 0 {
		tb.Fatalf("%v, %+v, %d inputs", err, rec, inputs)
	}
	return time.Since(began)
}

// TestRead100MB: reading a journal does not allocate its size in memory again and again. BenchmarkRead100MB
// measures the time.
func TestRead100MB(t *testing.T) {
	testkit.WithoutRace(t)
	if testing.Short() {
		t.Skip("writes 100 MB")
	}
	s, _ := bigRun(t, filepath.Join(t.TempDir(), "state"))
	defer s.Close()
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	readBig(t, s)
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 32<<20 {
		t.Errorf("a resume of 100 MB allocates %d MB", n>>20)
	}
}

// BenchmarkAppend is the cost of a batch of one record of 500 bytes, without the disk.
func BenchmarkAppend(b *testing.B) {
	payload, seed := make([]byte, 500), seedOf(testRun)
	var buf []byte
	var prev uint32
	for b.Loop() {
		buf = appendFrame(buf[:0], 1, Input, payload)
		prev = chainBatch(buf, seed, prev)
	}
}
