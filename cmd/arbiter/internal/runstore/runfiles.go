package runstore

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"image"
	_ "image/gif" // formats that models read
	_ "image/jpeg"
	_ "image/png"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"syscall"
	"time"

	_ "golang.org/x/image/webp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// This part of the package carries out the supervisor's effects on files with Git: it records the files of a
// run, gives agents their own directories, and merges their work.
//
// It connects [workspace] and its packages, which know Git but not agents, with the supervisor's parts [changes]
// and [isolation], which compute these effects.

// again calls do, and calls it once more if Git failed: a halt or the end of a bridge may have killed a running
// Git. do must be repeatable.
func again[T any](ctx context.Context, do func() (T, error)) (T, error) {
	done, err := do()
	if _, ok := errors.AsType[*git.Error](err); ok && ctx.Err() == nil {
		return do()
	}
	return done, err
}

// FarFiles reaches the directories of agents on other hosts. Its methods must be safe for concurrent use.
type FarFiles interface {
	// IsRemote reports whether an agent works on another host.
	IsRemote(agent string) bool
	// Prepare creates the directory of an agent there, starting from a commit of this repository, or returns the
	// existing one.
	Prepare(ctx context.Context, repo *workspace.Repo, p runconfig.Place, base string) (runconfig.Worktree, error)
	// Bring commits an agent's uncommitted work there, and fetches its branch. It waits for a lost host until ctx
	// ends.
	Bring(ctx context.Context, repo *workspace.Repo, agent, message string) (Brought, error)
	// Give pushes a commit to the host where an agent works.
	Give(ctx context.Context, repo *workspace.Repo, agent, commit string) error
	// Remove removes the directory and the branch of an agent there. head is the commit of the branch that was
	// fetched.
	Remove(ctx context.Context, repo *workspace.Repo, agent, head string) error
}

// Brought is the work of an agent on another host after it was fetched.
type Brought struct {
	workspace.Worktree        // also with an error, as far as it is known here
	Head, Tree         string // of its branch
}

// isFar reports whether an agent works on another host.
func (f *Files) isFar(agent string) bool { return f.Far != nil && f.Far.IsRemote(agent) }

// prepareFar creates the directory of an agent on its host.
func (f *Files) prepareFar(ctx context.Context, p runconfig.Place) (runconfig.Worktree, error) {
	from, err := f.beginning(ctx, p)
	if err != nil {
		return runconfig.Worktree{}, err
	}
	base, err := f.repo.Commit(ctx, from)
	if err == nil && base.ID == "" {
		err = fmt.Errorf("there is no commit %s to begin with", from)
	}
	if err != nil {
		return runconfig.Worktree{}, err
	}
	return f.Far.Prepare(ctx, f.repo, p, base.ID)
}

// recordFar records the files of an agent on another host: it fetches what the agent has done so far.
func (f *Files) recordFar(ctx context.Context, e input.ChangeRecord, taken *input.SnapshotTaken) error {
	b, err := f.Far.Bring(ctx, f.repo, e.Own, "Work of "+e.Own)
	if err != nil {
		return err
	}
	taken.Commit, taken.Tree = b.Head, b.Tree
	if err := f.keep(ctx, e.Keep, b.Head); err != nil {
		return err
	}
	return f.compare(ctx, f.known(ctx, e.Last, b.Base), f.known(ctx, e.Since, b.Base), nil, taken)
}

// handOverTimeout is how long a successor waits for the last work of its predecessor, if the predecessor's host does
// not answer.
const handOverTimeout = 30 * time.Second

// handedOverFar is [Files.handed] for a predecessor on another host. If that host cannot be reached, it returns the
// last commit that was fetched.
func (f *Files) handedOverFar(ctx context.Context, agent string) (commit, base string, err error) {
	soon, cancel := context.WithTimeout(ctx, handOverTimeout)
	defer cancel()
	b, err := f.Far.Bring(soon, f.repo, agent, "Unfinished work of "+agent)
	if err == nil || b.Branch == "" || ctx.Err() != nil {
		return b.Head, b.Base, err
	}
	last, err := f.repo.Commit(ctx, "refs/heads/"+b.Branch)
	if err == nil && last.ID == "" {
		return b.Base, b.Base, nil // nothing was fetched yet
	}
	return last.ID, b.Base, err
}

// RemoveFar removes the directory of an agent on another host after the end of a run, if the run has all of its
// work. Otherwise the directory is kept, and text says so. where describes its place.
func (f *Files) RemoveFar(ctx context.Context, agent, where string) (text string) {
	b, err := f.Far.Bring(ctx, f.repo, agent, "Unfinished work of "+agent)
	has := false
	if err == nil {
		has, err = f.has(ctx, b.Worktree, b.Head)
	}
	if err == nil && has {
		err = f.Far.Remove(ctx, f.repo, agent, b.Head)
	}
	switch {
	case err != nil:
		return fmt.Sprintf("the directory of %s was left %s: %v", agent, where, err)
	case !has:
		return fmt.Sprintf("the work of %s was not merged: it is on branch %s, and %s", agent, b.Branch, where)
	}
	return ""
}

