package runstore

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestHaltWithoutANote: when the note cannot be written, as on a full disk, the agents are ended nevertheless, and the
// error says what is still to do.
func TestHaltWithoutANote(t *testing.T) {
	dir, run := t.TempDir(), "aaaa1111-unnoted"
	testkit.OK(t, os.Mkdir(filepath.Join(dir, haltName), 0o700)) // no file can have that name
	agent := exec.Command("sleep", "60")
	agent.Env = os.Environ()
	child := testkit.Must(proctree.Start(agent, proctree.Mark{Run: run}))(t)
	defer child.KillNow()
	_, killed, left, err := KillBridge(dir, run)
	testkit.Fails(t, "no warning", err, "end its process, too")
	testkit.Check(t, killed == 1 && len(left) == 0, "killed %d, left %v", killed, left)
	<-child.Done()
}

// mortalGit makes one call of git kill itself: the call that counts the number in a file down to zero. It returns
// functions that set and read the count.
func mortalGit(t *testing.T) (set func(n int), left func() int) {
	t.Helper()
	real := testkit.Must(exec.LookPath("git"))(t)
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
	testkit.OK(t, os.WriteFile(filepath.Join(dir, "git"), []byte(script), 0o700))
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
	set = func(n int) {
		testkit.OK(t, os.WriteFile(count, []byte(strconv.Itoa(n)+"\n"), 0o600))
	}
	return set, func() int {
		raw := testkit.Must(os.ReadFile(count))(t)
		return testkit.Must(strconv.Atoi(strings.TrimSpace(string(raw))))(t)
	}
}

// TestGitIsKilled kills each call of git in turn (in CI every few calls only) while an agent's directory is
// created, its work merged and its files recorded. None of these operations fails.
func TestGitIsKilled(t *testing.T) {
	set, left := mortalGit(t)
	stride := gittest.Stride(29)
	for name, do := range map[string]func(p filesProject) (problem string){
		"a new directory": func(p filesProject) string {
			place := runconfig.Place{Agent: "orch-1", Generation: 1, Kind: runconfig.IsolationWorktree}
			if _, _, err := p.files.Place(ctx, place); err != nil {
				return err.Error()
			}
			return ""
		},
		"a snapshot": func(p filesProject) string {
			r := p.files.Record(ctx, input.ChangeRecord{Own: "orch-1", Base: p.files.Workspace.Base})
			if len(r.Files) != 1 {
				return fmt.Sprintf("%+v", r)
			}
			return r.Failed
		},
		"a merge": func(p filesProject) string {
			m := p.files.Merge(ctx, input.IsolationMerge{Serial: 7, Agent: "orch-1"})
			if m.Status != input.StatusMerged || len(m.Files) != 1 {
				return fmt.Sprintf("%+v", m)
			}
			return m.Failed
		},
	} {
		for n, over := 1, false; !over; n += stride {
			set(0) // nothing is killed yet
			p := begin(t, runconfig.IsolationWorktree)
			if name != "a new directory" {
				p.place("orch-1", runconfig.IsolationWorktree, "").Write("other", "changed\n")
			}
			set(n)
			problem := do(p)
			over = left() > 0
			testkit.Check(t, problem == "", "call %d of %s: %s", n, name, problem)
		}
	}
}

var ctx = context.Background()

func TestMain(m *testing.M) {
	gittest.Main(m, gittest.Operations{
		// merge merges the work of orch-1 in the repository args[0]. The agents have their directories in args[1].
		"merge": func(step func(string), args []string) error {
			f, err := ResumeFiles(ctx, gittest.Options(args[0], step), args[1], args[2])
			if err == nil {
				f.Merge(ctx, input.IsolationMerge{Agent: "orch-1"})
			}
			return err
		},
		// record records the files after a turn of the agent args[3], or at the end if it is empty.
		"record": func(step func(string), args []string) error {
			f, err := ResumeFiles(ctx, gittest.Options(args[0], step), args[1], args[2])
			if err == nil {
				f.Record(ctx, recording(f, args[3]))
			}
			return err
		},
	})
}

