package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"

	securejoin "github.com/cyphar/filepath-securejoin"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/sandbox"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// This part of the package implements the host of a remote bridge: what it reports about itself, its file
// system, and the directories of the Orchestrators that work there.
//
// Base commits are pushed to a repository in the host's directory, the cache, whose own work tree stays empty. The
// directories of Orchestrators are worktrees or clones of it, in a directory of the run: DIR/RUN8/orch-N.
//
// A [RemoteMachine] has no goroutine. Its methods are safe for concurrent use after Begin.

// RemoteMachine implements [bridge.Machine].
type RemoteMachine struct {
	Data      string   // default parent of agents' directories
	Own       []string // directories with the user's own configuration
	Hide      []string // directories that are hidden from agents in a sandbox
	Namespace string   // the bridge's isolation
	Ended     int      // number of processes of an earlier bridge that were ended

	run8  string
	dir   string // with links resolved
	cache string // top of the cache's work tree
}

var _ bridge.Machine = (*RemoteMachine)(nil)

func hostError(format string, args ...any) error {
	return &bridge.RPCError{Code: bridge.CodeRefused, Category: bridge.CatHost, Message: fmt.Sprintf(format, args...)}
}

// Begin implements [bridge.Machine]. It creates the directory and the cache.
func (m *RemoteMachine) Begin(ctx context.Context, of bridge.Owner, p bridge.RemoteParams) (bridge.RemoteInfo, error) {
	var none bridge.RemoteInfo
	home, err := os.UserHomeDir()
	if err != nil || !filepath.IsAbs(home) {
		return none, hostError("there is no home directory on the host: set HOME there")
	}
	if len(of.Run) < 8 {
		return none, hostError("the run's id is too short: %q", of.Run)
	}
	m.run8 = of.Run[:8]
	dir := p.Dir
	switch {
	case dir == "":
		dir = m.Data
	case dir == "~" || strings.HasPrefix(dir, "~/"):
		dir = filepath.Join(home, dir[1:])
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return none, hostError("the directory for agents cannot be made (%v): name another by `dir` of the host", err)
	}
	if m.dir, err = filepath.EvalSymlinks(dir); err != nil {
		return none, hostError("the directory for agents cannot be used: %v", err)
	}
	if err := hosts.CheckWords(m.dir); err != nil { // it is appended to the host's command
		return none, hostError("the directory for agents: %v; name another by `dir` of the host", err)
	}
	if err := m.makeCache(ctx); err != nil {
		return none, hostError("the repository for base commits cannot be made: %v", err)
	}
	info := bridge.RemoteInfo{OS: runtime.GOOS, Arch: runtime.GOARCH, Cores: runtime.GOMAXPROCS(0),
		Home: filepath.Clean(home), Dir: m.dir, Cache: filepath.Join(m.cache, ".git"), Namespace: m.Namespace,
		SandboxHide: m.Hide, Ended: m.Ended}
	info.Hostname, _ = os.Hostname() // for people
	for _, program := range p.Programs {
		if _, err := exec.LookPath(program); err != nil {
			info.Missing = append(info.Missing, program)
		}
	}
	if info.Sandbox, err = sandbox.Find(); err != nil {
		info.Sandbox, info.SandboxReason = "", err.Error()
	}
	return info, nil
}

// cacheSettings is the Git configuration of the cache: no maintenance runs in it, and shallow bases are accepted.
var cacheSettings = [][2]string{{"receive.shallowUpdate", "true"}, {"gc.auto", "0"}, {"receive.autogc", "false"},
	{"maintenance.auto", "false"}, {"core.hooksPath", os.DevNull}}