// Files are the files of one run. It has no state besides Git's, and is safe for concurrent use.
type Files struct {
	Workspace   runconfig.Workspace
	Uncommitted int // user's files that differ from HEAD, which isolated agents do not see. New runs only

	// Notice says what of the repository's own configuration does not run; empty if there is nothing.
	Notice string

	// Far reaches other hosts; nil: all agents work here. It is set before the files are used.
	Far FarFiles

	repo    *workspace.Repo
	planted atomic.Pointer[string] // the last warning
}

// BeginFiles takes the first snapshot of a new run, and creates the run branch if the run is isolated. own is the
// parent of the agents' own directories; its parent exists. Errors are those of [workspace.Open]: without Git, or
// without a commit, there are neither snapshots nor isolation.
func BeginFiles(ctx context.Context, o workspace.Options, own, isolation string) (*Files, error) {
	f, err := OpenFiles(ctx, o, own, isolation)
	if err != nil {
		return nil, err
	}
	began := make(chan error, 1)
	go func() { began <- f.repo.Begin(ctx) }()
	base, err := f.repo.Once(ctx, workspace.Base)
	if err = errors.Join(err, <-began); err != nil {
		return nil, fmt.Errorf("the files could not be recorded, so there are no diffs: %w", err)
	}
	f.Workspace.Base = base.Commit.ID
	if !f.Workspace.Isolated() {
		return f, nil
	}
	uncommitted, err := f.repo.Delta(ctx, base.Head, base.Commit.ID)
	if err != nil {
		return nil, err
	}
	paths := make([]string, len(uncommitted))
	for i, c := range uncommitted {
		paths[i] = c.Path
	}
	unfiltered, err := f.repo.Unfiltered(ctx, paths) // they differ because no filter has run
	if err != nil {
		return nil, err
	}
	f.Uncommitted = len(uncommitted) - len(unfiltered)
	branch, err := f.repo.Commit(ctx, f.main())
	if err != nil || branch.ID != "" {
		return f, err
	}
	return f, f.repo.Move(ctx, "arbiter: created", workspace.Update{Ref: f.main(), New: base.Head})
}

// ResumeFiles finds the first snapshot, which an earlier process of the run took, or that of the run from which this
// one branched off. Error: [workspace.ErrNoSnapshot] if there is none.
func ResumeFiles(ctx context.Context, o workspace.Options, own, isolation string) (*Files, error) {
	f, err := OpenFiles(ctx, o, own, isolation)
	if err != nil {
		return nil, err
	}
	if err := f.placeMain(ctx); err != nil {
		return nil, fmt.Errorf("the files of the forked run: %w", err)
	}
	base, err := f.repo.Find(ctx, workspace.Base)
	if err != nil {
		return nil, err
	}
	if base.Commit.ID == "" {
		return nil, workspace.ErrNoSnapshot
	}
	f.Workspace.Base = base.Commit.ID
	return f, nil
}

// OpenFiles opens the files of a run without looking for snapshots. Errors are those of [workspace.Open].
func OpenFiles(ctx context.Context, o workspace.Options, own, isolation string) (*Files, error) {
	repo, err := workspace.Open(ctx, o)
	if err != nil {
		return nil, err
	}
	parent, err := filepath.EvalSymlinks(filepath.Dir(own))
	if err != nil {
		return nil, err
	}
	return &Files{repo: repo, Notice: repo.Notice(), Workspace: runconfig.Workspace{
		Root: repo.Root, Prefix: repo.Prefix, Objects: filepath.Join(repo.CommonDir, "objects"),
		Own: filepath.Join(parent, filepath.Base(own)), Isolation: isolation,
	}}, nil
}

// plantedTimeout bounds the search for what agents may have planted.
const plantedTimeout = 10 * time.Second

// Planted returns a warning about what git would run or use, and was not there when the run began; empty if there is
// nothing new: what the run's record says is not said again at its end.
func (f *Files) Planted(ctx context.Context) string {
	ctx, cancel := context.WithTimeout(ctx, plantedTimeout)
	defer cancel()
	text, err := f.repo.Planted(ctx)
	if err != nil {
		text = fmt.Sprintf("it is not known whether agents have left something that git would run: %v", err)
	}
	if last := f.planted.Swap(&text); last != nil && *last == text {
		return ""
	}
	return text
}

func (f *Files) main() string { return f.repo.Branch(workspace.Main) }

// mainHead returns the commit of the run branch. Without the branch nothing may go on: a new one would lack the work
// that was merged before.
func (f *Files) mainHead(ctx context.Context) (workspace.Commit, error) {
	head, err := f.repo.Commit(ctx, f.main())
	if err == nil && head.ID == "" {
		err = fmt.Errorf("the run branch %s is gone: put it back on its last commit with git branch %[1]s COMMIT "+
			"(git fsck --no-reflogs lists commits that no branch has)", strings.TrimPrefix(f.main(), "refs/heads/"))
	}
	return head, err
}

// attempts is how often an operation that another process may disturb is tried.
const attempts = 5

// undisturbed calls do again when another process has changed the same files meanwhile.
func undisturbed[T any](do func() (T, error)) (done T, err error) {
	for range attempts {
		if done, err = do(); !errors.Is(err, workspace.ErrMoved) {
			return done, err
		}
	}
	return done, errors.New("other processes change the same files all the time: end them")
}

