package evidence

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Bounds of what is reported about a repository.
const (
	gitLimit    = 5 * time.Second // of each call
	gitOutput   = 256 << 10       // kept of each call; a call with more output is ended
	maxStatus   = 200             // lines
	maxStat     = 8 << 10         // bytes
	maxCommits  = 10
	maxLine     = 300 // bytes of a commit's or a status's line
	gitComplain = 2 << 10
)

// repository asks git about one directory and collects what went wrong.
type repository struct {
	w        *Collector
	ctx      context.Context
	cwd      string
	env      []string
	confine  *bridge.SandboxConfig // nil: not confined
	problems []string

	place git.Place
	view  *git.View // nil: the directory is in no work tree
}

// repository opens the repository of a directory. The caller closes it.
func (w *Collector) repository(ctx context.Context, p bridge.InspectParams) *repository {
	r := &repository{w: w, ctx: ctx, cwd: p.CWD, confine: p.Sandbox}
	place, err := git.Locate(p.CWD)
	if err == nil {
		r.place = place
		r.view, err = place.View("")
	}
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = startError(w.git, r.cwd, err)
		}
		if !errors.Is(err, git.ErrNone) {
			r.problems = append(r.problems, fmt.Sprintf("git: %v", err))
		}
		return r
	}
	var extra map[string]string
	if p.Sandbox != nil {
		extra = p.Env // it says where the agents' home directory is
		confine := *p.Sandbox
		confine.Read = append(slices.Clone(confine.Read), r.view.Dir)
		r.confine = &confine
	}
	r.env = append(git.Environ(environ(os.Environ(), extra)), r.view.Env()...)
	return r
}

func (r *repository) close() {
	if r.view != nil {
		r.note("view", r.view.Close())
	}
}

// gitState describes the repository whose work tree has cwd in it; nil if there is none.
func (w *Collector) gitState(ctx context.Context, p bridge.InspectParams) (*bridge.GitState, []string) {
	r := w.repository(ctx, p)
	defer r.close()
	if r.view == nil {
		return nil, r.problems
	}
	if _, err := r.git("rev-parse", "--git-dir"); err != nil {
		r.note("rev-parse", err)
		return nil, r.problems
	}
	g := &bridge.GitState{Operation: git.Operation(r.place.GitDir)}
	g.Branch, _ = r.git("symbolic-ref", "--quiet", "--short", "HEAD") // none when HEAD is detached
	g.Head, _ = r.git("rev-parse", "--quiet", "--verify", "HEAD")     // none before the first commit
	if g.Head != "" {
		g.Commits = r.lines(maxCommits, "log", "-n", fmt.Sprint(maxCommits), "--no-decorate", "--format=%h %s")
	}
	g.Status = r.lines(maxStatus, "status", "--porcelain", "--ignore-submodules=dirty")
	if g.Head != "" {
		stat, err := r.git("diff", "--no-ext-diff", "--no-textconv", "--ignore-submodules=dirty", "--stat=100",
			"--stat-count=80", "HEAD")
		r.note("diff", err)
		g.Stat = jsonl.CutFront(stat, maxStat) // its last line is the total
	}
	return g, r.problems
}

func (r *repository) note(call string, err error) {
	if err != nil {
		r.problems = append(r.problems, fmt.Sprintf("git %s: %v", call, err))
	}
}

// lines returns the output of a call, at most max lines.
func (r *repository) lines(max int, args ...string) []string {
	out, err := r.git(args...)
	r.note(args[0], err)
	if out == "" {
		return nil
	}
	all := strings.Split(out, "\n")
	if len(all) > max {
		r.note(args[0], fmt.Errorf("more than %d lines", max))
		all = all[:max]
	}
	for i, line := range all {
		if len(line) > maxLine {
			all[i] = jsonl.Cut(line, maxLine) + "…"
		}
	}
	return all
}

// git runs one call and returns its output as text, without the last line end. With [git.ErrTooMuch], it returns what
// was read, up to its last line end.
func (r *repository) git(args ...string) (string, error) {
	ctx, cancel := context.WithTimeout(r.ctx, gitLimit)
	defer cancel()
	runner := git.Runner{Dir: r.cwd, Env: r.env, Program: r.w.git,
		Confine: func(cmd *exec.Cmd) error { return sandbox.Wrap(cmd, r.confine) }}
	out, err := runner.Do(ctx, git.Call{Args: args, Max: gitOutput})
	switch failed, ok := errors.AsType[*git.Error](err); {
	case r.ctx.Err() != nil:
		return "", r.ctx.Err()
	case ctx.Err() != nil:
		return "", fmt.Errorf("no answer within %v", gitLimit)
	case errors.Is(err, git.ErrTooMuch):
		return text(out[:bytes.LastIndexByte(out, '\n')+1]), git.ErrTooMuch
	case ok:
		return "", errors.New(jsonl.Cut(failed.Reason(), gitComplain))
	case errors.Is(err, exec.ErrNotFound), errors.Is(err, fs.ErrNotExist):
		return "", startError(r.w.git, r.cwd, errors.Unwrap(err))
	case err != nil:
		return "", errors.Unwrap(err) // the caller names the call
	}
	return text(out), nil
}

// text returns valid UTF-8 without the last line end.
func text(b []byte) string {
	return strings.TrimRight(strings.ToValidUTF8(string(b), string(utf8.RuneError)), "\n")
}