// makeCache creates the repository atomically if it does not exist, because several bridges may do so concurrently.
func (m *RemoteMachine) makeCache(ctx context.Context) error {
	m.cache = filepath.Join(m.dir, "cache")
	at := git.Runner{Dir: m.dir, Env: git.Environ(os.Environ())}
	if err := at.Check(ctx); err != nil {
		return err
	}
	if _, err := os.Lstat(filepath.Join(m.cache, ".git")); err == nil {
		return nil
	}
	made, err := os.MkdirTemp(m.dir, "cache-*")
	if err != nil {
		return err
	}
	defer os.RemoveAll(made)
	if _, err := at.Write(ctx, "init", "--quiet", "--template=", made); err != nil {
		return err
	}
	at.Dir = made
	for _, set := range cacheSettings {
		if _, err := at.Write(ctx, "config", set[0], set[1]); err != nil {
			return err
		}
	}
	if err := os.Rename(made, m.cache); err != nil && !errors.Is(err, fs.ErrExist) {
		if _, there := os.Lstat(filepath.Join(m.cache, ".git")); there != nil {
			return err
		}
	}
	return nil
}

func (m *RemoteMachine) Resolve(ctx context.Context, paths []string) []bridge.ResolvedPath {
	all := make([]bridge.ResolvedPath, len(paths))
	for i, name := range paths {
		if ctx.Err() != nil {
			all[i].Error = ctx.Err().Error()
			continue
		}
		path, err := securejoin.SecureJoin("/", name)
		_, missing := os.Lstat(name)
		if errors.Is(missing, syscall.ENOTDIR) {
			err = missing // nothing can be there
		}
		if all[i] = (bridge.ResolvedPath{Path: path, Exists: missing == nil}); err != nil {
			all[i] = bridge.ResolvedPath{Exists: missing == nil, Error: err.Error()}
		}
	}
	return all
}

func (m *RemoteMachine) Inventory(_ context.Context, p bridge.InventoryParams) (bridge.InventoryResult, error) {
	l, err := trust.Inventory(p.Dir, m.Own...)
	if err != nil {
		return bridge.InventoryResult{}, &bridge.RPCError{Code: bridge.CodeRefused, Category: bridge.CatTrust,
			Message: err.Error()}
	}
	r := bridge.InventoryResult{Dir: l.CWD, Root: l.Root}
	for _, i := range l.Items {
		r.Items = append(r.Items, bridge.InventoryItem(i))
	}
	return r, nil
}

// work opens the directories of the run. subdir is the directory of the run below the top of its work tree; base is
// a commit of the cache.
func (m *RemoteMachine) work(ctx context.Context, subdir, base string) (*workspace.Repo, *workspace.Worktrees, error) {
	cache, err := git.Locate(m.cache)
	if err != nil {
		return nil, nil, err
	}
	at := git.Runner{Dir: m.cache, At: &cache, Env: git.Environ(os.Environ())}
	if _, err := at.Text(ctx, "rev-parse", "--quiet", "--verify", "HEAD^{commit}"); git.Exit(err) > 0 && base != "" {
		// A work tree needs a HEAD. It is detached, so that every branch can be pushed to.
		if _, err := at.Write(ctx, "update-ref", "--no-deref", "HEAD", base); err != nil {
			return nil, nil, err
		}
	}
	place := filepath.Join(m.cache, filepath.FromSlash(subdir))
	if err := os.MkdirAll(place, 0o700); err != nil {
		return nil, nil, err
	}
	repo, err := workspace.Open(ctx, workspace.Options{Dir: place, Run: m.run8,
		Scratch: filepath.Join(m.dir, "scratch")})
	if err != nil {
		return nil, nil, err
	}
	dirs, err := workspace.OpenWorktrees(repo, filepath.Join(m.dir, m.run8))
	return repo, dirs, err
}

func workError(err error) error {
	if err == nil {
		return nil
	}
	return &bridge.RPCError{Code: bridge.CodeRefused, Category: bridge.CatWorkspace, Message: err.Error()}
}

func (m *RemoteMachine) PrepareWork(ctx context.Context, p bridge.PrepareWorkParams) (bridge.WorkResult, error) {
	repo, dirs, err := m.work(ctx, p.Subdir, p.Base)
	if err != nil {
		return bridge.WorkResult{}, workError(err)
	}
	w, err := dirs.Create(ctx, workspace.WorktreeSpec{Orchestrator: p.Orchestrator, Generation: p.Generation,
		Kind: workspace.WorktreeKind(p.Kind), From: p.Base})
	if err != nil {
		return bridge.WorkResult{}, workError(err)
	}
	r := bridge.WorkResult{Dir: w.Dir, CWD: w.Work, Branch: w.Branch, Base: w.Base, Kind: string(w.Kind),
		Write: []string{w.Dir}}
	if w.Kind == workspace.WorktreeLinked {
		r.Write = append(r.Write, repo.CommonDir)
	}
	return r, nil
}

