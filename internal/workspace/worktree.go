package workspace

// This part of the package gives each Orchestrator a directory of its own, outside of the user's work tree.
//
// A [Worktrees] keeps them in one directory, which belongs to the run: orch-N with the files, orch-N.json
// with the record that makes it valid. A directory without a record was never finished or used, and the
// next Create removes it. There are two kinds:
//
//   - [WorktreeLinked]: a Git worktree on branch arbiter/RUN8/orch-N.G. Objects and references are those of the
//     user's repository.
//   - [WorktreeClone]: a repository of its own that borrows objects from the user's (like git clone --shared) and
//     has no remote. A sandbox need not let it write to the user's Git directory. [Worktrees.Head] fetches its work:
//     from a view of it, so that nothing runs that the clone configures, with every object checked, and only into
//     references of this run.
//
// Branches are created by update-ref, before the worktree: they track nothing. No filter of the repository's own
// configuration runs. One directory is created or removed at a time
// ([Repo.Lock]).
//
// Before a directory is removed, its uncommitted files, and commits that no branch has, are saved in
// refs/arbiter/RUN8/orch-N/wip. Ignored files are not saved.

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/statedir"
)

// clone creates a repository in w.Dir that borrows the objects of the user's, with w.Branch checked out at
// tip.
func (m *Worktrees) clone(ctx context.Context, w Worktree, tip string) error {
	format, err := m.repo.Git.Text(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	there := m.repo.Git
	there.At = nil // there is no repository yet
	_, err = there.Write(ctx, "init", "--quiet", "--template=", "--object-format="+format, "-b", w.Branch, w.Dir)
	if err != nil {
		return err
	}
	if err := m.shareObjects(ctx, w.Dir); err != nil {
		return err
	}
	place, err := git.Locate(w.Dir)
	if err != nil {
		return err
	}
	there.Dir, there.At = w.Dir, &place
	if _, err := there.Write(ctx, "update-ref", "refs/heads/"+w.Branch, tip); err != nil {
		return err
	}
	_, err = there.Write(ctx, "read-tree", "-m", "-u", "HEAD")
	return err
}

// shareObjects gives a new repository the objects of the user's, and the harmless settings.
func (m *Worktrees) shareObjects(ctx context.Context, dir string) error {
	gitDir, objects := filepath.Join(dir, ".git"), filepath.Join(m.repo.CommonDir, "objects")
	if strings.ContainsAny(objects, "\n\"") {
		return fmt.Errorf("%q: a repository with such a path cannot be cloned; use isolation worktree", objects)
	}
	for _, dir := range []string{"objects/info", "info"} {
		if err := os.MkdirAll(filepath.Join(gitDir, dir), 0o777); err != nil {
			return err
		}
	}
	alternates := filepath.Join(gitDir, "objects", "info", "alternates")
	if err := os.WriteFile(alternates, []byte(objects+"\n"), 0o666); err != nil {
		return err
	}
	to, err := os.OpenRoot(gitDir)
	if err != nil {
		return err
	}
	defer to.Close()
	if err := inherit(m.repo.CommonDir, to, ".", "shallow", "info/exclude", "info/attributes"); err != nil {
		return err
	}
	settings, err := m.repo.Carried()
	if err != nil {
		return err
	}
	// A sandbox prevents git in the clone from writing there.
	file := "--file=" + filepath.Join(gitDir, "config")
	for _, s := range settings {
		value := s.Value
		if s.Bare {
			value = "true"
		}
		if _, err := m.repo.Git.Write(ctx, "config", file, "--add", s.Key, value); err != nil {
			return err
		}
	}
	return nil
}

func errNoClone(w Worktree) error {
	return fmt.Errorf("%s is not a clone any more: its .git directory is missing (%w)", w.Dir, fs.ErrNotExist)
}

// fetch brings the commits of a clone into references of this run, and moves its branch in the user's repository. It
// returns the commit of the clone's HEAD.
func (m *Worktrees) fetch(ctx context.Context, w Worktree) (head string, err error) {
	there, err := git.Locate(w.Dir)
	if errors.Is(err, git.ErrNone) || err == nil && there.GitDir != filepath.Join(w.Dir, ".git") {
		err = errNoClone(w)
	}
	if err != nil {
		return "", err
	}
	// The git that sends the commits would use the configuration of the clone.
	source, err := there.View(m.repo.Git.Views)
	if err != nil {
		return "", err
	}
	defer source.Close()
	if err := source.Source(); err != nil {
		return "", err
	}
	below := m.repo.Ref(name(w.Orchestrator))
	err = m.repo.take(ctx, source.Dir, "+HEAD:"+below+"/head", "+refs/heads/*:"+below+"/heads/*")
	if err != nil {
		return "", err
	}
	branch := "refs/heads/" + w.Branch
	found, err := m.repo.Commits(ctx, below+"/head", below+"/heads/"+w.Branch, branch)
	if err != nil {
		return "", err
	}
	tip := cmp.Or(found[1].ID, found[2].ID) // the agent may have deleted it
	err = m.repo.Move(ctx, "arbiter: fetched", Update{Ref: branch, Old: found[2].ID, New: tip})
	return found[0].ID, err
}

// WorktreeWork describes the content of a directory.
type WorktreeWork struct {
	Head     string   // commit that is checked out
	Tree     string   // of the files as they are, committed or not
	Problems []string // files that could not be recorded, as reported by git
}

// UnfinishedError reports an unfinished Git operation in a directory, so that its files must not be
// committed.
type UnfinishedError struct{ Operation string }

func (e *UnfinishedError) Error() string { return "a " + e.Operation + " is under way in its worktree" }

// Work records the files of a directory as a tree that no reference names. The commits of a clone are fetched first.
func (m *Worktrees) Work(ctx context.Context, w Worktree) (found WorktreeWork, err error) {
	m, unlock, err := m.lock(ctx, name(w.Orchestrator))
	if err != nil {
		return found, err
	}
	defer unlock()
	if found.Head, err = m.Head(ctx, w); err != nil {
		return WorktreeWork{}, err
	}
	if w.Kind == WorktreeClone {
		found.Tree, found.Problems, err = m.repo.TreeOf(ctx, w.Dir, found.Head)
		return found, err
	}
	there, err := m.open(ctx, w)
	if err == nil {
		found.Tree, found.Problems, err = there.Tree(ctx)
	}
	return found, err
}

// Commit commits what is uncommitted in a directory, with all files that Git does not ignore, and returns
// the content of the directory after that. No hook runs. The caller ensures that no agent works there.
// Error: [*UnfinishedError].
func (m *Worktrees) Commit(ctx context.Context, w Worktree, message string) (found WorktreeWork, err error) {
	m, unlock, err := m.lock(ctx, name(w.Orchestrator))
	if err != nil {
		return found, err
	}
	defer unlock()
	there, err := m.open(ctx, w)
	if err != nil {
		return WorktreeWork{}, err
	}
	if operation := there.Operation(); operation != "" {
		return WorktreeWork{}, &UnfinishedError{operation}
	}
	if found, err = m.Work(ctx, w); err != nil {
		return WorktreeWork{}, err
	}
	head, err := m.repo.Commit(ctx, found.Head)
	if err != nil {
		return WorktreeWork{}, err
	}
	write := func(args ...string) error {
		err := m.repo.pastLocks(ctx, there, func() error {
			_, err := there.Git.Write(ctx, args...)
			return err
		})
		if err != nil {
			err = fmt.Errorf("commit in %s: %w", w.Dir, err)
		}
		return err
	}
	if head.Tree != found.Tree {
		id, err := m.repo.Record(ctx, Signer(ctx, m.repo), found.Tree, message, found.Head)
		if err != nil {
			return WorktreeWork{}, err
		}
		if err := write("update-ref", "-m", "arbiter: committed", "HEAD", id, found.Head); err != nil {
			return WorktreeWork{}, err
		}
	}
	// Also after a call that was killed before this.
	if err := write("reset", "--quiet", "--mixed"); err != nil {
		return WorktreeWork{}, err
	}
	found.Head, err = m.Head(ctx, w) // for a clone, this fetches its commits
	return found, err
}

// Create creates the directory of an Orchestrator, or returns the existing one. A call after a crash
// finishes the work.
func (m *Worktrees) Create(ctx context.Context, s WorktreeSpec) (w Worktree, err error) {
	if s.Kind != WorktreeLinked && s.Kind != WorktreeClone {
		return w, fmt.Errorf("isolation %q: want %s or %s", s.Kind, WorktreeLinked, WorktreeClone)
	}
	name := name(s.Orchestrator)
	m, unlock, err := m.lock(ctx, name)
	if err != nil {
		return w, err
	}
	defer unlock()
	w, ok, err := m.Find(s.Orchestrator)
	if err != nil {
		return Worktree{}, err
	}
	if ok {
		if _, err := os.Lstat(filepath.Join(w.Dir, ".git")); err == nil {
			return w, nil
		}
		if _, err := os.Lstat(w.Dir); err == nil { // its files may be work that is nowhere else
			return Worktree{}, fmt.Errorf("%s has no .git any more: move it away, and its branch continues in a new one", w.Dir)
		}
		// The directory was deleted. Its branch continues where it was.
		s.Kind, s.From = w.Kind, w.Base
		if err := os.Remove(m.record(name)); err != nil {
			return Worktree{}, err
		}
	}
	if err := m.discard(name); err != nil {
		return Worktree{}, err
	}
	branch := m.repo.Branch(fmt.Sprintf("%s.%d", name, s.Generation))
	if ok {
		branch = "refs/heads/" + w.Branch
	}
	base := m.repo.Ref(name + "/base")
	found, err := m.repo.Commits(ctx, s.From, branch, base)
	if err != nil {
		return Worktree{}, err
	}
	from, tip := found[0].ID, found[1].ID
	if from == "" {
		return Worktree{}, fmt.Errorf("worktree of Orchestrator %d: there is no commit %s", s.Orchestrator, s.From)
	}
	if tip == "" {
		tip = from
		err := m.repo.Move(ctx, "arbiter: created", Update{Ref: branch, New: tip},
			Update{Ref: base, Old: found[2].ID, New: from}) // this keeps the objects that a clone borrows
		if err != nil {
			return Worktree{}, err
		}
	}
	w = Worktree{Orchestrator: s.Orchestrator, Kind: s.Kind, Branch: strings.TrimPrefix(branch, "refs/heads/"),
		Base: from, Dir: m.dir(name)}
	if s.Kind == WorktreeClone {
		err = m.clone(ctx, w, tip)
	} else {
		err = m.link(ctx, name, "ref: "+branch)
	}
	if err != nil {
		return Worktree{}, fmt.Errorf("worktree of Orchestrator %d: %w", s.Orchestrator, err)
	}
	if w.Work, err = m.work(w.Dir); err != nil {
		return Worktree{}, err
	}
	if w.Included, err = include(ctx, m.repo, w.Dir); err != nil {
		return Worktree{}, err
	}
	return w, writeRecord(m.record(name), w)
}

// discard removes what an unfinished Create, or an unfinished removal, has left.
func (m *Worktrees) discard(name string) error {
	if err := m.removeAll(removedName(name)); err != nil {
		return err
	}
	if _, err := os.Lstat(m.dir(name)); err == nil {
		if err := os.Rename(m.dir(name), m.dir(removedName(name))); err != nil {
			return err
		}
		m.repo.Step("rename")
		if err := m.removeAll(removedName(name)); err != nil {
			return err
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return m.unlink(name)
}

func removedName(name string) string { return name + ".gone" }

// includeFile names, in the syntax of .gitignore, ignored files of which a worktree gets copies.
const includeFile = ".worktreeinclude"

// include copies the files of the user's work tree that Git ignores and that .worktreeinclude names.
// Existing files are kept. It returns how many were copied. Links are copied as links, and not followed.
func include(ctx context.Context, r *Repo, dir string) (copied int, err error) {
	from, err := os.OpenRoot(r.Root)
	if err != nil {
		return 0, err
	}
	defer from.Close()
	if info, err := from.Lstat(includeFile); err != nil || !info.Mode().IsRegular() {
		return 0, nil // there is none
	}
	out, err := r.Git.Do(ctx,
		git.Call{Args: []string{"ls-files", "-z", "--others", "--ignored", "--exclude-from=" + includeFile}})
	if err != nil || len(out) == 0 {
		return 0, err
	}
	out, err = r.Git.Do(ctx, git.Call{Args: []string{"check-ignore", "-z", "--stdin"}, Stdin: out})
	if git.Exit(err) == 1 { // none of them is ignored
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	to, err := os.OpenRoot(dir)
	if err != nil {
		return 0, err
	}
	defer to.Close()
	for _, name := range Fields(out) {
		if strings.HasSuffix(name, "/") {
			continue // a nested repository
		}
		done, err := duplicate(from, to, name)
		if err != nil {
			return copied, err
		}
		if done {
			copied++
		}
	}
	return copied, ctx.Err()
}

// duplicate copies a file or a link; false if it is neither, or if the target exists.
func duplicate(from, to *os.Root, name string) (bool, error) {
	info, err := from.Lstat(name)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil // it was removed since git listed it
	}
	if err != nil {
		return false, err
	}
	if err := to.MkdirAll(path.Dir(name), 0o777); err != nil {
		return false, err
	}
	if info.Mode()&fs.ModeSymlink != 0 {
		target, err := from.Readlink(name)
		if err == nil {
			err = to.Symlink(target, name)
		}
		return there(err)
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	source, err := git.Regular(from.Lstat, from.OpenFile, name)
	if err != nil {
		return false, err
	}
	defer source.Close()
	file, err := to.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, info.Mode().Perm())
	if err != nil {
		return there(err)
	}
	_, err = io.Copy(file, source)
	err = cmp.Or(err, file.Chmod(info.Mode().Perm()))
	return true, errors.Join(err, file.Close())
}

func there(err error) (bool, error) {
	if errors.Is(err, fs.ErrExist) {
		return false, nil
	}
	return err == nil, err
}

// registry is the directory of the repository that has a directory for each linked worktree.
const registry = "worktrees"

// link makes a linked worktree, as git worktree add does, but with the filters and hooks of no repository: git would
// write the path of the view that it works on into the worktree. head is the text of its HEAD.
func (m *Worktrees) link(ctx context.Context, name, head string) error {
	root, err := os.OpenRoot(m.repo.CommonDir)
	if err != nil {
		return err
	}
	defer root.Close()
	if err := root.Mkdir(registry, 0o777); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	at := path.Join(registry, name)
	for n := 1; ; n++ { // another run may have one of the same name
		if err = root.Mkdir(at, 0o777); !errors.Is(err, fs.ErrExist) {
			break
		}
		at = path.Join(registry, name+strconv.Itoa(n))
	}
	write := func(file, text string) {
		err = cmp.Or(err, root.WriteFile(path.Join(at, file), []byte(text), 0o666))
	}
	write("gitdir", filepath.Join(m.dir(name), ".git")+"\n")
	write("commondir", "../..\n")
	write("HEAD", head+"\n")
	// What says which files a sparse checkout has.
	err = cmp.Or(err, inherit(m.repo.GitDir, root, at, "config.worktree", "info/sparse-checkout"))
	err = cmp.Or(err, os.Mkdir(m.dir(name), 0o777))
	if err != nil {
		return err
	}
	m.repo.Step("register")
	err = os.WriteFile(filepath.Join(m.dir(name), ".git"),
		[]byte("gitdir: "+filepath.Join(m.repo.CommonDir, filepath.FromSlash(at))+"\n"), 0o666)
	if err != nil {
		return err
	}
	m.repo.Step("link")
	there, err := m.repo.At(ctx, m.dir(name))
	if err == nil {
		_, err = there.Git.Write(ctx, "read-tree", "-m", "-u", "HEAD")
	}
	return err
}

// inherit copies files of a Git directory to a directory of another. A link that leads out of it, or a pipe, counts as
// missing: an agent may have put it there, to have a file that is hidden from it copied to where it can read.
func inherit(gitDir string, to *os.Root, at string, files ...string) error {
	from, err := os.OpenRoot(gitDir)
	if err != nil {
		return err
	}
	defer from.Close()
	for _, name := range files {
		text, err := readIn(from, name)
		if err != nil && !errors.Is(err, fs.ErrPermission) {
			continue
		}
		if err == nil {
			err = to.MkdirAll(path.Join(at, path.Dir(name)), 0o777)
		}
		if err == nil {
			err = to.WriteFile(path.Join(at, name), text, 0o666)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func readIn(root *os.Root, name string) ([]byte, error) {
	f, err := git.Regular(root.Stat, root.OpenFile, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(f)
}

// unlink removes what the repository has of a linked worktree.
func (m *Worktrees) unlink(name string) error {
	root, err := os.OpenRoot(m.repo.CommonDir)
	if err != nil {
		return err
	}
	defer root.Close()
	all, err := os.ReadDir(filepath.Join(m.repo.CommonDir, registry)) // unlike that of a root, it waits for no pipe
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range all {
		of, readErr := readIn(root, path.Join(registry, e.Name(), "gitdir"))
		if readErr == nil && strings.TrimSuffix(string(of), "\n") == filepath.Join(m.dir(name), ".git") {
			err = errors.Join(err, root.RemoveAll(path.Join(registry, e.Name())))
			m.repo.Step("unlink")
		}
	}
	return err
}

// WorktreeKind is the way in which a directory is isolated.
type WorktreeKind string

// Ways of isolation.
const (
	WorktreeLinked WorktreeKind = "worktree"
	WorktreeClone  WorktreeKind = "clone"
)

// WorktreeSpec describes a directory to create.
type WorktreeSpec struct {
	Orchestrator int
	Generation   int // that creates it
	Kind         WorktreeKind
	From         string // commit at which its branch begins; an existing branch is not moved
}

// Worktree is a directory of an Orchestrator.
type Worktree struct {
	Orchestrator int          `json:"orchestrator"`
	Kind         WorktreeKind `json:"isolation"`
	Branch       string       `json:"branch"` // short name: arbiter/RUN8/orch-1.1
	Base         string       `json:"base"`   // commit that the branch began at
	Dir          string       `json:"dir"`    // top of the files
	Work         string       `json:"work"`   // the directory in it that corresponds to the run's: where the agent starts
	Included     int          `json:"included,omitempty"`
}

// Worktrees keeps the directories of one run. It has no state besides its directory, and is safe for concurrent use.
type Worktrees struct {
	repo *Repo
	root string
}

// OpenWorktrees returns a manager that works in a directory, which it creates. The directory must not be used for
// anything else.
func OpenWorktrees(r *Repo, root string) (*Worktrees, error) {
	if err := os.MkdirAll(root, 0o700); err != nil {
		return nil, err
	}
	root, err := filepath.Abs(root)
	if err == nil {
		root, err = filepath.EvalSymlinks(root) // git names worktrees by this path
	}
	return &Worktrees{repo: r, root: root}, err
}

// Find returns the directory of an Orchestrator; ok is false if it has none.
func (m *Worktrees) Find(orchestrator int) (w Worktree, ok bool, err error) {
	b, err := os.ReadFile(m.record(name(orchestrator)))
	if errors.Is(err, fs.ErrNotExist) {
		return Worktree{}, false, nil
	}
	if err == nil {
		err = json.Unmarshal(b, &w)
	}
	if err == nil && (w.Orchestrator != orchestrator || w.Dir != m.dir(name(orchestrator))) {
		err = errors.New("it is the record of another directory")
	}
	if err != nil {
		return Worktree{}, false, fmt.Errorf("%s: %w", m.record(name(orchestrator)), err)
	}
	return w, true, nil
}

// List returns all directories, by Orchestrator, including those of a run that was killed.
func (m *Worktrees) List() ([]Worktree, error) {
	entries, err := os.ReadDir(m.root)
	if err != nil {
		return nil, err
	}
	var all []Worktree
	for _, e := range entries {
		var n int
		if _, err := fmt.Sscanf(e.Name(), "orch-%d.json", &n); err != nil || e.Name() != name(n)+".json" {
			continue
		}
		w, ok, err := m.Find(n)
		if err != nil {
			return nil, err
		}
		if ok {
			all = append(all, w)
		}
	}
	slices.SortFunc(all, func(a, b Worktree) int { return a.Orchestrator - b.Orchestrator })
	return all, nil
}

func name(orchestrator int) string { return fmt.Sprintf("orch-%d", orchestrator) }

func (m *Worktrees) dir(name string) string { return filepath.Join(m.root, name) }

func (m *Worktrees) record(name string) string { return filepath.Join(m.root, name+".json") }

// writeRecord writes a file that holds v as JSON, such as the record that makes a directory valid. It returns when the
// file is on disk.
func writeRecord(path string, v any) error {
	b, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		return err
	}
	return statedir.WriteWhole(path, 0o600, func(f *os.File) error {
		_, err := f.Write(append(b, '\n'))
		return err
	})
}

// work returns the directory that corresponds to the run's in the user's work tree.
func (m *Worktrees) work(dir string) (string, error) {
	work := filepath.Join(dir, filepath.FromSlash(m.repo.Prefix))
	return work, os.MkdirAll(work, 0o777)
}

// lock returns the manager with the lock held, for the directory of that name.
func (m *Worktrees) lock(ctx context.Context, name string) (locked *Worktrees, unlock func(), err error) {
	r, unlock, err := m.repo.Lock(ctx)
	if err == nil {
		// Only who holds the lock moves these references, so a git that was killed has left a lock file of theirs.
		if _, err = clearLocks(filepath.Join(r.CommonDir, filepath.FromSlash(r.Ref(name))), 0); err != nil {
			unlock()
		}
	}
	return &Worktrees{repo: r, root: m.root}, unlock, err
}

// removeAll removes a directory of the manager, whatever its permissions are (module caches are read-only).
func (m *Worktrees) removeAll(name string) error {
	dir := m.dir(name)
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	err = fs.WalkDir(root.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if d != nil && d.IsDir() {
			return root.Chmod(path, 0o700) // before it is read
		}
		return err
	})
	return errors.Join(err, root.Close(), os.RemoveAll(dir))
}

// WorktreeSaved is work that is on no branch.
type WorktreeSaved struct {
	Ref      string   // empty if there was nothing to save
	Commit   string   // with the files; its first parent is the HEAD they were on
	Problems []string // files that could not be saved, as reported by git
	Nested   []string // repositories inside, whose own commits are not saved
}

// UnsavedError reports that a directory was not removed because work in it cannot be saved.
type UnsavedError struct {
	Dir  string
	What []string
}

func (e *UnsavedError) Error() string {
	return fmt.Sprintf("%s was not removed, because this cannot be saved: %s; take it out, and remove the directory",
		e.Dir, strings.Join(e.What, ", "))
}

// Head returns the commit that a directory has checked out. The work of a clone is fetched first.
func (m *Worktrees) Head(ctx context.Context, w Worktree) (head string, err error) {
	if w.Kind == WorktreeClone {
		m, unlock, err := m.lock(ctx, name(w.Orchestrator))
		if err != nil {
			return "", err
		}
		defer unlock()
		return m.fetch(ctx, w)
	}
	there, err := m.open(ctx, w)
	if err != nil {
		return "", err
	}
	commit, err := there.Commit(ctx, "HEAD")
	if err == nil && commit.ID == "" {
		err = ErrNoCommit
	}
	return commit.ID, err
}

// open opens a directory, and makes sure that it still is a clone, or belongs to the repository.
func (m *Worktrees) open(ctx context.Context, w Worktree) (*Repo, error) {
	there, err := m.repo.At(ctx, w.Dir)
	switch clone := w.Kind == WorktreeClone; {
	case err != nil:
	case clone && (there.Root != w.Dir || there.GitDir != filepath.Join(w.Dir, ".git")):
		err = errNoClone(w)
	case !clone && (there.Root != w.Dir || there.CommonDir != m.repo.CommonDir):
		err = fmt.Errorf("%s does not belong to the repository %s any more", w.Dir, m.repo.CommonDir)
	}
	return there, err
}

// Save records the files of a directory in refs/arbiter/RUN8/orch-N/wip, unless they equal those of its
// commit and a branch of the run has that commit. Earlier saved work stays in its history.
func (m *Worktrees) Save(ctx context.Context, w Worktree) (s WorktreeSaved, err error) {
	m, unlock, err := m.lock(ctx, name(w.Orchestrator))
	if err != nil {
		return s, err
	}
	defer unlock()
	found, err := m.Work(ctx, w)
	if err != nil {
		return WorktreeSaved{}, err
	}
	head, tree := found.Head, found.Tree
	s.Problems = found.Problems
	delta, err := m.repo.Delta(ctx, head, tree)
	if err != nil {
		return WorktreeSaved{}, err
	}
	for _, c := range delta {
		if c.To.Mode == ModeModule {
			s.Nested = append(s.Nested, c.Path)
		}
	}
	kept, err := Contains(ctx, m.repo, "refs/heads/"+w.Branch, head)
	if err != nil || kept && len(delta) == 0 {
		return s, err
	}
	ref := m.repo.Ref(name(w.Orchestrator) + "/wip")
	earlier, err := m.repo.Commits(ctx, ref, ref+"^1")
	if err != nil {
		return WorktreeSaved{}, err
	}
	old := earlier[0]
	s.Ref, s.Commit = ref, old.ID
	if old.Tree == tree && earlier[1].ID == head {
		return s, nil
	}
	s.Commit, err = m.repo.Record(ctx, nil, tree, "arbiter: uncommitted work of "+w.Branch, head, old.ID)
	if err != nil {
		return WorktreeSaved{}, err
	}
	return s, m.repo.Move(ctx, "arbiter: saved", Update{Ref: ref, Old: old.ID, New: s.Commit})
}

// Remove saves the work of a directory and removes it; its branch stays. The caller has ended the processes that work
// in it. Without force it fails with [*UnsavedError] if not all can be saved. A call after a crash finishes the work.
func (m *Worktrees) Remove(ctx context.Context, w Worktree, force bool) (s WorktreeSaved, err error) {
	name := name(w.Orchestrator)
	m, unlock, err := m.lock(ctx, name)
	if err != nil {
		return s, err
	}
	defer unlock()
	if w.Dir != m.dir(name) {
		return WorktreeSaved{}, fmt.Errorf("%s is not below %s", w.Dir, m.root)
	}
	if _, err := os.Lstat(w.Dir); err == nil {
		s, err = m.Save(ctx, w)
		switch unsaved := append(s.Problems, s.Nested...); {
		case force:
		case err != nil:
			return WorktreeSaved{}, err
		case len(unsaved) > 0:
			return s, &UnsavedError{w.Dir, unsaved}
		}
	} else if !errors.Is(err, fs.ErrNotExist) {
		return WorktreeSaved{}, err
	}
	// Under its new name it counts as removed: its remains cannot replace the saved whole.
	if err := m.discard(name); err != nil {
		return WorktreeSaved{}, err
	}
	if err := os.Remove(m.record(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return WorktreeSaved{}, err
	}
	m.repo.Step("record")
	return s, nil
}

// reader is the name of the directory that Reader keeps.
const reader = "arbiter"

// Reader keeps a directory with the files of a commit for agents that only read: the Arbiter, and checks.
// It creates the directory, or brings it to the commit; changes that were made there are lost, other files
// stay.
func (m *Worktrees) Reader(ctx context.Context, commit string) (dir string, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("worktree of the Arbiter: %w", err)
		}
	}()
	m, unlock, err := m.lock(ctx, reader)
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Lstat(filepath.Join(m.dir(reader), ".git")); err == nil {
		there, err := m.open(ctx, Worktree{Dir: m.dir(reader)})
		if err == nil {
			_, err = there.Git.Write(ctx, "checkout", "--quiet", "--force", "--detach", commit)
		}
		if err == nil {
			return m.work(m.dir(reader))
		}
	}
	if err := m.discard(reader); err != nil {
		return "", err
	}
	tip, err := m.repo.Commit(ctx, commit)
	if err == nil && tip.ID == "" {
		err = fmt.Errorf("there is no commit %s", commit)
	}
	if err == nil {
		err = m.link(ctx, reader, tip.ID)
	}
	if err == nil {
		_, err = include(ctx, m.repo, m.dir(reader))
	}
	if err != nil {
		return "", err
	}
	return m.work(m.dir(reader))
}

// RemoveRest removes the directories without a record, in which no agent has worked: that of Reader, and what killed
// calls have left.
func (m *Worktrees) RemoveRest(ctx context.Context) error {
	entries, err := os.ReadDir(m.root)
	if err != nil {
		return err
	}
	names := []string{reader} // the repository knows it, even if its directory was deleted
	for _, e := range entries {
		if name, _, _ := strings.Cut(e.Name(), "."); name != "" {
			names = append(names, name)
		} else { // a record that was not finished
			err = errors.Join(err, os.Remove(filepath.Join(m.root, e.Name())))
		}
	}
	for _, name := range names {
		m, unlock, lockErr := m.lock(ctx, name)
		if lockErr != nil {
			return errors.Join(err, lockErr)
		}
		if _, found := os.Lstat(m.record(name)); found != nil {
			err = errors.Join(err, m.discard(name))
		}
		unlock()
	}
	return err
}