// Merge merges an agent's work: into the run branch if all agents are isolated, otherwise into the run's directory.
// It first commits the agent's uncommitted changes. A call after a crash has the same result.
func (f *Files) Merge(ctx context.Context, e input.IsolationMerge) input.Merged {
	m, err := again(ctx, func() (input.Merged, error) { return f.merge(ctx, e) })
	if err != nil {
		m = input.Merged{Failed: err.Error()}
	}
	m.Serial = e.Serial
	return m
}

func (f *Files) merge(ctx context.Context, e input.IsolationMerge) (input.Merged, error) {
	if f.isFar(e.Agent) {
		return f.mergeFar(ctx, e.Agent)
	}
	dirs, w, err := f.mustFind(e.Agent)
	if err != nil {
		return input.Merged{}, err
	}
	work, err := dirs.Commit(ctx, w, "Work of "+e.Agent)
	if unfinished, ok := errors.AsType[*workspace.UnfinishedError](err); ok {
		return input.Merged{Status: input.StatusUnfinished, Detail: unfinished.Operation}, nil
	}
	if err != nil {
		return input.Merged{}, err
	}
	return f.into(ctx, w, e.Agent, work.Head)
}

// mergeFar fetches the work of an agent on another host, and merges it. On a conflict it pushes the commit that the
// agent has to merge.
func (f *Files) mergeFar(ctx context.Context, agent string) (input.Merged, error) {
	b, err := f.Far.Bring(ctx, f.repo, agent, "Work of "+agent)
	if err != nil {
		return input.Merged{}, err
	}
	m, err := f.into(ctx, b.Worktree, agent, b.Head)
	if err == nil && m.Status == input.StatusConflict {
		err = f.Far.Give(ctx, f.repo, agent, m.Head)
	}
	return m, err
}

// into merges a commit into the run branch, or into the shared files.
func (f *Files) into(ctx context.Context, w workspace.Worktree, agent, head string) (input.Merged, error) {
	into := f.intoBranch
	if !f.Workspace.Isolated() {
		into = f.intoShared
	}
	return undisturbed(func() (input.Merged, error) { return into(ctx, w, agent, head) })
}

// intoBranch merges a commit into the run branch.
func (f *Files) intoBranch(
	ctx context.Context, w workspace.Worktree, agent, head string,
) (input.Merged, error) {
	if _, err := f.mainHead(ctx); err != nil {
		return input.Merged{}, err
	}
	r, err := workspace.MergeInto(ctx, f.repo, f.main(), head, "Merge the work of "+agent)
	if err != nil {
		return input.Merged{}, err
	}
	if r.Status == workspace.MergeConflict {
		return input.Merged{Status: input.StatusConflict, Head: r.Head, Files: r.Files}, nil
	}
	if err := f.read(ctx, r.Head); err != nil {
		return input.Merged{}, err
	}
	if r.Status == workspace.MergeNothing { // perhaps merged by a killed call
		if r.Before, err = f.beforeMerge(ctx, w, head); err != nil {
			return input.Merged{}, err
		}
	}
	return f.merged(ctx, r.Before, r.Head)
}

// beforeMerge returns the commit of the run branch before the last merge of a commit.
func (f *Files) beforeMerge(ctx context.Context, w workspace.Worktree, head string) (string, error) {
	found, err := f.repo.Commits(ctx, f.main(), f.main()+"^1", f.main()+"^2")
	switch {
	case err != nil:
		return "", err
	case found[2].ID == head:
		return found[1].ID, nil
	case found[0].ID == head:
		return w.Base, nil
	}
	return found[0].ID, nil
}

func (f *Files) merged(ctx context.Context, before, after string) (input.Merged, error) {
	m := input.Merged{Status: input.StatusMerged, Head: after, Files: []string{}}
	delta, err := f.repo.Delta(ctx, before, after)
	for _, c := range delta {
		m.Files = append(m.Files, c.Path)
	}
	return m, err
}

// Names of commits that record what an agent's directory and the shared files have of each other.
const (
	synced  = "/synced"  // commit of the agent that the shared files have
	offered = "/offered" // snapshot of the shared files that the agent was asked to merge
)

// mergeBase returns the merge base for merging the work of a directory into the shared files: the last state of
// these files that the directory is known to have.
func (f *Files) mergeBase(ctx context.Context, w workspace.Worktree, agent, head string) (string, error) {
	found, err := f.repo.Commits(ctx, f.repo.Ref(agent+offered), f.repo.Ref(agent+synced))
	if err != nil {
		return "", err
	}
	for _, c := range found {
		if c.ID == "" {
			continue
		}
		has, err := workspace.Contains(ctx, f.repo, head, c.ID)
		if err != nil {
			return "", err
		}
		if has {
			return c.ID, nil
		}
	}
	return w.Base, nil
}

// intoShared merges a commit into the files that the others share, without committing there. Snapshots are not
// descendants of each other, so the merge base is the snapshot that the directory is known to have.
func (f *Files) intoShared(
	ctx context.Context, w workspace.Worktree, agent, head string,
) (input.Merged, error) {
	base, err := f.mergeBase(ctx, w, agent, head)
	if err != nil {
		return input.Merged{}, err
	}
	now, err := f.repo.Again(ctx, workspace.End)
	if err != nil {
		return input.Merged{}, err
	}
	tree, conflicts, err := workspace.TreesOver(ctx, f.repo, base, now.Commit.ID, head)
	if err != nil {
		return input.Merged{}, err
	}
	if len(conflicts) > 0 {
		err := f.keep(ctx, agent+offered, now.Commit.ID)
		return input.Merged{Status: input.StatusConflict, Head: now.Commit.ID, Files: conflicts}, err
	}
	if err := f.apply(ctx, now.Commit.ID, tree); err != nil {
		return input.Merged{}, err
	}
	for _, name := range []string{agent + synced, agent + offered} {
		if err := f.keep(ctx, name, head); err != nil {
			return input.Merged{}, err
		}
	}
	m, err := f.merged(ctx, now.Commit.ID, tree)
	m.Head = head
	return m, err
}

