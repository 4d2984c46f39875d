package decider

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/decision"
)

// midway is a task in its middle: a plan of twenty steps, and a full window.
func midway() decision.Record {
	r := record()
	for i := range 20 {
		status := "pending"
		if i < 10 {
			status = "complete"
		}
		r.Steps = append(r.Steps, step(status, developer))
	}
	for i := range 12 {
		add(&r, ran(developer, i+1, ok))
	}
	return r
}

// BenchmarkDecide compares the deciders on one input. The asker answers at once: what is
// measured is what deciding costs beside the model.
func BenchmarkDecide(b *testing.B) {
	dir, err := OpenDirStore(b.TempDir(), 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	defer dir.Close()
	asker := instant{}
	model := Model{Ask: asker, Prompts: plain{}}
	for _, c := range []struct {
		name string
		d    Decider
	}{
		{"rules", Rules{}},
		{"asking", model},
		{"hit in memory", Cached{Of: model, Store: NewMemoryStore(0)}},
		{"hit on disk", Cached{Of: model, Store: dir}},
		{"hybrid, clear", Hybrid{Rest: model}},
	} {
		b.Run(c.name, func(b *testing.B) {
			in := decision.Evaluate(midway())
			if _, err := c.d.EvaluateProgress(context.Background(), in); err != nil { // fills the cache
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := c.d.EvaluateProgress(context.Background(), in); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

type instant struct{}

// BenchmarkRules compares the rules with reading their input, which whoever asks a model
// has to write, and a model to read.
func BenchmarkRules(b *testing.B) {
	in := decision.Evaluate(midway())
	raw, err := json.Marshal(in)
	if err != nil {
		b.Fatal(err)
	}
	var ruled, read time.Duration
	b.ReportAllocs()
	for b.Loop() {
		began := time.Now()
		for range 100 {
			if d, _ := (Rules{}).Evaluate(in); d.Decision == "" {
				b.Fatal("no decision")
			}
		}
		ruled += time.Since(began)
		began = time.Now()
		for range 100 {
			var again decision.EvaluateProgressInput
			if err := json.Unmarshal(raw, &again); err != nil {
				b.Fatal(err)
			}
		}
		read += time.Since(began)
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64(ruled.Nanoseconds())/float64(100*b.N), "ns/decision")
	b.ReportMetric(float64(read.Nanoseconds())/float64(100*b.N), "unmarshal-ns/decision")
	b.ReportMetric(float64(ruled)/float64(read), "×unmarshal")
}

func (instant) Ask(context.Context, Question) (Answer, error) { return Answer{Text: test}, nil }

func BenchmarkParseDecision(b *testing.B) {
	agents := builtIn()
	text := "Well {then}:\n```json\n" + test + "\n```\n"
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := parseDecision(text, decision.PointEvaluate, agents); err != nil {
			b.Fatal(err)
		}
	}
}