// filesProject is a run in a repository.
type filesProject struct {
	gittest.Dir
	files *Files
}

func begin(t testing.TB, isolationMode string) filesProject {
	t.Helper()
	d := gittest.New(t, map[string]string{"shared": "first\n2\n3\n4\n5\nlast\n", "other": "1\n"})
	f, err := BeginFiles(ctx, gittest.Options(d.Path, nil), filepath.Join(gittest.Temp(t), "work"), isolationMode)
	d.Must(err)
	return filesProject{d, f}
}

// place creates a directory for an agent.
func (p filesProject) place(agent, kind, after string) gittest.Dir {
	p.Helper()
	_, env, err := p.files.Place(ctx, runconfig.Place{Agent: agent, Generation: 1, Kind: kind, After: after})
	p.Must(err)
	if env != nil {
		p.Errorf("%s commits as somebody else than the user: %v", agent, env)
	}
	return gittest.Dir{TB: p.TB, Path: p.files.Workspace.Dir(agent)}
}

// TestPlacesAtOnce: a directory is created although another start, or a snapshot, records the shared files meanwhile.
func TestPlacesAtOnce(t *testing.T) {
	d, work := gittest.New(t, map[string]string{"other": "1\n"}), filepath.Join(gittest.Temp(t), "work")
	var meanwhile func()
	f, err := BeginFiles(ctx, gittest.Options(d.Path, func(step string) {
		if do := meanwhile; do != nil && step == "git commit-tree" {
			meanwhile = nil
			do()
		}
	}), work, runconfig.IsolationShared)
	d.Must(err)
	other, err := ResumeFiles(ctx, gittest.Options(d.Path, nil), work, runconfig.IsolationShared)
	d.Must(err)
	d.Write("other", "2\n")
	meanwhile = func() {
		d.Write("other", "3\n")
		_, err := other.repo.Again(ctx, workspace.End)
		d.Must(err)
	}
	filesProject{d, f}.place("orch-1", runconfig.IsolationWorktree, "")
	testkit.Check(t, meanwhile == nil, "nothing was recorded meanwhile")
}

func (p filesProject) merge(agent string) input.Merged {
	p.Helper()
	m := p.files.Merge(ctx, input.IsolationMerge{Serial: 7, Agent: agent})
	if m.Serial != 7 || m.Failed != "" {
		p.Fatalf("merge of %s: %+v", agent, m)
	}
	return m
}

// record takes a snapshot of an agent's directory, and returns the files that the agent has changed.
func (p filesProject) record(agent, since string) (commit string, paths []string) {
	p.Helper()
	r := p.files.Record(ctx, input.ChangeRecord{Own: agent, Base: p.files.Workspace.Base, Last: since, Since: since})
	if r.Failed != "" {
		p.Fatal(r.Failed)
	}
	for _, f := range r.Files {
		if !slices.Contains(r.Paths, f.Path) {
			p.Errorf("%s is in one list only: %+v", f.Path, r)
		}
		paths = append(paths, f.Path)
	}
	return r.Commit, paths
}