// apply changes the shared files from a snapshot to a tree. If a file was changed in the meantime, it fails with
// [workspace.ErrMoved]; a later snapshot then has the files that were already written.
func (f *Files) apply(ctx context.Context, from, to string) error {
	repo, unlock, err := f.repo.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	plan, err := workspace.PrepareApply(ctx, repo, from, to, nil)
	if err != nil {
		return err
	}
	if len(plan.Blocked) > 0 {
		return workspace.ErrMoved
	}
	late, err := plan.Run(ctx)
	if err == nil && len(late) > 0 {
		err = workspace.ErrMoved
	}
	return err
}

// Orchestrator returns the number of an Orchestrator from its id.
func Orchestrator(agent string) (int, error) {
	var n int
	_, err := fmt.Sscanf(agent, "orch-%d", &n)
	if err != nil || agent != fmt.Sprintf("orch-%d", n) {
		return 0, fmt.Errorf("%q is not an Orchestrator", agent)
	}
	return n, nil
}

// find returns the directory of an agent; Dir is empty if the agent has none.
func (f *Files) find(agent string) (*workspace.Worktrees, workspace.Worktree, error) {
	n, err := Orchestrator(agent)
	if err != nil {
		return nil, workspace.Worktree{}, err
	}
	dirs, err := workspace.OpenWorktrees(f.repo, f.Workspace.Own)
	if err != nil {
		return nil, workspace.Worktree{}, err
	}
	w, _, err := dirs.Find(n)
	w.Orchestrator = n
	return dirs, w, err
}

func (f *Files) mustFind(agent string) (*workspace.Worktrees, workspace.Worktree, error) {
	dirs, w, err := f.find(agent)
	if err == nil && w.Dir == "" {
		err = fmt.Errorf("%s has no directory of its own", agent)
	}
	return dirs, w, err
}

// Place creates the directory of an agent, or returns the existing one. It also returns the environment variables
// with the author of commits there, if the user's configuration has none. A call after a crash finishes the work.
func (f *Files) Place(ctx context.Context, p runconfig.Place) (runconfig.Worktree, map[string]string, error) {
	if p.Kind == "" {
		head, err := f.mainHead(ctx)
		if err == nil {
			err = f.read(ctx, head.ID)
		}
		return runconfig.Worktree{}, nil, err
	}
	create := f.create
	if f.isFar(p.Agent) {
		create = f.prepareFar
	}
	own, err := again(ctx, func() (runconfig.Worktree, error) { return create(ctx, p) })
	if err != nil {
		return own, nil, err
	}
	return own, workspace.Identity(workspace.Signer(ctx, f.repo)), nil
}

func (f *Files) create(ctx context.Context, p runconfig.Place) (runconfig.Worktree, error) {
	dirs, w, err := f.find(p.Agent)
	if err != nil {
		return runconfig.Worktree{}, err
	}
	from := w.Base
	if w.Dir == "" {
		if from, err = f.beginning(ctx, p); err != nil {
			return runconfig.Worktree{}, err
		}
	}
	w, err = dirs.Create(ctx, workspace.WorktreeSpec{
		Orchestrator: w.Orchestrator, Generation: p.Generation, Kind: workspace.WorktreeKind(p.Kind), From: from,
	})
	return runconfig.Worktree{Branch: w.Branch, Base: w.Base, Isolation: string(w.Kind)}, err
}

// beginning returns the first commit of a new directory: the work of a predecessor, or the work of the run so far.
func (f *Files) beginning(ctx context.Context, p runconfig.Place) (string, error) {
	if p.After != "" {
		head, base, err := f.handedOver(ctx, p.After)
		if err == nil && head != "" {
			err = f.continueFrom(ctx, p, base, head)
		}
		if err != nil || head != "" {
			return head, err
		}
	}
	if f.Workspace.Isolated() {
		head, err := f.mainHead(ctx)
		return head.ID, err
	}
	// With the others' uncommitted work. Another start, or a snapshot after a turn, may disturb it.
	now, err := undisturbed(func() (workspace.Snapshot, error) { return f.repo.Again(ctx, workspace.End) })
	return now.Commit.ID, err
}

// continueFrom records which part of a predecessor's work the shared files have. The rest is merged with the
// successor's work.
func (f *Files) continueFrom(ctx context.Context, p runconfig.Place, base, head string) error {
	if f.Workspace.Isolated() {
		return nil // Git knows it from the run branch
	}
	had, err := f.repo.Commit(ctx, f.repo.Ref(p.Agent+synced))
	if err != nil || had.ID != "" {
		return err
	}
	if base, err = f.mergeBase(ctx, workspace.Worktree{Base: base}, p.After, head); err != nil {
		return err
	}
	return f.keep(ctx, p.Agent+synced, base)
}

