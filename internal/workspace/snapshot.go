package workspace

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
)

// Snapshot is a record of the workspace's files.
type Snapshot struct {
	Ref    string
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
	return Snapshot{Ref: ref, Commit: found[0], Head: found[1].ID}, nil
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
	s := Snapshot{Ref: ref, Commit: old, Head: head, Problems: problems}
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
	return r.addAll(ctx, "GIT_INDEX_FILE="+index)
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
	there.Git.Dir = dir
	env := []string{"GIT_DIR=" + r.CommonDir, "GIT_WORK_TREE=" + dir, "GIT_INDEX_FILE=" + filepath.Join(temp, "index")}
	read := git.Call{Args: []string{"read-tree", "--no-sparse-checkout", commit}, Env: env, Writes: true}
	if _, err := there.Git.Do(ctx, read); err != nil {
		return "", nil, err
	}
	return there.addAll(ctx, env...)
}

// addAll adds all files to a temporary index, and writes its tree.
func (r *Repo) addAll(ctx context.Context, env ...string) (tree string, problems []string, err error) {
	_, err = r.Git.Do(ctx, git.Call{Args: append(adding(), "--", "."), Env: env, Writes: true})
	if git.Exit(err) > 1 {
		left, restErr := r.addWithoutFilters(ctx, env)
		if git.Exit(restErr) == 1 || restErr == nil {
			problems, err = left, restErr
		}
	}
	var failed *git.Error
	if errors.As(err, &failed) && failed.Exit == 1 { // some files could not be added, the others were
		problems = append(problems, strings.Split(failed.Stderr, "\n")...)
	} else if err != nil {
		return "", nil, err
	}
	out, err := r.Git.Do(ctx, git.Call{Args: []string{"write-tree", "--missing-ok"}, Env: env, Writes: true})
	return strings.TrimSpace(string(out)), problems, err
}

// adding returns the call that adds files. A large file is copied into a pack rather than compressed, which
// would take a minute for a few gigabytes.
func adding() []string {
	return []string{"-c", "core.bigFileThreshold=32m", "-c", "pack.compression=0", "add", "--all", "--sparse",
		"--ignore-errors"}
}

// CopyIndex copies the user's index with its time: git relies on the size and time of a file only if the
// file is older than the index.
func (r *Repo) CopyIndex(path string) error {
	from, err := os.Open(filepath.Join(r.GitDir, "index"))
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