// find returns the directory of an Orchestrator.
func (m *RemoteMachine) find(
	ctx context.Context, orchestrator int,
) (*workspace.Repo, *workspace.Worktrees, workspace.Worktree, error) {
	repo, dirs, err := m.work(ctx, "", "")
	if err != nil {
		return nil, nil, workspace.Worktree{}, err
	}
	w, ok, err := dirs.Find(orchestrator)
	if err == nil && !ok {
		err = fmt.Errorf("there is no directory of Orchestrator %d on this host", orchestrator)
	}
	return repo, dirs, w, err
}

// CommitWork implements [bridge.Machine]. It moves the branch of the directory to the commit that is checked out
// there, even if the agent has switched branches.
func (m *RemoteMachine) CommitWork(ctx context.Context, p bridge.CommitWorkParams) (bridge.CommitWorkResult, error) {
	var none bridge.CommitWorkResult
	repo, dirs, w, err := m.find(ctx, p.Orchestrator)
	if err != nil {
		return none, workError(err)
	}
	found, err := dirs.Commit(ctx, w, p.Message)
	if err != nil {
		return none, workError(err)
	}
	branch := "refs/heads/" + w.Branch
	tip, err := repo.Commit(ctx, branch)
	if err != nil {
		return none, workError(err)
	}
	err = repo.Move(ctx, "arbiter: committed", workspace.Update{Ref: branch, Old: tip.ID, New: found.Head})
	if err != nil {
		return none, workError(err)
	}
	return bridge.CommitWorkResult{Head: found.Head, Tree: found.Tree, Branch: w.Branch, Problems: found.Problems}, nil
}

func (m *RemoteMachine) RemoveWork(ctx context.Context, p bridge.RemoveWorkParams) (bridge.RemoveWorkResult, error) {
	repo, dirs, w, err := m.find(ctx, p.Orchestrator)
	if err != nil {
		return bridge.RemoveWorkResult{}, workError(err)
	}
	saved, err := dirs.Remove(ctx, w, p.Force)
	if err == nil && p.Head != "" {
		err = m.forget(ctx, repo, dirs, w, p.Head)
	}
	if err != nil {
		return bridge.RemoveWorkResult{}, workError(err)
	}
	return bridge.RemoveWorkResult{Ref: saved.Ref, Commit: saved.Commit,
		Problems: append(saved.Problems, saved.Nested...)}, nil
}

// forget removes the branch of a removed directory, if the client has all of its commits. With the last directory
// of the run it removes everything that was pushed for the run.
func (m *RemoteMachine) forget(
	ctx context.Context, repo *workspace.Repo, dirs *workspace.Worktrees, w workspace.Worktree, head string,
) error {
	branch, base := "refs/heads/"+w.Branch, repo.Ref(fmt.Sprintf("orch-%d/base", w.Orchestrator))
	tips, err := repo.Commits(ctx, branch, base)
	if err != nil {
		return err
	}
	if tips[0].ID == head {
		err := repo.Move(ctx, "arbiter: merged", workspace.Update{Ref: branch, Old: head},
			workspace.Update{Ref: base, Old: tips[1].ID})
		if err != nil {
			return err
		}
	}
	left, err := dirs.List()
	if err != nil || len(left) > 0 {
		return err
	}
	pushed, err := repo.Refs(ctx, "pushed/")
	if err != nil {
		return err
	}
	var gone []workspace.Update
	for ref, id := range pushed {
		gone = append(gone, workspace.Update{Ref: ref, Old: id})
	}
	if err := repo.Move(ctx, "arbiter: the run is over", gone...); err != nil {
		return err
	}
	// The directory is not empty if the user has put something into it.
	err = os.Remove(filepath.Join(m.dir, m.run8))
	if errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTEMPTY) {
		return nil
	}
	return err
}

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