// TestOwnChanges: the changes of an agent are found, committed or not, before and after they were merged. What it
// merged from others does not count, except for the conflicts that it resolved.
func TestOwnChanges(t *testing.T) {
	for _, kind := range []string{"worktree", "clone"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			p := begin(t, kind)
			one, two := p.place("orch-1", kind, ""), p.place("orch-2", kind, "")
			one.Write("shared", "first\n2\n3\n4\n5\nONE\n", "new", "1\n")
			before, paths := p.record("orch-1", "")
			testkit.Check(t, slices.Equal(paths, []string{"new", "shared"}), "not committed: %v", paths)
			one.Commit("work")
			p.merge("orch-1")
			one.Write("other", "2\n")
			after, paths := p.record("orch-1", before)
			testkit.Check(t, slices.Equal(paths, []string{"other"}), "committed and merged meanwhile: %v", paths)
			again, paths := p.record("orch-1", after)
			testkit.Check(t, again == after && len(paths) == 0, "nothing changed: %v, %s after %s", paths, again, after)
			two.Write("two", "1\n", "shared", "first\n2\n3\n4\n5\nTWO\n")
			m := p.merge("orch-2")
			testkit.Need(t, m.Status == input.StatusConflict && slices.Equal(m.Files, []string{"shared"}) &&
				m.Head == p.Git("rev-parse", p.files.main()), "%+v", m)
			base, _ := p.record("orch-2", "")
			_, _ = two.Command("merge", m.Head).CombinedOutput() // this fails
			two.Write("shared", "first\n2\n3\n4\n5\nONE\nTWO\n")
			two.Commit("both")
			_, paths = p.record("orch-2", base)
			testkit.Check(t, slices.Equal(paths, []string{"shared"}), "resolved: %v", paths)
			if m := p.merge("orch-2"); m.Status != input.StatusMerged || !slices.Equal(m.Files, []string{"shared", "two"}) {
				t.Errorf("%+v", m)
			}
			reads := gittest.Dir{TB: t, Path: p.files.Workspace.Dir("arbiter")}
			testkit.Same(t, "the Arbiter reads", "-rw-r--r-- first\n2\n3\n4\n5\nONE\nTWO\n", reads.Files()["shared"])
		})
	}
}

// TestRunBranchIsGone: without the run branch nothing is merged, or else the result would lack what was merged before.
// When the branch is back, the run goes on.
func TestRunBranchIsGone(t *testing.T) {
	p := begin(t, runconfig.IsolationWorktree)
	for _, agent := range []string{"orch-1", "orch-2"} {
		p.place(agent, runconfig.IsolationWorktree, "").Write(agent, "made\n")
	}
	p.merge("orch-1")
	main := strings.TrimPrefix(p.files.main(), "refs/heads/")
	last := p.Git("rev-parse", main)
	p.Git("branch", "--quiet", "-D", main)
	gone := func(what, failed string) {
		testkit.Check(t, strings.Contains(failed, "is gone: put it back"), "%s: %q", what, failed)
	}
	gone("merge", p.files.Merge(ctx, input.IsolationMerge{Agent: "orch-2"}).Failed)
	gone("record", p.files.Record(ctx, input.ChangeRecord{Branch: true}).Failed)
	for _, place := range []runconfig.Place{{Agent: "arbiter"},
		{Agent: "orch-3", Generation: 1, Kind: runconfig.IsolationWorktree}} {
		_, _, err := p.files.Place(ctx, place)
		gone(place.Agent, fmt.Sprint(err))
	}
	p.Git("branch", main, last)
	p.merge("orch-2")
	testkit.Same(t, "merged", "orch-1\norch-2\nother\nshared", p.Git("ls-tree", "--name-only", main))
}