// handedOver returns the commit with all work of a predecessor, and the commit that its directory began with. They are
// empty if it had no directory of its own.
func (f *Files) handedOver(ctx context.Context, agent string) (head, base string, err error) {
	if f.isFar(agent) {
		return f.handedOverFar(ctx, agent)
	}
	dirs, w, err := f.find(agent)
	if err != nil || w.Dir == "" {
		return "", "", err
	}
	work, err := dirs.Commit(ctx, w, "Unfinished work of "+agent)
	if _, ok := errors.AsType[*workspace.UnfinishedError](err); !ok {
		return work.Head, w.Base, err
	}
	if _, err := dirs.Save(ctx, w); err != nil { // in the middle of a merge: continue with the committed work
		return "", "", err
	}
	head, err = dirs.Head(ctx, w)
	return head, w.Base, err
}

// read moves the directory of agents that only read to a commit.
func (f *Files) read(ctx context.Context, commit string) error {
	dirs, err := workspace.OpenWorktrees(f.repo, f.Workspace.Own)
	if err == nil {
		_, err = dirs.Reader(ctx, commit)
	}
	return err
}

// Record takes a snapshot and compares it with earlier ones. A snapshot that was requested from an earlier process
// is taken again.
func (f *Files) Record(ctx context.Context, e input.ChangeRecord) input.SnapshotTaken {
	record := f.record
	switch {
	case e.Own != "" && f.isFar(e.Own):
		record = f.recordFar
	case e.Own != "":
		record = f.recordOwn
	case e.Branch:
		record = f.recordBranch
	}
	taken, err := again(ctx, func() (input.SnapshotTaken, error) {
		taken := input.SnapshotTaken{Serial: e.Serial}
		err := record(ctx, e, &taken)
		return taken, err
	})
	if err != nil {
		taken = input.SnapshotTaken{Serial: e.Serial, Failed: err.Error()}
	}
	if e.Final {
		taken.Planted = f.Planted(ctx)
	}
	return taken
}

// record records the run's directory.
func (f *Files) record(ctx context.Context, e input.ChangeRecord, taken *input.SnapshotTaken) error {
	end, err := f.repo.Again(ctx, workspace.End)
	if errors.Is(err, workspace.ErrMoved) { // by the git of a killed process of this run
		end, err = f.repo.Again(ctx, workspace.End)
	}
	if err != nil {
		return err
	}
	taken.Commit, taken.Tree, taken.Left = end.Commit.ID, end.Commit.Tree, left(end.Problems)
	if err := f.keep(ctx, e.Keep, end.Commit.ID); err != nil || e.Tree {
		return err
	}
	if e.Final {
		taken.Total, err = f.total(ctx, e.Base, end.Commit.ID)
		return err
	}
	return f.compare(ctx, f.known(ctx, e.Last, e.Base), f.known(ctx, e.Since, e.Base), nil, taken)
}

// left limits the number of messages about files that could not be recorded, and drops git's last line, which only
// says that there are some.
func left(problems []string) []string {
	last := func(line string) bool { return strings.HasPrefix(line, "fatal:") }
	problems = slices.DeleteFunc(slices.Clone(problems), last)
	return problems[:min(len(problems), input.MaxLeft)]
}

// compare lists the differences between earlier commits and the new one. only limits it to some paths; nil: all.
func (f *Files) compare(
	ctx context.Context, last, since string, only map[string]bool, taken *input.SnapshotTaken,
) error {
	others := func(c workspace.Change) bool { return only != nil && !only[c.Path] }
	paths, err := f.repo.Delta(ctx, last, taken.Commit)
	if err != nil {
		return err
	}
	paths = slices.DeleteFunc(paths, others)
	for _, c := range paths[:min(len(paths), input.MaxPaths)] {
		taken.Paths = append(taken.Paths, c.Path)
	}
	files, err := f.repo.Changes(ctx, since, taken.Commit)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, others)
	for _, c := range files[:min(len(files), input.MaxPaths)] {
		taken.Files = append(taken.Files, contract.FileChange{
			Path: c.Path, Old: c.Old, Status: string(c.Status), Added: c.Added, Deleted: c.Deleted,
		})
	}
	return nil
}

// snapshotSubject begins the subject of a snapshot of an agent's own directory. The parent of the snapshot is the
// commit that was checked out there.
const snapshotSubject = "arbiter: files of "

// subject returns the first line of a commit's message; empty if there is no such commit.
func (f *Files) subject(ctx context.Context, commit string) string {
	text, _ := f.repo.Git.Text(ctx, "log", "-1", "--format=%s", commit)
	return text
}

// recordOwn records an agent's own directory. Changes that the agent merged from others do not count as its own.
func (f *Files) recordOwn(ctx context.Context, e input.ChangeRecord, taken *input.SnapshotTaken) error {
	dirs, w, err := f.mustFind(e.Own)
	if err != nil {
		return err
	}
	work, err := dirs.Work(ctx, w)
	if err != nil {
		return err
	}
	name := e.Own + "/end"
	old, err := f.repo.Find(ctx, name)
	if err != nil {
		return err
	}
	taken.Commit, taken.Tree, taken.Left = old.Commit.ID, work.Tree, left(work.Problems)
	if old.Commit.Tree != work.Tree || old.Head != work.Head {
		taken.Commit, err = f.repo.Record(ctx, nil, work.Tree, snapshotSubject+e.Own, work.Head)
		if err != nil {
			return err
		}
		if err := f.keep(ctx, name, taken.Commit); err != nil {
			return err
		}
	}
	if err := f.keep(ctx, e.Keep, taken.Commit); err != nil {
		return err
	}
	last := f.known(ctx, e.Last, w.Base)
	own, err := f.ownPaths(ctx, e.Own, last, work)
	if err != nil {
		return err
	}
	return f.compare(ctx, last, f.known(ctx, e.Since, w.Base), own, taken)
}

