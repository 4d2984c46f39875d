package host

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// begun returns a machine for the tests' run.
func begun(t *testing.T, data string) (*RemoteMachine, bridge.RemoteInfo) {
	t.Helper()
	for _, entry := range gittest.Environ() {
		if name, value, _ := strings.Cut(entry, "="); name != "TMPDIR" && name != "PATH" && name != "HOME" {
			t.Setenv(name, value)
		}
	}
	t.Setenv("HOME", filepath.Dir(data))
	m := &RemoteMachine{Data: data}
	info := testkit.Must(m.Begin(t.Context(), bridge.Owner{Run: gittest.Run, Bridge: "box"},
		bridge.RemoteParams{Version: "test", LeaseMS: 60_000}))(t)
	return m, info
}

// TestWork follows an Orchestrator's work: a base is pushed, a directory is created, uncommitted changes are
// committed on its branch, and later ones are saved when the directory is removed.
func TestWork(t *testing.T) {
	for _, kind := range []string{"worktree", "clone"} {
		t.Run(kind, func(t *testing.T) {
			near := gittest.New(t, map[string]string{"sub/a": "1\n"})
			base := strings.TrimSpace(near.Git("rev-parse", "HEAD"))
			m, info := begun(t, filepath.Join(gittest.Temp(t), "data"))
			near.Git("push", "-q", info.Cache, base+":refs/arbiter/"+gittest.RUN8+"/pushed/"+base)
			prepare := bridge.PrepareWorkParams{Orchestrator: 1, Generation: 2, Kind: kind, Base: base, Subdir: "sub"}
			w := testkit.Must(m.PrepareWork(t.Context(), prepare))(t)
			dir := filepath.Join(info.Dir, gittest.RUN8, "orch-1")
			testkit.Check(t, w.Dir == dir && w.CWD == filepath.Join(dir, "sub") &&
				w.Branch == "arbiter/"+gittest.RUN8+"/orch-1.2", "prepared: %+v", w)
			if again, err := m.PrepareWork(t.Context(), prepare); err != nil || again.Dir != w.Dir {
				t.Errorf("prepared again: %+v, %v", again, err)
			}
			writeRemoteHost(t, filepath.Join(w.CWD, "a"), "2\n")
			done, err := m.CommitWork(t.Context(), bridge.CommitWorkParams{Orchestrator: 1, Message: "work"})
			testkit.Need(t, err == nil && done.Head != base && done.Branch == w.Branch, "committed: %+v, %v", done, err)
			near.Git("fetch", "-q", info.Cache, "refs/heads/"+w.Branch+":refs/heads/fetched")
			testkit.Same(t, "fetched", "2", near.Git("show", "fetched:sub/a"))
			writeRemoteHost(t, filepath.Join(w.CWD, "new"), "left\n")
			saved, err := m.RemoveWork(t.Context(), bridge.RemoveWorkParams{Orchestrator: 1, Head: done.Head})
			testkit.Check(t, err == nil && saved.Ref != "", "removed: %+v, %v", saved, err)
			testkit.Fails(t, "the directory is there", testkit.Err(os.Lstat(w.Dir)), os.ErrNotExist)
			if _, err := os.Lstat(filepath.Dir(w.Dir)); !errors.Is(err, os.ErrNotExist) {
				t.Errorf("the directory of the run is there: %v", err)
			}
			testkit.Same(t, "left in the cache", "",
				near.Git("ls-remote", info.Cache, "refs/heads/*", "refs/arbiter/*/pushed/*"))
			near.Git("fetch", "-q", info.Cache, saved.Ref+":refs/heads/saved")
			testkit.Same(t, "saved", "left", near.Git("show", "saved:sub/new"))
			_, err = m.CommitWork(t.Context(), bridge.CommitWorkParams{Orchestrator: 1, Message: "work"})
			rpc, ok := errors.AsType[*bridge.RPCError](err)
			testkit.Check(t, ok && rpc.Category == bridge.CatWorkspace, "a commit in a directory that is gone: %v", err)
		})
	}
}