// TestMergeIntoSharedFiles: the work of an isolated agent is merged into the files that the others share, next to
// their later changes. Nothing is committed there. A file whose difference the agent already knows is not a conflict.
func TestMergeIntoSharedFiles(t *testing.T) {
	p := begin(t, "shared")
	p.Write("other", "others, uncommitted\n")
	private := p.Private()
	one := p.place("orch-1", "worktree", "")
	testkit.Check(t, one.Files()["other"] == "-rw-r--r-- others, uncommitted\n", "it begins with %v", one.Files())
	one.Write("shared", "ONE\n2\n3\n4\n5\nlast\n")
	p.Write("shared", "first\n2\n3\n4\n5\nLAST\n")
	if m := p.merge("orch-1"); m.Status != input.StatusMerged || !slices.Equal(m.Files, []string{"shared"}) {
		t.Fatalf("%+v", m)
	}
	got := p.Files()
	testkit.Check(t, got["shared"] == "-rw-r--r-- ONE\n2\n3\n4\n5\nLAST\n" &&
		got["other"] == "-rw-r--r-- others, uncommitted\n", "shared files %v", got)
	// The agent continues with the same line, and so do the others.
	one.Write("shared", "ONE more\n2\n3\n4\n5\nlast\n")
	p.Write("shared", "OTHERS\n2\n3\n4\n5\nLAST\n")
	m := p.merge("orch-1")
	testkit.Need(t, m.Status == input.StatusConflict && slices.Equal(m.Files, []string{"shared"}), "%+v", m)
	testkit.Same(t, "a conflict changed the file", "-rw-r--r-- OTHERS\n2\n3\n4\n5\nLAST\n", p.Files()["shared"])
	_, _ = one.Command("merge", m.Head).CombinedOutput() // this fails
	m = p.merge("orch-1")
	testkit.Check(t, m.Status == input.StatusUnfinished && m.Detail == "merge", "in the middle of a merge: %+v", m)
	one.Write("shared", "OTHERS and ONE\n2\n3\n4\n5\nLAST\n")
	one.Commit("both")
	p.Write("other", "others, again\n")
	m = p.merge("orch-1")
	testkit.Need(t, m.Status == input.StatusMerged, "%+v", m)
	got = p.Files()
	testkit.Check(t, got["shared"] == "-rw-r--r-- OTHERS and ONE\n2\n3\n4\n5\nLAST\n" &&
		got["other"] == "-rw-r--r-- others, again\n", "shared files %v", got)
	testkit.Same(t, "the user's own part of the repository", private, p.Private())
	messages, err := p.files.Remove(ctx)
	testkit.Check(t, err == nil && len(messages) == 0, "removed: %q, %v", messages, err)
}

// TestSuccessorContinues: a successor continues with the work of its predecessor, committed or not. When the
// directories are removed, unmerged work is reported and stays on its branch, and uncommitted work is saved.
func TestSuccessorContinues(t *testing.T) {
	p := begin(t, "worktree")
	one := p.place("orch-1", "worktree", "")
	one.Write("new", "half\n")
	two := p.place("orch-2", "clone", "orch-1")
	testkit.Same(t, "the successor has", "-rw-r--r-- half\n", two.Files()["new"])
	three := p.place("orch-3", "worktree", "orch-9")
	three.Write("three", "3\n")
	three.Commit("three")
	three.Write("three", "not committed\n")
	two.Write("new", "whole\n")
	p.merge("orch-2")
	testkit.OK(t, os.RemoveAll(one.Path)) // by a human
	messages, err := p.files.Remove(ctx)
	want := []string{
		"uncommitted work of orch-3 is saved in refs/arbiter/" + gittest.RUN8 + "/orch-3/wip",
		"the work of orch-3 was not merged: it is on branch arbiter/" + gittest.RUN8 + "/orch-3.1",
	}
	diff := cmp.Diff(want, messages)
	testkit.Check(t, diff == "" && err == nil, "removed, %v, -want +got:\n%s", err, diff)
	left, err := os.ReadDir(p.files.Workspace.Own)
	testkit.Check(t, err == nil && len(left) == 0 && !strings.Contains(p.Git("worktree", "list"), "\n"), "left %v, %v",
		left, err)
	testkit.Same(t, "merged", "whole", p.Git("show", p.files.main()+":new"))
}

// stride skips steps in CI, because most steps are alike, especially those of a clone.
func stride(kind string) int {
	if kind == "clone" {
		return gittest.Stride(29)
	}
	return gittest.Stride(17)
}