// ownPaths returns the files that an agent has changed since a snapshot of its directory, except by merging commits
// of others.
func (f *Files) ownPaths(
	ctx context.Context, agent, last string, work workspace.WorktreeWork,
) (map[string]bool, error) {
	found, err := f.repo.Commits(ctx, last, last+"^1")
	if err != nil {
		return nil, err
	}
	lastHead := found[0].ID // where its branch began
	if last != "" && strings.HasPrefix(f.subject(ctx, last), snapshotSubject) {
		lastHead = found[1].ID
	}
	// For the agent's own merges, this lists only the conflicts that it resolved.
	out, err := f.repo.Git.Do(ctx, git.Call{Args: []string{
		"log", "--first-parent", "--cc", "--name-only", "--no-renames", "-z", "--format=", work.Head, "--not", lastHead,
		"--exclude=" + f.repo.Branch(agent+".*"), "--glob=" + f.repo.Branch("orch-*"),
	}})
	if err != nil {
		return nil, err
	}
	own := map[string]bool{}
	for _, path := range workspace.Fields(out) {
		own[strings.TrimPrefix(path, "\n")] = true
	}
	for _, pair := range [][2]string{{work.Head, work.Tree}, {lastHead, found[0].ID}} { // uncommitted changes
		delta, err := f.repo.Delta(ctx, pair[0], pair[1])
		if err != nil {
			return nil, err
		}
		for _, c := range delta {
			own[c.Path] = true
		}
	}
	return own, nil
}

// recordBranch records the files of the run branch, and moves the directory of the reading agents to them.
func (f *Files) recordBranch(ctx context.Context, e input.ChangeRecord, taken *input.SnapshotTaken) error {
	head, err := f.mainHead(ctx)
	if err != nil {
		return err
	}
	taken.Commit, taken.Tree = head.ID, head.Tree
	if e.Tree {
		return f.read(ctx, head.ID)
	}
	base, err := f.repo.Git.Text(ctx, "merge-base", e.Base, head.ID)
	if err != nil {
		return err
	}
	taken.Total, err = f.total(ctx, base, head.ID)
	if err == nil {
		taken.Total.Branch = strings.TrimPrefix(f.main(), "refs/heads/")
	}
	return err
}

// keep sets an additional reference to a snapshot, if it has a name.
func (f *Files) keep(ctx context.Context, name, commit string) error {
	if name == "" {
		return nil
	}
	old, err := f.repo.Find(ctx, name)
	if err != nil {
		return err
	}
	update := workspace.Update{Ref: f.repo.Ref(name), Old: old.Commit.ID, New: commit}
	return f.repo.Move(ctx, "arbiter: snapshot", update)
}

// known returns a commit, or instead if the commit no longer exists: Git eventually removes snapshots without a
// reference.
func (f *Files) known(ctx context.Context, commit, instead string) string {
	if commit == "" {
		return instead
	}
	found, err := f.repo.Commit(ctx, commit)
	if err != nil || found.ID == "" {
		return instead
	}
	return commit
}

func (f *Files) total(ctx context.Context, base, end string) (*contract.ResultChanges, error) {
	files, err := f.repo.Changes(ctx, base, end)
	if err != nil {
		return nil, err
	}
	t := &contract.ResultChanges{Files: len(files), Head: end}
	for _, c := range files {
		t.Added += c.Added
		t.Deleted += c.Deleted
	}
	return t, nil
}

// Remove removes the directories of all agents after the end of a run. Their branches stay, and uncommitted work is
// saved in refs/arbiter/RUN8/orch-N/wip. It returns sentences about work that is not part of the run's result, and
// about directories that had to stay.
func (f *Files) Remove(ctx context.Context) (messages []string, err error) {
	dirs, err := workspace.OpenWorktrees(f.repo, f.Workspace.Own)
	if err != nil {
		return nil, err
	}
	all, err := dirs.List()
	if err != nil {
		return nil, err
	}
	for _, w := range all {
		text, removeErr := f.remove(ctx, dirs, w)
		messages, err = append(messages, text...), errors.Join(err, removeErr)
	}
	return messages, errors.Join(err, dirs.RemoveRest(ctx))
}

func (f *Files) remove(
	ctx context.Context, dirs *workspace.Worktrees, w workspace.Worktree,
) (messages []string, err error) {
	head := "refs/heads/" + w.Branch
	if _, gone := os.Lstat(w.Dir); gone == nil { // otherwise the files were deleted, and only the branch is left
		if head, err = dirs.Head(ctx, w); err != nil {
			return nil, err
		}
	}
	saved, err := dirs.Remove(ctx, w, false)
	if unsaved, ok := errors.AsType[*workspace.UnsavedError](err); ok {
		return []string{unsaved.Error()}, nil
	}
	if err != nil {
		return nil, err
	}
	if saved.Ref != "" {
		messages = append(messages, fmt.Sprintf("uncommitted work of orch-%d is saved in %s", w.Orchestrator, saved.Ref))
	}
	has, err := f.has(ctx, w, head)
	if err == nil && !has {
		messages = append(messages,
			fmt.Sprintf("the work of orch-%d was not merged: it is on branch %s", w.Orchestrator, w.Branch))
	}
	return messages, err
}

