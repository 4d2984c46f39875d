package workspace

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// Snapshot is a record of the workspace's files.
type Snapshot struct {
	Commit Commit
	Head   string // HEAD of the workspace when the files were recorded
	// Problems names files that could not be recorded: unreadable ones, nested repositories without a
	// commit. The snapshot has them in their state in the index, or not at all.
	Problems []string
}

// signature is the author of snapshots. It does not depend on what the user has configured.
var signature = []string{
	"GIT_AUTHOR_NAME=Arbiter", "GIT_AUTHOR_EMAIL=arbiter@localhost",
	"GIT_COMMITTER_NAME=Arbiter", "GIT_COMMITTER_EMAIL=arbiter@localhost",
}

// Identity returns the variables that name Arbiter as author and committer; nil if signer shows that the
// user has configured a name.
func Identity(signer []string) map[string]string {
	if signer != nil {
		return nil
	}
	env := map[string]string{}
	for _, entry := range signature {
		name, value, _ := strings.Cut(entry, "=")
		env[name] = value
	}
	return env
}

// Once records the workspace under a name of this run ("base"). If the name is taken, it returns the
// existing snapshot.
func (r *Repo) Once(ctx context.Context, name string) (Snapshot, error) {
	s, err := r.Find(ctx, name)
	if err != nil || s.Commit.ID != "" {
		return s, err
	}
	s, err = r.Again(ctx, name)
	if errors.Is(err, ErrMoved) {
		return r.Find(ctx, name)
	}
	return s, err
}

// Find returns the snapshot of that name; its Commit is zero if there is none.
func (r *Repo) Find(ctx context.Context, name string) (Snapshot, error) {
	ref := r.Ref(name)
	found, err := r.Commits(ctx, ref, ref+"^1")
	if err != nil {
		return Snapshot{}, err
	}
	return Snapshot{Commit: found[0], Head: found[1].ID}, nil
}

// Again records the workspace under a name of this run, and replaces an earlier snapshot of that name. If
// neither the files nor HEAD differ from it, the earlier one is kept. Error: [ErrMoved] if another process
// records under the same name.
func (r *Repo) Again(ctx context.Context, name string) (Snapshot, error) {
	ref := r.Ref(name)
	tree, problems, err := r.Tree(ctx)
	if err != nil {
		return Snapshot{}, err
	}
	now, err := r.Commits(ctx, "HEAD", ref, ref+"^1")
	if err != nil {
		return Snapshot{}, err
	}
	head, old := now[0].ID, now[1]
	s := Snapshot{Commit: old, Head: head, Problems: problems}
	if old.Tree == tree && now[2].ID == head {
		return s, nil
	}
	id, err := r.Record(ctx, signature, tree, "arbiter: "+name+" of run "+r.Run, head)
	if err != nil {
		return Snapshot{}, err
	}
	s.Commit = Commit{id, tree}
	return s, r.Move(ctx, "arbiter: snapshot", Update{Ref: ref, Old: old.ID, New: id})
}

// Record creates a commit. signature are the variables that name its author and committer; nil for Arbiter.
func (r *Repo) Record(ctx context.Context, signer []string, tree, message string, parents ...string) (string, error) {
	if signer == nil {
		signer = signature
	}
	args := []string{"commit-tree", tree, "-F", "-"}
	for _, p := range parents {
		if p != "" { // the branch that is checked out has no commit
			args = append(args, "-p", p)
		}
	}
	out, err := r.Git.Do(ctx, git.Call{Args: args, Env: signer, Stdin: []byte(message + "\n"), Writes: true})
	return strings.TrimSpace(string(out)), err
}

// Tree records the workspace's files as a tree that no reference names, and lists what could not be recorded.
//
// Files of [Repo.Skipped] filters are recorded as they are in the user's work tree, so that two trees differ in what
// has changed. In an agent's own directory, whose files become commits, changes of such files are left out.
func (r *Repo) Tree(ctx context.Context) (tree string, problems []string, err error) {
	temp, err := r.Temp()
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(temp)
	index := filepath.Join(temp, "index")
	if err := r.CopyIndex(index); err != nil {
		return "", nil, err
	}
	return r.addAll(ctx, index)
}

