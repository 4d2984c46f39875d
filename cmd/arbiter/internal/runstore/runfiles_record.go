package runstore

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Record takes a snapshot and compares it with earlier ones. A snapshot that was requested from an earlier process
// is taken again.
func (f *Files) Record(ctx context.Context, e input.ChangeRecord) input.ChangeRecorded {
	record := f.record
	switch {
	case e.Own != "" && f.isFar(e.Own):
		record = f.recordFar
	case e.Own != "":
		record = f.recordOwn
	case e.Branch:
		record = f.recordBranch
	}
	taken, err := again(ctx, func() (input.ChangeRecorded, error) {
		taken := input.ChangeRecorded{Serial: e.Serial}
		err := record(ctx, e, &taken)
		return taken, err
	})
	if err != nil {
		return input.ChangeRecorded{Serial: e.Serial, Failed: err.Error()}
	}
	return taken
}

// record records the run's directory.
func (f *Files) record(ctx context.Context, e input.ChangeRecord, taken *input.ChangeRecorded) error {
	end, err := f.repo.Again(ctx, workspace.End)
	if errors.Is(err, workspace.ErrMoved) { // by the git of a killed process of this run
		end, err = f.repo.Again(ctx, workspace.End)
	}
	if err != nil {
		return err
	}
	taken.Commit, taken.Tree, taken.Left = end.Commit.ID, end.Commit.Tree, left(end.Problems)
	if e.Keep != "" {
		err := f.keep(ctx, e.Keep, end.Commit.ID)
		if err != nil {
			return err
		}
	}
	if e.Tree {
		return nil
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
	ctx context.Context,
	last, since string,
	only map[string]bool,
	taken *input.ChangeRecorded,
) error {
	paths, err := f.repo.Delta(ctx, last, taken.Commit)
	if err != nil {
		return err
	}
	paths = slices.DeleteFunc(paths, func(c workspace.Change) bool { return only != nil && !only[c.Path] })
	for _, c := range paths[:min(len(paths), input.MaxPaths)] {
		taken.Paths = append(taken.Paths, c.Path)
	}
	files, err := f.repo.Changes(ctx, since, taken.Commit)
	if err != nil {
		return err
	}
	files = slices.DeleteFunc(files, func(c workspace.Change) bool { return only != nil && !only[c.Path] })
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
func (f *Files) recordOwn(ctx context.Context, e input.ChangeRecord, taken *input.ChangeRecorded) error {
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
	if e.Keep != "" {
		if err := f.keep(ctx, e.Keep, taken.Commit); err != nil {
			return err
		}
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
	ctx context.Context,
	agent, last string,
	work workspace.WorktreeWork,
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
func (f *Files) recordBranch(ctx context.Context, e input.ChangeRecord, taken *input.ChangeRecorded) error {
	head, err := f.repo.Commit(ctx, f.main())
	if err != nil {
		return err
	}
	if head.ID == "" {
		return errors.New("the run branch " + strings.TrimPrefix(f.main(), "refs/heads/") + " is gone")
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

// keep sets an additional reference to a snapshot.
func (f *Files) keep(ctx context.Context, name, commit string) error {
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
