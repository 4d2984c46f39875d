package runstore

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// mortalGit makes one call of git kill itself: the call that counts the number in a file down to zero. It returns
// functions that set and read the count.
func mortalGit(t *testing.T) (set func(n int), left func() int) {
	t.Helper()
	real, err := exec.LookPath("git")
	if err != nil {
		t.Fatal(err)
	}
	dir := gittest.Temp(t)
	count := filepath.Join(dir, "count")
	script := fmt.Sprintf(`#!/bin/sh
if [ -s %[1]s ]; then
	read n < %[1]s
	echo $((n - 1)) > %[1]s
	if [ "$n" = 1 ]; then kill -9 $$; fi
fi
exec %[2]s "$@"
`, count, real)
	if err := os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	set = func(n int) {
		if err := os.WriteFile(count, []byte(strconv.Itoa(n)+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return set, func() int {
		raw, err := os.ReadFile(count)
		if err != nil {
			t.Fatal(err)
		}
		n, err := strconv.Atoi(strings.TrimSpace(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
}

// TestGitIsKilled kills each call of git in turn (in CI every few calls only) while an agent's directory is
// created, its work merged and its files recorded. None of these operations fails.
func TestGitIsKilled(t *testing.T) {
	set, left := mortalGit(t)
	stride := gittest.Stride(29)
	for n, over := 1, false; !over; n += stride {
		set(0) // nothing is killed yet
		p := begin(t, runconfig.IsolationWorktree)
		set(n)
		place := runconfig.Place{Agent: "orch-1", Generation: 1, Kind: runconfig.IsolationWorktree}
		_, _, err := p.files.Place(ctx, place)
		over = left() > 0
		if err != nil {
			t.Errorf("call %d of a new directory: %v", n, err)
		}
	}
	for n, over := 1, false; !over; n += stride {
		set(0) // nothing is killed yet
		p := begin(t, runconfig.IsolationWorktree)
		d := p.place("orch-1", runconfig.IsolationWorktree, "")
		d.Write("other", "changed\n")
		set(n)
		r := p.files.Record(ctx, input.ChangeRecord{Own: "orch-1", Base: p.files.Workspace.Base})
		over = left() > 0
		if r.Failed != "" || len(r.Files) != 1 {
			t.Errorf("call %d of a snapshot: %+v", n, r)
		}
	}
	for n, over := 1, false; !over; n += stride {
		set(0) // nothing is killed yet
		p := begin(t, runconfig.IsolationWorktree)
		d := p.place("orch-1", runconfig.IsolationWorktree, "")
		d.Write("other", "changed\n")
		set(n)
		m := p.files.Merge(ctx, input.IsolationMerge{Serial: 7, Agent: "orch-1"})
		over = left() > 0
		if m.Failed != "" || m.Status != input.StatusMerged || len(m.Files) != 1 {
			t.Errorf("call %d of a merge: %+v", n, m)
		}
	}
}
