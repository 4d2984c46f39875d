package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"os"
	"strings"
	"testing"
	"time"
)

// files is a connection made of the ends of two pipes.
type files struct{ r, w *os.File }

func (f files) Read(b []byte) (int, error)  { return f.r.Read(b) }
func (f files) Write(b []byte) (int, error) { return f.w.Write(b) }
func (f files) Close() error                { f.r.Close(); return f.w.Close() }

func filePair(b *testing.B) (near, far files) {
	b.Helper()
	r1, w1, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	r2, w2, err := os.Pipe()
	if err != nil {
		b.Fatal(err)
	}
	return files{r1, w2}, files{r2, w1}
}

// echo is the cheapest possible exchange: one line in each direction.
func echo(b *testing.B, rounds int, line []byte) time.Duration {
	near, far := filePair(b)
	done := make(chan struct{})
	go func() { defer close(done); io.Copy(far.w, far.r); far.Close() }()
	r := bufio.NewReader(near)
	begun := time.Now()
	for range rounds {
		near.Write(line)
		if _, err := r.ReadSlice('\n'); err != nil {
			b.Fatal(err)
		}
	}
	took := time.Since(begun)
	near.w.Close()
	<-done
	near.r.Close()
	return took
}

// BenchmarkBridge measures a request and its answer, and a request with an event
// and its answer, against a raw echo of the same bytes in the same run.
func BenchmarkBridge(b *testing.B) {
	near, far := filePair(b)
	l := &fakeLauncher{}
	served := make(chan error, 1)
	go func() { served <- NewServer(l, ServerOptions{}).Serve(context.Background(), far) }()
	events := make(chan struct{}, 1024)
	c := NewClient(near, &recorder{event: func(ev Event) {
		if _, ok := ev.Body.(Delta); ok {
			events <- struct{}{}
		}
	}}, nil)
	defer func() { c.Close(); <-served }()
	ctx := b.Context()
	ref := AgentRef{"orch-1", 1}
	if _, err := c.Initialize(ctx, InitializeParams{Run: "r"}); err != nil {
		b.Fatal(err)
	}
	if _, err := c.Spawn(ctx, spawnParams("orch-1", 1)); err != nil {
		b.Fatal(err)
	}
	line := []byte(`{"id":"c123456","jsonrpc":"2.0","method":"context","params":{"id":"orch-1","generation":1}}` + "\n")

	measure := func(b *testing.B, op func()) {
		b.ReportAllocs()
		for b.Loop() {
			op()
		}
		ours := b.Elapsed()
		raw := echo(b, b.N, line)
		b.ReportMetric(float64(raw.Nanoseconds())/float64(b.N), "raw-ns/op")
		b.ReportMetric(float64(ours)/float64(raw), "x-raw")
	}
	b.Run("request", func(b *testing.B) {
		measure(b, func() {
			if _, err := c.Context(ctx, ref); err != nil {
				b.Fatal(err)
			}
		})
	})
	agent := l.agent(ref)
	b.Run("event", func(b *testing.B) {
		measure(b, func() {
			agent.host.Emit(Event{Body: Delta{Text: "some words of prose, as they arrive"}})
			<-events
		})
	})
	b.Run("event_stream", func(b *testing.B) { // a thousand at a time, as a busy turn sends them
		b.ReportAllocs()
		sent := 0
		for b.Loop() {
			agent.host.Emit(Event{Body: Delta{Text: "some words of prose, as they arrive"}})
			if sent++; sent%1000 == 0 {
				for range 1000 {
					<-events
				}
			}
		}
		for range sent % 1000 {
			<-events
		}
	})
}

func BenchmarkEventCodec(b *testing.B) {
	ev := Event{AgentRef{"orch-1", 1}, Assistant{Text: strings.Repeat("some prose, ", 40), ContextPct: 12.25}}
	data, _ := ev.MarshalJSON()
	b.Run("encode", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			if _, err := eventLine(ev); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("decode", func(b *testing.B) {
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			if _, _, err := decodeEvent(data); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("plain_unmarshal", func(b *testing.B) { // the baseline
		b.ReportAllocs()
		b.SetBytes(int64(len(data)))
		for b.Loop() {
			var a Assistant
			if err := json.Unmarshal(data, &a); err != nil {
				b.Fatal(err)
			}
		}
	})
}