// TestWorkBesideAReaper: a bridge reaps orphans, but must not reap git.
func TestWorkBesideAReaper(t *testing.T) {
	release := testkit.Must(proctree.BecomeSubreaper())(t)
	defer release()
	near := gittest.New(t, map[string]string{"a": "1\n"})
	base := strings.TrimSpace(near.Git("rev-parse", "HEAD"))
	m, info := begun(t, filepath.Join(gittest.Temp(t), "data"))
	push := near.Command("push", "-q", info.Cache, base+":refs/arbiter/"+gittest.RUN8+"/base")
	ended := testkit.Must(proctree.Keep(push))(t)
	testkit.OK(t, push.Wait())
	ended()
	w := testkit.Must(m.PrepareWork(t.Context(), bridge.PrepareWorkParams{Orchestrator: 1, Generation: 1, Kind: "worktree",
		Base: base}))(t)
	for i := range 10 {
		writeRemoteHost(t, filepath.Join(w.CWD, "a"), strings.Repeat("x", i+2))
		_, err := m.CommitWork(t.Context(), bridge.CommitWorkParams{Orchestrator: 1, Message: "work"})
		testkit.Need(t, err == nil, "commit %d: %v", i, err)
	}
}

// TestBegin: all bridges share one directory, and a directory with shell metacharacters is refused.
func TestBegin(t *testing.T) {
	data := filepath.Join(gittest.Temp(t), "data")
	_, first := begun(t, data)
	_, second := begun(t, data)
	testkit.Check(t, first.Cache == second.Cache && first.Home == filepath.Dir(data) &&
		strings.HasPrefix(first.Cache, first.Dir+"/"), "told %+v, then %+v", first, second)
	for _, dir := range []string{filepath.Join(data, "a b"), filepath.Join(data, "$(id)"), "/dev/null/x"} {
		_, err := (&RemoteMachine{}).Begin(t.Context(), bridge.Owner{Run: gittest.Run}, bridge.RemoteParams{Dir: dir})
		rpc, ok := errors.AsType[*bridge.RPCError](err)
		testkit.Check(t, ok && rpc.Category == bridge.CatHost, "%s: %v", dir, err)
	}
	info, err := (&RemoteMachine{}).Begin(t.Context(), bridge.Owner{Run: gittest.Run},
		bridge.RemoteParams{Dir: "~/agents"})
	testkit.Check(t, err == nil && info.Dir == filepath.Join(filepath.Dir(data), "agents"), "below the home: %+v, %v",
		info, err)
}

// TestResolve: links are resolved as in the kernel, for all paths of a request.
func TestResolve(t *testing.T) {
	dir := gittest.Temp(t)
	writeRemoteHost(t, filepath.Join(dir, "file"), "x")
	for link, to := range map[string]string{"link": "file", "nowhere": "/no/such", "circle": "circle"} {
		testkit.OK(t, os.Symlink(to, filepath.Join(dir, link)))
	}
	paths := testkit.Each([]string{"file", "link", "nowhere", "new", "circle", "file/below"},
		func(name string) string { return filepath.Join(dir, name) })
	got := (&RemoteMachine{}).Resolve(t.Context(), paths)
	for i, want := range []bridge.ResolvedPath{{Path: paths[0], Exists: true}, {Path: paths[0], Exists: true},
		{Path: "/no/such", Exists: true}, {Path: paths[3]}} {
		testkit.Same(t, paths[i], want, got[i])
	}
	for _, i := range []int{4, 5} {
		testkit.Check(t, got[i].Error != "" && got[i].Path == "", "%s: %+v", paths[i], got[i])
	}
}

// TestInventory: hashes do not depend on the path of the workspace, so a copy elsewhere has the same hashes.
func TestInventory(t *testing.T) {
	list := func() (r bridge.InventoryResult) {
		dir := gittest.Temp(t)
		testkit.OK(t, os.MkdirAll(filepath.Join(dir, ".claude"), 0o700))
		writeRemoteHost(t, filepath.Join(dir, ".claude", "real.json"),
			`{"hooks":{"Stop":[{"hooks":[{"type":"command","command":"x"}]}]}}`)
		testkit.OK(t, os.Symlink("real.json", filepath.Join(dir, ".claude", "settings.json")))
		r = testkit.Must((&RemoteMachine{}).Inventory(t.Context(), bridge.InventoryParams{Dir: dir}))(t)
		return r
	}
	one, two := list(), list()
	testkit.Need(t, len(one.Items) >= 3 && len(one.Items) == len(two.Items), "%d and %d items", len(one.Items),
		len(two.Items))
	for i := range one.Items {
		testkit.Check(t, one.Items[i] == two.Items[i], "%+v, in a copy %+v", one.Items[i], two.Items[i])
	}
}

func writeRemoteHost(t *testing.T, path, text string) {
	t.Helper()
	testkit.OK(t, os.WriteFile(path, []byte(text), 0o600))
}
