package workspace

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/git"
)

var (
	// ErrNoGit reports a directory that is in no work tree, or a machine without git.
	ErrNoGit = errors.New("there is no Git work tree here: run `git init` to have diffs, undo and merges")
	// errNotInstalled wraps ErrNoGit, and reports that git is not installed.
	errNotInstalled = notInstalled("git is not installed: install it to have diffs, undo and merges")
	// ErrBare reports a bare repository. It wraps ErrNoGit.
	ErrBare = fmt.Errorf("%w (the repository is bare: it has no files)", ErrNoGit)
	// ErrNoCommit reports a repository without a commit.
	ErrNoCommit = errors.New("the Git repository has no commit yet: commit once to have diffs, undo and merges")
)

type notInstalled string

func (n notInstalled) Error() string { return string(n) }

func (notInstalled) Unwrap() error { return ErrNoGit }

// staleScratch is the age at which temporary files of a killed process are removed.
const staleScratch = time.Hour

// Options set which work tree to open, and for which run.
type Options struct {
	Dir     string                // where the run works: the top of a work tree, or a directory below it
	Run     string                // the run's ID; its first eight characters are used
	Scratch string                // directory for temporary files, which is created; os.TempDir() if empty
	Env     []string              // environment to take git's from; os.Environ() if nil
	Git     string                // program; "git" if empty
	Confine func(*exec.Cmd) error // may be nil; puts each git into a sandbox
	Step    func(name string)     // may be nil; called after each change
	// Began is a file that records the repository with which the run began: see [Repo.Begin]. If it exists, Open refuses
	// another one. May be empty.
	Began string

	checked bool // git is known to be new enough
}

// Repo is a work tree as one run sees it.
type Repo struct {
	git.Place
	Prefix  string // the run's directory below Root, with slashes; empty for Root itself
	Run     string // first eight characters of the run's ID
	Git     git.Runner
	Scratch string
	// Skipped are the filters that the repository's own configuration defines, and the user's does not. They do not
	// run: see [Repo.Tree].
	Skipped []string

	options Options
	agents  bool // an agent's own directory
}

var runPattern = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[0-9A-Za-z_-]{8}$`)
})

// Open finds the work tree of a directory. Errors: [ErrNoGit], [ErrBare], [ErrNoCommit], [git.ChangedError],
// and those of git (too old, a damaged repository).
func Open(ctx context.Context, o Options) (*Repo, error) {
	r := &Repo{options: o}
	if len(o.Run) >= 8 {
		r.Run = o.Run[:8]
	}
	if !runPattern().MatchString(r.Run) {
		return nil, fmt.Errorf("run ID %q: want eight or more letters and digits", o.Run)
	}
	env := o.Env
	if env == nil {
		env = os.Environ()
	}
	r.Git = git.Runner{Dir: o.Dir, Env: git.Environ(env), Program: o.Git, Confine: o.Confine, Step: o.Step}
	if !o.checked {
		err := r.Git.Check(ctx)
		if errors.Is(err, exec.ErrNotFound) {
			err = errNotInstalled
		}
		if err != nil {
			return nil, err
		}
	}
	if err := r.locate(); err != nil {
		return nil, err
	}
	if err := r.same(); err != nil {
		return nil, err
	}
	if err := r.openScratch(); err != nil {
		return nil, err
	}
	r.Git.Dir, r.Git.At, r.Git.Views = r.Root, &r.Place, r.options.Scratch
	if _, err := r.Git.Text(ctx, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"); git.Exit(err) > 0 {
		return nil, ErrNoCommit
	} else if err != nil {
		return nil, err
	}
	return r, r.findSkipped(ctx)
}

// locate fills in the directories.
func (r *Repo) locate() (err error) {
	r.Place, err = git.Locate(r.options.Dir)
	switch {
	case errors.Is(err, git.ErrBare):
		return ErrBare
	case errors.Is(err, git.ErrNone):
		return ErrNoGit
	case err != nil:
		return err
	}
	dir, err := filepath.EvalSymlinks(r.options.Dir)
	if err == nil {
		dir, err = filepath.Abs(dir)
	}
	if err == nil {
		dir, err = filepath.Rel(r.Root, dir)
	}
	if r.Prefix = filepath.ToSlash(dir); r.Prefix == "." {
		r.Prefix = ""
	}
	return err
}

// openScratch creates the directory for temporary files, and removes those that a killed process left
// there.
func (r *Repo) openScratch() error {
	r.Scratch = r.options.Scratch
	if r.Scratch == "" {
		r.Scratch = os.TempDir()
		return nil
	}
	if err := os.MkdirAll(r.Scratch, 0o700); err != nil {
		return err
	}
	left, err := filepath.Glob(filepath.Join(r.Scratch, scratchPrefix+"*"))
	for _, path := range left {
		info, statErr := os.Lstat(path)
		if statErr == nil && time.Since(info.ModTime()) > staleScratch {
			err = errors.Join(err, os.RemoveAll(path))
		}
	}
	return err
}

const scratchPrefix = git.ViewPrefix

// Temp creates a temporary directory. The caller removes it.
func (r *Repo) Temp() (string, error) { return os.MkdirTemp(r.Scratch, scratchPrefix+"*") }

// Step calls the step hook after a change.
func (r *Repo) Step(name string) {
	if r.options.Step != nil {
		r.options.Step(name)
	}
}

// At opens an agent's own directory: a worktree, or a clone.
func (r *Repo) At(ctx context.Context, dir string) (*Repo, error) {
	o := r.options
	o.Dir, o.checked, o.Began = dir, true, ""
	there, err := Open(ctx, o)
	if err == nil {
		there.Git.Hold, there.agents = r.Git.Hold, true
	}
	return there, err
}

// Operation returns the unfinished Git operation in the work tree; empty if there is none.
func (r *Repo) Operation() string { return git.Operation(r.GitDir) }