// TestMergeKilled kills a merge after each step: the next call finishes it with the same result.
func TestMergeKilled(t *testing.T) {
	for _, mode := range []string{"worktree", "clone", "shared"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			kind := "worktree"
			if mode == "clone" {
				kind = mode
			}
			for n := 1; ; n += stride(kind) {
				p := begin(t, mode)
				one := p.place("orch-1", kind, "")
				one.Write("new", "1\n")
				one.Commit("work")
				one.Write("shared", "ONE\n2\n3\n4\n5\nlast\n")
				private := p.Private()
				killed := gittest.Killed(t, "merge", n, p.Path, p.files.Workspace.Own, mode)
				m := p.merge("orch-1")
				testkit.Check(t, m.Status == input.StatusMerged &&
					(mode == "shared" || slices.Equal(m.Files, []string{"new", "shared"})), "killed after step %d: %+v",
					n, m)
				tree := map[string]string{}
				if mode != "shared" {
					tree = p.Tree(p.files.main())
				} else {
					for name, text := range p.Files() {
						tree[name] = strings.Replace(text, "-rw-r--r--", "100644", 1)
					}
				}
				want := map[string]string{"new": "100644 1\n", "other": "100644 1\n", "shared": "100644 ONE\n2\n3\n4\n5\nlast\n"}
				testkit.Same(t, fmt.Sprintf("killed after step %d", n), want, tree)
				testkit.Same(t, fmt.Sprintf("killed after step %d: the user's own part of the repository", n), private,
					p.Private())
				testkit.Same(t, fmt.Sprintf("killed after step %d: its directory", n), "",
					one.Git("status", "--porcelain"))
				if !killed {
					testkit.Check(t, n >= 5, "only %d steps", n-1)
					break
				}
			}
		})
	}
}

// recording returns the effect that records the files after a turn of an agent with its own directory, or at the
// end.
func recording(f *Files, agent string) input.ChangeRecord {
	r := input.ChangeRecord{Own: agent, Base: f.Workspace.Base, Keep: "handoff-1"}
	r.Branch = agent == "" && f.Workspace.Isolated()
	r.Final = agent == "" && !r.Branch
	return r
}

// TestRecordKilled kills a recording after each step: the next call records the same.
func TestRecordKilled(t *testing.T) {
	for name, c := range map[string]struct{ mode, kind, agent string }{
		"shared": {"shared", "", ""}, "worktree": {"worktree", "worktree", "orch-1"},
		"clone": {"worktree", "clone", "orch-1"}, "run branch": {"worktree", "worktree", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var want input.SnapshotTaken
			for n := 0; ; n += stride(c.kind) {
				p := begin(t, c.mode)
				there := p.Dir
				if c.kind != "" {
					there = p.place("orch-1", c.kind, "")
				}
				there.Write("shared", "ONE\n")
				if c.agent != "" {
					there.Commit("work")
				}
				there.Write("new", "1\n")
				private := p.Private()
				killed := n == 0 || gittest.Killed(t, "record", n, p.Path, p.files.Workspace.Own, c.mode, c.agent)
				got := p.files.Record(ctx, recording(p.files, c.agent))
				got.Commit = "" // its time differs
				if got.Total != nil {
					got.Total.Head = ""
				}
				if n == 0 {
					want = got
				}
				diff := cmp.Diff(want, got)
				testkit.Check(t, diff == "" && got.Failed == "" && got.Tree != "", "killed after step %d, -want +got:\n%s", n, diff)
				testkit.Same(t, fmt.Sprintf("killed after step %d: the user's part changed", n), private, p.Private())
				if !killed {
					break
				}
			}
		})
	}
}

// TestSuccessorBringsAllIntoSharedFiles: work that a predecessor left unmerged reaches the shared files with the
// work of its successor or of a later one. Work that was merged before is not merged again.
func TestSuccessorBringsAllIntoSharedFiles(t *testing.T) {
	p := begin(t, "shared")
	one := p.place("orch-1", "worktree", "")
	one.Write("merged", "1\n")
	p.merge("orch-1")
	p.Write("merged", "2\n") // by another agent, in the shared files
	one.Write("left", "by the first\n")
	two := p.place("orch-2", "worktree", "orch-1")
	two.Write("more", "by the second\n")
	three := p.place("orch-3", "worktree", "orch-2")
	three.Write("rest", "by the third\n")
	p.merge("orch-3")
	files := p.Files()
	for name, want := range map[string]string{
		"left": "by the first\n", "more": "by the second\n", "rest": "by the third\n", "merged": "2\n",
	} {
		got := files[name]
		testkit.Check(t, strings.HasSuffix(got, " "+want), "%s is %q, want %q", name, got, want)
	}
}