// has reports whether the run's result includes a commit of an agent: on the run branch, or for a shared run in the
// shared files. An agent without commits has nothing to merge.
func (f *Files) has(ctx context.Context, w workspace.Worktree, head string) (bool, error) {
	found, err := f.repo.Commits(ctx, head, f.main(), f.repo.Ref(fmt.Sprintf("orch-%d%s", w.Orchestrator, synced)))
	if err != nil || found[0].ID == "" || found[0].ID == w.Base {
		return err == nil, err
	}
	for _, target := range found[1:] {
		if target.ID == "" {
			continue
		}
		has, err := workspace.Contains(ctx, f.repo, target.ID, found[0].ID)
		if err != nil || has {
			return has, err
		}
	}
	return false, nil
}

// Revert undoes one change of the run, and updates the last snapshot. A call after a crash finishes the work.
func (f *Files) Revert(ctx context.Context, e input.Revert) input.Reverted {
	_, err := again(ctx, func() (struct{}, error) { return struct{}{}, RevertFiles(ctx, f.repo, e) })
	done := input.Reverted{Serial: e.Serial}
	switch refused, ok := errors.AsType[*workspace.RefusedError](err); {
	case ok:
		done.Refused = refused.Reason
	case err != nil:
		done.Refused = err.Error()
	}
	return done
}

// RevertFiles undoes one change of a run in its repository. Errors: [workspace.RefusedError], and errors of Git or the
// file system, after which a second call finishes the work.
func RevertFiles(ctx context.Context, r *workspace.Repo, e input.Revert) error {
	part := workspace.UndoPart{Path: e.Path, Seen: e.Seen}
	if e.Hunk != "" {
		hunk, err := workspace.ParseHunk(e.Hunk)
		if err != nil {
			return &workspace.RefusedError{Path: e.Path, Reason: err.Error()}
		}
		part.Hunk = hunk
	}
	span, err := r.Work(ctx)
	if err != nil {
		return err
	}
	if err := workspace.Revert(ctx, r, span.From, span.To, part); err != nil {
		return err
	}
	end, err := r.Find(ctx, workspace.End)
	if err != nil || end.Commit.ID == "" { // there is no snapshot to update
		return err
	}
	_, err = r.Again(ctx, workspace.End)
	if errors.Is(err, workspace.ErrMoved) { // a snapshot after a turn came first, and has the change
		return nil
	}
	return err
}

// This file keeps the images that a human sends to agents. An image is checked and copied into the run's
// directory when its message is accepted, under the hash of its contents, so that the message is the same
// after a crash, even if the original file has changed or is gone.
//
// A [ImageStore] is safe for concurrent use. It starts no goroutine.

// Bounds of images.
const (
	// MaxBytes is how large a file may be: the API accepts 5 MiB of an image in base64, which are 3.75 MiB of a
	// file.
	MaxBytes = 5 << 20 / 4 * 3
	// MaxTotal bounds the files of one message: a request to the API may have 32 MB, including all images of
	// the conversation.
	MaxTotal = 12 << 20
	// MaxSide is the longest side that the API accepts, in pixels.
	MaxSide = 8000
)

// ReadImages reads an image file, and returns what it is and its contents. A relative path is relative to the directory
// of this process. Errors are for people.
func ReadImages(path string) (contract.Image, []byte, error) {
	fail := func(format string, a ...any) (contract.Image, []byte, error) {
		return contract.Image{}, nil, fmt.Errorf("image %s: "+format, append([]any{path}, a...)...)
	}
	f, err := os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0) // it may be a pipe without a writer
	if err != nil {
		return fail("it cannot be read: %w", command.WithoutPath(err))
	}
	defer f.Close()
	info, err := f.Stat()
	switch {
	case err != nil:
		return fail("it cannot be read: %w", err)
	case !info.Mode().IsRegular():
		return fail("it is not a file")
	case info.Size() > MaxBytes:
		return fail("it is too large: %s, and at most %s can be sent; make it smaller", words.Bytes(int(info.Size())),
			words.Bytes(MaxBytes))
	}
	data, err := io.ReadAll(io.LimitReader(f, MaxBytes+1))
	if err != nil || len(data) > MaxBytes {
		return fail("it changed while it was read; send it again")
	}
	is, format, err := image.DecodeConfig(bytes.NewReader(data))
	switch {
	case err != nil:
		return fail("it is not an image that can be sent: PNG, JPEG, GIF or WebP")
	case max(is.Width, is.Height) > MaxSide:
		return fail("it is too large: %d×%d pixels, and at most %d×%[4]d can be sent; make it smaller", is.Width,
			is.Height, MaxSide)
	}
	sum := sha256.Sum256(data)
	return contract.Image{Path: path, SHA256: hex.EncodeToString(sum[:]), MediaType: "image/" + format,
		Bytes: len(data), Width: is.Width, Height: is.Height}, data, nil
}

