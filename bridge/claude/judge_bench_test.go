package claude

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
)

// BenchmarkJudgedToolCall measures a tool call of the stand-in that is judged, against one
// that is not, in turns of many calls.
func BenchmarkJudgedToolCall(b *testing.B) {
	const calls = 100
	file := filepath.Join(b.TempDir(), "file")
	if err := os.WriteFile(file, []byte("x\n"), 0o600); err != nil {
		b.Fatal(err)
	}
	self, err := os.Executable()
	if err != nil {
		b.Fatal(err)
	}
	stage := func(judged bool) func() {
		var script []reply
		for range calls {
			script = append(script, reply{tools: []call{{"Read", map[string]any{"file_path": file}}}})
		}
		script = append(script, reply{text: "done"})
		model := startAPI(b)
		s := prepare(b, bridge.ClaudeSpec{Path: self, Args: []string{standInArg}}, model.env())
		s.cfg.Judged, s.cfg.AllowedTools = judged, []string{"Read"}
		s.launch()
		return func() {
			model.then(script...)
			s.turn("go")
		}
	}
	plain, judged := stage(false), stage(true)
	var without, with time.Duration
	for b.Loop() { // in turns, so that a busy machine is busy for both
		begun := time.Now()
		plain()
		between := time.Now()
		judged()
		without, with = without+between.Sub(begun), with+time.Since(between)
	}
	n := float64(b.N * calls)
	b.ReportMetric(float64(with.Nanoseconds())/n, "ns/call")
	b.ReportMetric(float64(without.Nanoseconds())/n, "unjudged-ns/call")
	b.ReportMetric(float64((with-without).Nanoseconds())/n, "added-ns/call")
	b.ReportMetric(float64(with)/float64(without), "x-unjudged")
}