// TestSpendingIsReadOnce: what a run that is over has cost is noted, and only what its event log has had since is read:
// also after a resume, and if a crash took lines that had been read.
func TestSpendingIsReadOnce(t *testing.T) {
	root := t.TempDir()
	store := testkit.Must(journal.OpenStore(root))(t)
	defer store.Close()
	r, id := &Runs{store, root}, "aaaa1111-spends"
	run := testkit.Must(store.Create(journal.Meta{Run: id, CWD: root}, journal.Options{}))(t)
	seq := uint64(0)
	spend := func(run *journal.Run, bodies ...contract.Body) {
		t.Helper()
		var lines []journal.LogContent
		for _, body := range bodies {
			seq++
			line := testkit.Must(contract.EncodeLine(nil, seq, time.Now(), contract.Event{ID: "orch-1", Body: body}))(t)
			lines = append(lines, journal.LogContent{At: time.Now(), Line: line})
		}
		testkit.OK(t, run.AppendEvents(lines...))
	}
	turn := contract.Turn{CostUSD: 1, Usage: bridge.Usage{Output: 1}, Outcome: "done", MessageIDs: []string{}}
	spend(run, contract.Session{Session: id}, turn, turn, contract.Cost{CostUSD: 0.5, Usage: bridge.Usage{Output: 7}})
	end := func(run *journal.Run) {
		t.Helper()
		testkit.OK(t, run.Close())
	}
	end(run)
	expect := func(when string, rows, running float64) *Spent {
		t.Helper()
		s := testkit.Must(r.Spent(t.Context(), journal.Info{Meta: journal.Meta{Run: id}}, nil))(t)
		usd := 0.0
		for _, row := range s.Rows {
			usd += row.CostUSD
		}
		testkit.Check(t, usd == rows && s.Live() == running, "%s: $%v, and $%v of running turns, want %v and %v", when,
			usd, s.Live(), rows, running)
		return s
	}
	first := expect("at first", 2, 0.5)
	stopped, cancel := context.WithCancel(t.Context())
	cancel() // nothing is read
	noted, _ := r.Spent(stopped, journal.Info{Meta: journal.Meta{Run: id}}, nil)
	testkit.Same(t, "what was noted", first, noted)
	before := testkit.Must(os.ReadFile(filepath.Join(r.Dir(id), journal.LogName)))(t)
	resume := func(bodies ...contract.Body) {
		t.Helper()
		run, _, err := store.Open(id, 0, journal.Options{}, func(*journal.Recovered) ([]byte, error) { return nil, nil })
		testkit.OK(t, err)
		spend(run, bodies...)
		end(run)
	}
	resume(contract.Session{Session: id, Resumed: true}, turn)
	expect("after a resume, the running turn is lost", 3.5, 0)
	testkit.OK(t, os.WriteFile(filepath.Join(r.Dir(id), journal.LogName), before, 0o600))
	expect("after a crash that took lines", 2, 0.5)
	resume(turn, turn, turn, turn)
	expect("and another resume", 6, 0)
	testkit.OK(t, os.WriteFile(filepath.Join(root, spendingName, id+".json"), []byte("{"), 0o600))
	expect("without the note", 6, 0)
	known, log := expect("before it cannot be read", 6, 0), filepath.Join(r.Dir(id), journal.LogName)
	testkit.OK(t, os.Rename(log, log+".away"))
	testkit.OK(t, os.Mkdir(log, 0o700))
	now, err := r.Spent(t.Context(), journal.Info{Meta: journal.Meta{Run: id}}, known)
	testkit.Check(t, err != nil && now.Sum() == 6, "while it cannot be read: %v, $%v", err, now.Sum())
}
