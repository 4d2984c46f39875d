package host

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/workspace"
)

// TransferLimits bound one transfer. A zero field has the value of [DefaultTransferLimits].
type TransferLimits struct {
	Bytes int64         // of the objects that come from a host
	Time  time.Duration // of the whole transfer
}

// DefaultTransferLimits are far above what the work of an agent needs.
var DefaultTransferLimits = TransferLimits{Bytes: 1 << 30, Time: 10 * time.Minute}

// ErrTooLarge reports a host that sent more than [TransferLimits] allow. Nothing of it was kept.
var ErrTooLarge = errors.New("the host sent more than is allowed for one transfer")

// ErrNoBranch reports a branch that the host does not have.
var ErrNoBranch = errors.New("the host does not have this branch")

// RemoteRepo is a bare repository on another host, to which the commits of a run move, and back. It is a value, and
// safe for concurrent use.
//
// Both directions go through Git's transport ext, which runs the host's command. That transport is allowed
// for these calls only. They do not run in the user's repository but in a temporary one that borrows its
// objects:
//
//   - The configuration of the user's repository, which an agent may have changed, cannot redirect them.
//   - Objects from the host are checked ([TransferLimits], fsck of each) before the user's repository gets them.
//   - Only one branch of this run is fetched, by its full name; other references, tags and submodules are not.
//
// Nothing is overwritten on the host: if the host has a reference of the same name, it must be equal, or
// the push is refused.
type RemoteRepo struct {
	Repo   *workspace.Repo
	URL    string   // of the host's repository: ext::…
	Env    []string // of the host's command, such as os.Environ(); variables of Git are omitted
	Limits TransferLimits
}

// Push sends a commit with its history to the host, under a name that it returns. Pushing it again is no
// error.
func (l RemoteRepo) Push(ctx context.Context, commit string) (ref string, err error) {
	commit, err = l.Repo.Git.Text(ctx, "rev-parse", "--verify", "--quiet", "--end-of-options", commit+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("push to the host: there is no such commit: %w", err)
	}
	ref = l.Repo.Ref("pushed/" + commit)
	ctx, done := l.bounded(ctx)
	defer done()
	err = l.quarantine(ctx, func(q git.Runner) error {
		_, err := q.Write(ctx, append(allowing("ext"), "-c", "push.gpgSign=false", "push", "--quiet", "--no-verify",
			"--no-follow-tags", "--no-recurse-submodules", l.URL, commit+":"+ref)...)
		return err
	})
	return ref, wrap("push to the host", err)
}

// Fetched is the result of a fetch.
type Fetched struct {
	Commit string // that the branch names now, here and on the host
	Before string // the previous commit here; empty if the branch was not here
}

