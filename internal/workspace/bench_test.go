package workspace_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// BenchmarkSnapshot records a work tree of 100,000 files, of which ten have changed, and compares that with git status.
func BenchmarkSnapshot(b *testing.B) {
	d := gittest.Dir{TB: b, Path: gittest.Temp(b)}
	d.Git("init", "-q", "-b", "trunk")
	for i := range 1000 {
		dir := filepath.Join(d.Path, fmt.Sprintf("d%d/e%d", i%40, i))
		d.Must(os.MkdirAll(dir, 0o755))
		for j := range 100 {
			d.Must(os.WriteFile(filepath.Join(dir, fmt.Sprintf("f%d.txt", j)), fmt.Appendln(nil, i%7, j), 0o644))
		}
	}
	d.Commit("first")
	d.Git("status")
	r := testkit.Must(workspace.Open(ctx, gittest.Options(d.Path, nil)))(d)
	var status, snapshot time.Duration
	n := 0
	for b.Loop() {
		n++
		for i := range 10 {
			d.Write(fmt.Sprintf("d%d/e%d/f0.txt", i, i), fmt.Sprintln("changed", n))
		}
		begun := time.Now()
		d.Git("--no-optional-locks", "status", "--porcelain")
		status += time.Since(begun)
		begun = time.Now()
		_, err := r.Again(ctx, "bench")
		snapshot += time.Since(begun)
		d.Must(err)
	}
	ms := func(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 / float64(n) }
	b.ReportMetric(ms(snapshot), "snapshot-ms")
	b.ReportMetric(ms(status), "status-ms")
	b.ReportMetric(float64(snapshot)/float64(status), "x-status")
}