// TreeOf records the files of another directory, starting from those of a commit. Only this repository's
// configuration is used: that of a Git directory there, which an agent may have written, is not read.
func (r *Repo) TreeOf(ctx context.Context, dir, commit string) (tree string, problems []string, err error) {
	temp, err := r.Temp()
	if err != nil {
		return "", nil, err
	}
	defer os.RemoveAll(temp)
	there := *r
	there.Git.Dir, there.agents = dir, true
	index, env := filepath.Join(temp, "index"), []string{"GIT_DIR=" + r.CommonDir, "GIT_WORK_TREE=" + dir}
	read := git.Call{Args: []string{"read-tree", "--no-sparse-checkout", commit}, Writes: true,
		Env: append(slices.Clone(env), "GIT_INDEX_FILE="+index)}
	if _, err := there.Git.Do(ctx, read); err != nil {
		return "", nil, err
	}
	return there.addAll(ctx, index, env...)
}

// addAll adds all files to a temporary index, and writes its tree.
func (r *Repo) addAll(
	ctx context.Context, index string, env ...string,
) (tree string, problems []string, err error) {
	env = append(env, "GIT_INDEX_FILE="+index)
	modules, err := r.modules(ctx, index, env)
	if err != nil {
		return "", nil, err
	}
	omit := modules
	if r.agents && len(r.Skipped) > 0 {
		changed, err := r.changed(ctx, r.Skipped, env)
		if err != nil {
			return "", nil, err
		}
		under, err := r.under(ctx, "filter", r.skips, changed, env)
		if err != nil {
			return "", nil, err
		}
		for path, filter := range under {
			omit = append(omit, path)
			problems = append(problems, fmt.Sprintf("%q, because its filter %q is of the repository's own configuration, "+
				"which does not run", path, filter))
		}
		slices.Sort(problems)
	} else if err := r.forgetContents(ctx, env); err != nil {
		return "", nil, err
	}
	err = r.add(ctx, omit, env)
	if git.Exit(err) > 1 {
		failing, restErr := r.addConverted(ctx, omit, env)
		if git.Exit(restErr) == 1 || restErr == nil {
			problems, err = append(problems, failing...), restErr
		}
	}
	var failed *git.Error
	if errors.As(err, &failed) && failed.Exit == 1 { // some files could not be added, the others were
		problems = append(problems, strings.Split(failed.Stderr, "\n")...)
	} else if err != nil {
		return "", nil, err
	}
	if len(modules) > 0 {
		_, err := r.Git.Do(ctx, git.Call{Args: []string{"update-index", "--add", "--remove", "--replace", "-z", "--stdin"},
			Env: env, Stdin: list(modules), Writes: true})
		if err != nil {
			return "", nil, err
		}
	}
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"write-tree", "--missing-ok"}, Env: env, Writes: true})
	return strings.TrimSpace(string(out)), problems, err
}

// modules lists the submodules and nested repositories of a temporary index. git add looks into each with a git of its
// own, which uses the configuration there; git update-index only reads its HEAD.
func (r *Repo) modules(ctx context.Context, index string, env []string) ([]string, error) {
	raw, err := os.ReadFile(index)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil || !bytes.Contains(raw, []byte("\x00\x00\xe0\x00")) && !bytes.Contains(raw, []byte("link")) {
		return nil, err // no entry has the mode 160000, and there is no second index with further entries
	}
	entries, err := r.entries(ctx, env)
	var modules []string
	for _, e := range entries {
		if e.Mode == ModeModule {
			modules = append(modules, e.path)
		}
	}
	return slices.Compact(modules), err
}

// entry is a file in an index.
type entry struct {
	Entry
	path, line string
}

func (r *Repo) entries(ctx context.Context, env []string) (all []entry, err error) {
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"ls-files", "--stage", "-z", "--full-name", ":/"}, Env: env})
	for _, line := range Fields(out) {
		head, path, _ := strings.Cut(line, "\t")
		if parts := strings.Fields(head); len(parts) == 3 {
			all = append(all, entry{Entry{parts[0], parts[1]}, path, line})
		}
	}
	return all, err
}