// ImageStore holds the images of a run, in a directory of its own. The directory is created with the first image.
type ImageStore struct{ path, base string }

// NewStore returns the store in a directory. Relative paths of image files are relative to base.
func NewStore(path, base string) *ImageStore { return &ImageStore{path, base} }

// Keep reads image files into the store, and returns when they are on disk. On an error it returns none of
// them.
func (s *ImageStore) Keep(paths []string) ([]contract.Image, error) {
	if len(paths) == 0 {
		return nil, nil
	}
	if len(paths) > contract.MaxImages {
		return nil, fmt.Errorf("%d images are too many: a message takes %d", len(paths), contract.MaxImages)
	}
	dir, err := statedir.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("keep images: %w", err)
	}
	defer dir.Close()
	var kept []contract.Image
	total := 0
	for _, path := range paths {
		if !filepath.IsAbs(path) {
			path = filepath.Join(s.base, path)
		}
		is, data, err := ReadImages(path)
		if err != nil {
			return nil, err
		}
		if total += len(data); total > MaxTotal {
			return nil, fmt.Errorf("image %s: the images of one message have more than %s together; send them in "+
				"several", path, words.Bytes(MaxTotal))
		}
		if err := dir.Replace(is.SHA256, data); err != nil {
			return nil, fmt.Errorf("keep image %s: %w", path, err)
		}
		kept = append(kept, is)
	}
	return kept, nil
}

// Load returns the contents of a kept image, and checks that they are unchanged.
func (s *ImageStore) Load(is contract.Image) ([]byte, error) {
	dir, err := statedir.Open(s.path)
	if err != nil {
		return nil, fmt.Errorf("load an image: %w", err)
	}
	defer dir.Close()
	data, err := dir.Read(is.SHA256, MaxBytes)
	if err != nil {
		return nil, fmt.Errorf("load an image: %w", err)
	}
	if sum := sha256.Sum256(data); hex.EncodeToString(sum[:]) != is.SHA256 {
		return nil, fmt.Errorf("load an image: %s does not have the content that was stored", dir.Path(is.SHA256))
	}
	return data, nil
}

// This file records in the directory of a run which process its bridge is. `arbiter halt` uses the note to
// stop the agents when the host process of the run does not answer.

const (
	// noteName is the file in a run's directory that identifies the process of its bridge. haltName is the file
	// that says that `arbiter halt` has killed the bridge and that no other must be started.
	noteName = "bridge.json"
	haltName = "halted"

	endTime = 3 * time.Second // time for a killed bridge to end
)

// BridgeNote identifies the process of a bridge uniquely, also after its PID was reused.
type BridgeNote struct {
	Run   string        `json:"run"`
	PID   int           `json:"pid"`
	Start uint64        `json:"start"`           // [BridgeNote.Write] sets it
	Hosts []string      `json:"hosts,omitempty"` // hosts where agents may run, too
	Lease time.Duration `json:"lease,omitempty"` // of the bridges on those hosts
}

// Write writes the note in the directory of its run.
func (n BridgeNote) Write(dir string) (err error) {
	if n.Start, err = proctree.StartOf(n.PID); err != nil {
		return err
	}
	raw, err := json.Marshal(n)
	if err != nil {
		return err
	}
	return replace(dir, noteName, raw)
}

// replace writes a small file into a directory of Arbiter atomically. It does not wait for the disk, because the
// disk may be the cause of the hang.
func replace(dir, name string, raw []byte) error {
	d, err := statedir.Open(dir)
	if err != nil {
		return err
	}
	defer d.Close()
	return d.ReplaceUnsynced(name, raw)
}

// TakeHalted reports whether `arbiter halt` killed the bridge of the run in a directory, and removes the note of
// that.
func TakeHalted(dir string) bool { return os.Remove(filepath.Join(dir, haltName)) == nil }

// KillBridge kills the bridge of a run whose host process does not answer, and every process with the mark of the run.
// That includes the links to other hosts: the agents there end with the links. If the host process continues later,
// it does not start another bridge, unless that could not be noted: an error says so. left has the processes that are
// still alive.
func KillBridge(dir, run string) (note BridgeNote, killed int, left []proctree.Process, err error) {
	unnoted := replace(dir, haltName, nil)
	raw, _ := os.ReadFile(filepath.Join(dir, noteName)) // without it, the mark leads to all of them
	if json.Unmarshal(raw, &note) == nil && note.Run == run {
		ctx, cancel := context.WithTimeout(context.Background(), endTime)
		if proctree.End(ctx, note.PID, note.Start) == nil {
			killed++
		}
		cancel()
	}
	killed += proctree.Sweep(run, "")
	if unnoted != nil { // the disk may be full, which must keep no agent alive
		err = fmt.Errorf("its agents were ended, but its arbiter may start them again: end its process, too (%w)", unnoted)
	}
	return note, killed, proctree.Survivors(run), err
}

// EndElsewhere says when the agents on other hosts end after [KillBridge]; "" if there are none.
func (n BridgeNote) EndElsewhere() string {
	if len(n.Hosts) == 0 {
		return ""
	}
	return fmt.Sprintf(" Agents on %s end when they lose their connection, at the latest in %s.",
		strings.Join(n.Hosts, ", "), n.Lease+bridge.LeaseGrace)
}