var branchForm = command.Pattern(`^refs/heads/arbiter/[0-9A-Za-z_-]{8}/orch-[1-9][0-9]{0,5}\.[1-9][0-9]{0,5}$`)

// Fetch brings a branch of this run here, under the same name: "refs/heads/arbiter/RUN8/orch-N.G". It returns the
// commit that the branch names now, here and on the host. Errors: [ErrNoBranch], [ErrTooLarge], [workspace.ErrMoved],
// those of ctx and of git.
func (l RemoteRepo) Fetch(ctx context.Context, branch string) (commit string, err error) {
	if !branchForm().MatchString(branch) || !strings.HasPrefix(branch, l.Repo.Branch("")) {
		return "", fmt.Errorf("fetch from the host: %q is not a branch of an Orchestrator of this run", branch)
	}
	ctx, done := l.bounded(ctx)
	defer done()
	err = l.quarantine(ctx, func(q git.Runner) (err error) {
		commit, err = l.fetch(ctx, q, branch)
		return err
	})
	return commit, wrap("fetch from the host", err)
}

// incoming is the name of a branch before it is checked.
const incoming = "refs/incoming"

func (l RemoteRepo) fetch(ctx context.Context, q git.Runner, branch string) (commit string, err error) {
	limit := cmp.Or(l.Limits.Bytes, DefaultTransferLimits.Bytes)
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
		return "", ErrTooLarge
	case err != nil && strings.Contains(err.Error(), "couldn't find remote ref"):
		return "", ErrNoBranch
	case err != nil:
		return "", err
	}
	tip, err := q.Text(ctx, "rev-parse", "--verify", "--quiet", incoming+"^{commit}")
	if err != nil {
		return "", fmt.Errorf("%s is not a commit: %w", branch, err)
	}
	before, err := l.Repo.Commit(ctx, branch)
	if err != nil {
		return "", err
	}
	// First under a separate name, so that the objects are kept until the branch names them.
	kept := l.Repo.Ref("fetched/" + strings.TrimPrefix(branch, l.Repo.Branch("")))
	_, err = l.Repo.Git.Write(ctx, append(allowing("file"), "-c", "fetch.fsckObjects=true", "-c",
		"fetch.writeCommitGraph=false", "fetch", "--quiet", "--no-tags", "--no-recurse-submodules",
		"--no-write-fetch-head", "--no-auto-maintenance", "--refmap=", q.Dir, "+"+incoming+":"+kept)...)
	if err != nil {
		return "", fmt.Errorf("take what the host sent: %w", err)
	}
	return tip, l.Repo.Move(ctx, "arbiter: fetched from a host",
		workspace.Update{Ref: branch, Old: before.ID, New: tip})
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
	return context.WithTimeout(ctx, cmp.Or(l.Limits.Time, DefaultTransferLimits.Time))
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
	// No variable may redirect git or make it run something.
	env := slices.DeleteFunc(slices.Clone(l.Env), func(entry string) bool {
		return strings.HasPrefix(entry, "GIT_") || strings.HasPrefix(entry, "LC_ALL=")
	})
	q := git.Runner{Dir: dir, Env: slices.Concat(env, l.Repo.Git.Env, []string{"GIT_DIR=" + dir}),
		Program: l.Repo.Git.Program}
	if _, err := q.Write(ctx, "init", "--quiet", "--bare", "--template=", "--object-format="+format); err != nil {
		return err
	}
	err = os.WriteFile(filepath.Join(dir, "objects", "info", "alternates"), []byte(objects+"\n"), 0o600)
	if err != nil {
		return err
	}
	// The history of this temporary repository ends where that of the user's ends.
	ends, err := os.ReadFile(filepath.Join(l.Repo.CommonDir, "shallow"))
	if err == nil {
		err = os.WriteFile(filepath.Join(dir, "shallow"), ends, 0o600)
	}
	if err != nil && !errors.Is(err, os.ErrNotExist) {
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
