package workspace_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// TestGitKilled: git itself is killed during a command, as by a system that is out of memory. The next call
// of the same operation continues, and nothing is lost.
func TestGitKilled(t *testing.T) {
	timeout, err := exec.LookPath("timeout")
	if !testkit.AtNight() || err != nil {
		t.Skip("takes long, and needs timeout")
	}
	files := map[string]string{}
	for n := range 300 {
		files[fmt.Sprintf("d%d/f%d", n%20, n)] = fmt.Sprintln(n)
	}
	template := gittest.New(t, files)
	random := rand.New(rand.NewPCG(1, 1))
	killed := 0
	for round := range 30 {
		kind := kinds[round%2]
		d := template.Copy()
		program := filepath.Join(gittest.Temp(t), "git")
		script := fmt.Sprintf("#!/bin/sh\nexec %s -s KILL %f git \"$@\"\n", timeout, 0.002+random.Float64()*0.02)
		d.Must(os.WriteFile(program, []byte(script), 0o755))
		root := filepath.Join(gittest.Temp(t), "work")
		o := gittest.Options(d.Path, nil)
		var sound, weak *workspace.Worktrees
		r, err := workspace.Open(ctx, o)
		d.Must(err)
		sound, err = workspace.OpenWorktrees(r, root)
		d.Must(err)
		mortal := *r
		mortal.Git.Program = program
		weak, err = workspace.OpenWorktrees(&mortal, root)
		d.Must(err)

		if _, err := weak.Create(ctx, spec(1, kind)); err != nil {
			killed++
		}
		w, err := sound.Create(ctx, spec(1, kind))
		if err != nil {
			t.Fatalf("round %d, %s: %v", round, kind, err)
		}
		there := gittest.Dir{TB: t, Path: w.Dir}
		if status := there.Git("status", "--porcelain"); status != "" {
			t.Fatalf("round %d, %s: %s", round, kind, status)
		}
		there.Write("d1/f1", "wip\n")
		there.Write("new", "wip\n")
		if _, err := weak.Remove(ctx, w, false); err != nil {
			killed++
		}
		if _, err := sound.Remove(ctx, w, false); err != nil {
			t.Fatalf("round %d, %s: %v", round, kind, err)
		}
		want := template.Tree("trunk")
		want["d1/f1"], want["new"] = "100644 wip\n", "100644 wip\n"
		if diff := cmp.Diff(want, d.Tree(r.Ref("orch-1/wip"))); diff != "" {
			t.Fatalf("round %d, %s: saved (-want +got):\n%s", round, kind, diff)
		}
	}
	if killed < 10 {
		t.Errorf("only %d operations were interrupted", killed)
	}
}