var branchForm = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^refs/heads/arbiter/[0-9A-Za-z_-]{8}/orch-[1-9][0-9]{0,5}\.[1-9][0-9]{0,5}$`)
})

// Fetch brings a branch of this run here, under the same name: "refs/heads/arbiter/RUN8/orch-N.G". Errors:
// [ErrNoBranch], [ErrTooLarge], [workspace.ErrMoved], those of ctx and of git.
func (l RemoteRepo) Fetch(ctx context.Context, branch string) (Fetched, error) {
	if !branchForm().MatchString(branch) || !strings.HasPrefix(branch, l.Repo.Branch("")) {
		return Fetched{}, fmt.Errorf("fetch from the host: %q is not a branch of an Orchestrator of this run", branch)
	}
	ctx, done := l.bounded(ctx)
	defer done()
	var f Fetched
	err := l.quarantine(ctx, func(q git.Runner) (err error) {
		f, err = l.fetch(ctx, q, branch)
		return err
	})
	return f, wrap("fetch from the host", err)
}

// incoming is the name of a branch before it is checked.
const incoming = "refs/incoming"

func (l RemoteRepo) fetch(ctx context.Context, q git.Runner, branch string) (f Fetched, err error) {
	limit := l.Limits.Bytes
	if limit == 0 {
		limit = DefaultTransferLimits.Bytes
	}
	// Git has no limit for a fetch: the system ends it when its pack is too large (SIGXFSZ).
	q.Confine = func(cmd *exec.Cmd) error {
		script := fmt.Sprintf(`ulimit -f %d; exec "$0" "$@"`, limit/512)
		cmd.Path, cmd.Args = "/bin/sh", append([]string{"sh", "-c", script, cmd.Path}, cmd.Args[1:]...)
		return nil
	}
	_, err = q.Write(ctx, append(allowing("ext"), "-c", "transfer.fsckObjects=true", "-c", "fetch.fsckObjects=true",
		"-c", "fetch.unpackLimit=1", "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head",
		"--no-auto-maintenance", "--refmap=", l.URL, "+"+branch+":"+incoming)...)
	packs, _ := filepath.Glob(filepath.Join(q.Dir, "objects", "pack", "tmp_pack_*")) // the pattern is fixed
	switch {
	case err != nil && slices.ContainsFunc(packs, func(pack string) bool {
		info, err := os.Stat(pack)
		return err == nil && info.Size() >= limit/512*512
	}):
		return f, ErrTooLarge
	case err != nil && strings.Contains(err.Error(), "couldn't find remote ref"):
		return f, ErrNoBranch
	case err != nil:
		return f, err
	}
	tip, err := q.Text(ctx, "rev-parse", "--verify", "--quiet", incoming+"^{commit}")
	if err != nil {
		return f, fmt.Errorf("%s is not a commit: %w", branch, err)
	}
	before, err := l.Repo.Commit(ctx, branch)
	if err != nil {
		return f, err
	}
	// First under a separate name, so that the objects are kept until the branch names them.
	kept := l.Repo.Ref("fetched/" + strings.TrimPrefix(branch, l.Repo.Branch("")))
	_, err = l.Repo.Git.Write(ctx, append(allowing("file"), "-c", "fetch.fsckObjects=true", "-c",
		"fetch.writeCommitGraph=false", "fetch", "--quiet", "--no-tags", "--no-recurse-submodules",
		"--no-write-fetch-head", "--no-auto-maintenance", "--refmap=", q.Dir, "+"+incoming+":"+kept)...)
	if err != nil {
		return f, fmt.Errorf("take what the host sent: %w", err)
	}
	err = l.Repo.Move(ctx, "arbiter: fetched from a host", workspace.Update{Ref: branch, Old: before.ID, New: tip})
	return Fetched{Commit: tip, Before: before.ID}, err
}

// transports are the transports of Git to which the configuration of a repository could redirect a call.
var transports = []string{"ext", "file", "git", "ssh", "http", "https", "ftp", "ftps"}

// allowing returns the options of a call that may use only one transport, whatever is configured.
func allowing(transport string) []string {
	args := []string{"-c", "protocol.allow=never"}
	for _, t := range transports {
		if t == transport {
			args = append(args, "-c", "protocol."+t+".allow=always")
		} else {
			args = append(args, "-c", "protocol."+t+".allow=never")
		}
	}
	return args
}

func (l RemoteRepo) bounded(ctx context.Context) (context.Context, context.CancelFunc) {
	limit := l.Limits.Time
	if limit == 0 {
		limit = DefaultTransferLimits.Time
	}
	return context.WithTimeout(ctx, limit)
}

// wrap adds to an error what failed, and whether it took too long.
func wrap(what string, err error) error {
	switch {
	case err == nil:
		return nil
	case errors.Is(err, context.DeadlineExceeded):
		return fmt.Errorf("%s: it took too long: %w", what, err)
	}
	return fmt.Errorf("%s: %w", what, err)
}

// quarantine makes a temporary bare repository that borrows the objects of the user's and knows the run's
// commits, so that a transfer contains only new objects. Its git has the environment of the host's command
// and no sandbox: it needs the network, and changes nothing in the user's repository.
func (l RemoteRepo) quarantine(ctx context.Context, use func(git.Runner) error) error {
	objects := filepath.Join(l.Repo.CommonDir, "objects")
	if strings.ContainsAny(objects, "\n\"") {
		return fmt.Errorf("%q: a repository with such a path cannot be moved to a host", objects)
	}
	format, err := l.Repo.Git.Text(ctx, "rev-parse", "--show-object-format")
	if err != nil {
		return err
	}
	dir, err := l.Repo.Temp()
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	q := git.Runner{Dir: dir, Env: append(withoutGit(l.Env), l.Repo.Git.Env...), Program: l.Repo.Git.Program,
		Begin: l.Repo.Git.Begin}
	q.Env = append(q.Env, "GIT_DIR="+dir)
	if _, err := q.Write(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format); err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(objects+"\n"), 0o600)
	if err != nil {
		return err
	}
	if err := shallow(l.Repo.CommonDir, dir); err != nil {
		return err
	}
	known, err := l.known(ctx)
	if err != nil {
		return err
	}
	in := ""
	for i, commit := range known {
		in += fmt.Sprintf("create refs/known/%d %s\n", i, commit)
	}
	if in != "" {
		_, err := q.Do(ctx, git.Call{Args: []string{"update-ref", "--stdin"}, Stdin: []byte(in), Writes: true})
		if err != nil {
			return err
		}
	}
	return use(q)
}

// known returns commits that a host of this run may have, too.
func (l RemoteRepo) known(ctx context.Context) ([]string, error) {
	out, err := l.Repo.Git.Text(ctx, "for-each-ref", "--format=%(objectname) %(objecttype)",
		strings.TrimSuffix(l.Repo.Ref(""), "/"), strings.TrimSuffix(l.Repo.Branch(""), "/"))
	if err != nil {
		return nil, err
	}
	head, err := l.Repo.Commit(ctx, "HEAD")
	if err != nil {
		return nil, err
	}
	commits := []string{}
	if head.ID != "" {
		commits = append(commits, head.ID)
	}
	for line := range strings.Lines(out) {
		id, kind, _ := strings.Cut(strings.TrimSpace(line), " ")
		if kind == "commit" && !slices.Contains(commits, id) {
			commits = append(commits, id)
		}
	}
	return commits, nil
}

// shallow makes the history of the temporary repository end where that of the user's ends.
func shallow(common, dir string) error {
	text, err := os.ReadFile(filepath.Join(common, "shallow"))
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, "shallow"), text, 0o600)
}

// withoutGit removes the variables that would redirect git or make it run something.
func withoutGit(env []string) []string {
	return slices.DeleteFunc(slices.Clone(env), func(entry string) bool {
		return strings.HasPrefix(entry, "GIT_") || strings.HasPrefix(entry, "LC_ALL=")
	})
}
