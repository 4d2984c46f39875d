package workspace_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

func TestCreateKilled(t *testing.T) {
	for _, kind := range kinds {
		d := gittest.New(t, project)
		d.Write(".env", "1\n")
		for n := 1; ; n++ {
			c := d.Copy()
			root := filepath.Join(filepath.Dir(c.Path), "work")
			if !gittest.Killed(t, "create", n, c.Path, root, string(kind)) {
				if n < 3 {
					t.Errorf("%s: only %d steps", kind, n-1)
				}
				break
			}
			m, err := workspace.OpenWorktrees(c.Open(nil), root)
			c.Must(err)
			w, err := m.Create(ctx, spec(1, kind))
			if err != nil {
				t.Errorf("%s, killed after step %d: %v", kind, n, err)
				continue
			}
			there := gittest.Dir{TB: t, Path: w.Dir}
			if status := there.Git("status", "--porcelain"); status != "" || w.Included != 1 ||
				there.Files()[".env"] == "" {
				t.Errorf("%s, killed after step %d: %q, %+v", kind, n, status, w)
			}
		}
	}
}

// TestUnfinishedIsRemoved: nothing remains of a Create that was killed at any step.
func TestUnfinishedIsRemoved(t *testing.T) {
	for _, kind := range kinds {
		for n := 1; ; n++ {
			d := gittest.New(t, map[string]string{"a": "1\n"})
			root := filepath.Join(gittest.Temp(t), "work")
			if !gittest.Killed(t, "create", n, d.Path, root, string(kind)) {
				break
			}
			m, err := workspace.OpenWorktrees(d.Open(nil), root)
			d.Must(err, m.RemoveUnfinished(ctx))
			left, err := os.ReadDir(root)
			all, listErr := m.List()
			d.Must(err, listErr)
			if len(all) == 0 && len(left) > 0 || len(all) == 0 && strings.Contains(d.Git("worktree", "list"), "\n") {
				t.Errorf("%s, killed after step %d: left %v; %s", kind, n, left, d.Git("worktree", "list"))
			}
		}
	}
}

func TestRemoveKilled(t *testing.T) {
	for _, kind := range kinds {
		for n := 1; ; n++ {
			d := gittest.New(t, map[string]string{"a": "1\n"})
			m, r := manager(d)
			w, err := m.Create(ctx, spec(1, kind))
			d.Must(err)
			there := gittest.Dir{TB: t, Path: w.Dir}
			there.Write("a", "wip\n")
			there.Write("b", "wip\n")
			killed := gittest.Killed(t, "remove", n, d.Path, filepath.Dir(w.Dir), string(kind))
			if _, err := m.Remove(ctx, w, false); err != nil {
				t.Errorf("%s, killed after step %d: %v", kind, n, err)
			}
			want := map[string]string{"a": "100644 wip\n", "b": "100644 wip\n"}
			if diff := cmp.Diff(want, d.Tree(r.Ref("orch-1/wip"))); diff != "" {
				t.Errorf("%s, killed after step %d:\n%s", kind, n, diff)
			}
			left, err := os.ReadDir(filepath.Dir(w.Dir))
			if err != nil || len(left) > 0 || strings.Contains(d.Git("worktree", "list"), "\n") {
				t.Errorf("%s, killed after step %d: left %v, %v; %s", kind, n, left, err, d.Git("worktree", "list"))
			}
			if !killed {
				if n < 5 {
					t.Errorf("%s: only %d steps", kind, n-1)
				}
				break
			}
		}
	}
}

func TestReaderKilled(t *testing.T) {
	d := gittest.New(t, project)
	for n := 1; ; n++ {
		c := d.Copy()
		root := filepath.Join(filepath.Dir(c.Path), "work")
		if !gittest.Killed(t, "read", n, c.Path, root, "") {
			break
		}
		m, err := workspace.OpenWorktrees(c.Open(nil), root)
		c.Must(err)
		dir, err := m.Reader(ctx, "trunk")
		if err != nil || (gittest.Dir{TB: t, Path: dir}).Git("status", "--porcelain") != "" {
			t.Errorf("killed after step %d: %v", n, err)
		}
	}
}