// add adds all files except some.
func (r *Repo) add(ctx context.Context, omit, env []string) error {
	paths := []string{"."}
	for _, path := range omit {
		paths = append(paths, ":(top,literal,exclude)"+path)
	}
	// A large file is copied into a pack rather than compressed, which would take a minute for a few gigabytes.
	_, err := r.Git.Do(ctx, git.Call{
		Args: []string{"-c", "core.bigFileThreshold=32m", "-c", "pack.compression=0", "add", "--all", "--sparse",
			"--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul"},
		Env: env, Stdin: list(paths), Writes: true,
	})
	return err
}

// list returns paths as git reads them with -z.
func list(paths []string) []byte { return []byte(strings.Join(paths, "\x00") + "\x00") }

// CopyIndex copies the user's index with its time: git relies on the size and time of a file only if the
// file is older than the index.
func (r *Repo) CopyIndex(path string) error {
	from, err := git.Regular(os.Stat, os.OpenFile, filepath.Join(r.GitDir, "index"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // a checkout without an index: all files are new
	}
	if err != nil {
		return err
	}
	defer from.Close()
	info, err := from.Stat()
	if err != nil {
		return err
	}
	to, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(to, from)
	if err = errors.Join(err, to.Close()); err != nil {
		return err
	}
	return os.Chtimes(path, info.ModTime(), info.ModTime())
}

// Names of snapshots and branches that a run has.
const (
	Base = "base" // snapshot of the user's work tree when the run began
	End  = "end"  // snapshot of it after the last turn of an agent that worked there
	Main = "main" // run branch, for agents with a directory of their own
)

// ErrNoSnapshot reports a run without a snapshot: it worked without Git, in another repository, or before
// snapshots existed.
var ErrNoSnapshot = errors.New("the run has no snapshot in this repository")

// Span is work: the difference between two commits or trees.
type Span struct{ From, To string }

// Work returns what the run changed: in the user's work tree if its agents worked there (there is a
// snapshot [End]), otherwise on the run branch. If there is neither, the run has just begun, and the
// current files are used.
func (r *Repo) Work(ctx context.Context) (Span, error) {
	found, err := r.Commits(ctx, r.Ref(Base), r.Ref(End), r.Branch(Main))
	if err != nil {
		return Span{}, err
	}
	base, end, branch := found[0].ID, found[1].ID, found[2].ID
	switch {
	case base == "":
		return Span{}, ErrNoSnapshot
	case end != "":
		return Span{base, end}, nil
	case branch != "":
		from, err := r.Git.Text(ctx, "merge-base", base, branch)
		return Span{from, branch}, err
	}
	tree, _, err := r.Tree(ctx)
	return Span{base, tree}, err
}

// WorkOf returns what an Orchestrator changed in a directory of its own: from the commit at which its last
// branch began, to the head of that branch, with the uncommitted work that was saved on top of it. ok is
// false if it had no such directory.
func (r *Repo) WorkOf(ctx context.Context, orchestrator int) (s Span, ok bool, err error) {
	name := name(orchestrator)
	refs, err := r.below(ctx, r.Branch(""))
	if err != nil {
		return Span{}, false, err
	}
	last, branch := -1, ""
	for ref := range refs {
		generation, ours := strings.CutPrefix(ref, r.Branch(name+"."))
		if n, err := strconv.Atoi(generation); ours && err == nil && n > last {
			last, branch = n, ref
		}
	}
	if branch == "" {
		return Span{}, false, nil
	}
	found, err := r.Commits(ctx, r.Ref(name+"/base"), branch, r.Ref(name+"/wip"), r.Ref(name+"/wip")+"^1")
	if err != nil {
		return Span{}, false, err
	}
	s = Span{found[0].ID, found[1].ID}
	if wip, on := found[2].ID, found[3].ID; wip != "" && on == s.To {
		s.To = wip
	}
	return s, s.From != "", nil
}
