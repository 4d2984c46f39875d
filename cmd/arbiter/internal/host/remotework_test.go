package host

import (
	"context"
	"encoding/hex"
	"errors"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

// far is a host whose command is local, with a bare repository.
type far struct {
	gittest.Dir
	host hosts.Host
}

func newFar(t *testing.T, command ...string) far {
	t.Helper()
	f := far{Dir: gittest.Dir{TB: t, Path: gittest.Temp(t)}, host: hosts.Host{Command: command}}
	f.Git("init", "-q", "--bare")
	return f
}

// work commits a file on a branch there, on top of a commit.
func (f far) work(branch, from, file, text string) string {
	f.Helper()
	tree := gittest.Dir{TB: f, Path: gittest.Temp(f)}
	f.Git("worktree", "add", "-q", "-B", branch, tree.Path, from)
	tree.Write(file, text)
	id := tree.Commit("work of " + branch)
	f.Git("worktree", "remove", "--force", tree.Path)
	return id
}

func link(t *testing.T, near gittest.Dir, f far) RemoteRepo {
	t.Helper()
	repo, err := workspace.Open(t.Context(), workspace.Options{Dir: near.Path, Run: gittest.Run, Env: gittest.Environ(),
		Scratch: gittest.Temp(t)})
	testkit.OK(t, err)
	url := testkit.Must(f.host.GitURL(f.Path, git.Serving()...))(t)
	return RemoteRepo{Repo: repo, URL: url, Env: append(gittest.Environ(), "OF_THE_HOST=1")}
}

const branch = "arbiter/" + gittest.RUN8 + "/orch-1.1"

// TestThereAndBack: a commit is on the host with its history, and the work on top of it comes back, and
// nothing else.
func TestThereAndBack(t *testing.T) {
	near := gittest.New(t, map[string]string{"a": "1"})
	base := near.Commit("second")
	f := newFar(t, "sh", "-c", `[ "$OF_THE_HOST" = 1 ] && exec "$@"`, "100% of it")
	l := link(t, near, f)
	ref := testkit.Must(l.Push(t.Context(), "HEAD"))(t)
	testkit.Same(t, "pushed", base+"\n"+near.Git("rev-parse", "HEAD~1"), f.Git("rev-parse", ref, ref+"~1"))
	if again, err := l.Push(t.Context(), base); err != nil || again != ref {
		t.Errorf("pushed again: %s, %v", again, err)
	}

	done := f.work(branch, base, "b", "2")
	f.work("main", base, "c", "3")
	f.work("arbiter/"+gittest.RUN8+"/orch-2.1", base, "d", "4")
	f.Git("tag", "-a", "-m", "x", "v1", done)
	before := near.Git("for-each-ref", "--format=%(refname)")
	got, err := l.Fetch(t.Context(), "refs/heads/"+branch)
	testkit.Need(t, err == nil && got == done, "%+v, %v", got, err)
	testkit.Same(t, "b is", "2", near.Git("show", branch+":b"))
	after := strings.NewReplacer("refs/heads/"+branch+"\n", "", "refs/arbiter/"+gittest.RUN8+"/fetched/orch-1.1\n",
		"").Replace(near.Git("for-each-ref", "--format=%(refname)") + "\n")
	testkit.Check(t, strings.TrimSpace(after) == before, "references before:\n%s\nand after:\n%s", before, after)
	if _, err := near.Command("cat-file", "-e", f.Git("rev-parse", "main")).Output(); err == nil {
		t.Error("another branch of the host was fetched, too")
	}

	more := f.work(branch, done, "b", "5")
	got, err = l.Fetch(t.Context(), "refs/heads/"+branch)
	testkit.Check(t, err == nil && got == more, "fetched again: %+v, %v", got, err)
	_, err = l.Fetch(t.Context(), "refs/heads/arbiter/"+gittest.RUN8+"/orch-3.1")
	testkit.Check(t, errors.Is(err, ErrNoBranch), "a branch that is not there: %v", err)
	left, _ := os.ReadDir(l.Repo.Scratch)
	testkit.Check(t, len(left) == 0, "left: %v", left)
}

// TestRefusedBranches: only branches of Orchestrators of this run are fetched.
func TestRefusedBranches(t *testing.T) {
	near := gittest.New(t, map[string]string{"a": "1"})
	l := link(t, near, newFar(t, "env"))
	for _, name := range []string{"", "main", "refs/heads/main", branch, "refs/heads/arbiter/" + gittest.RUN8 + "/main",
		"refs/heads/arbiter/ffffffff/orch-1.1", "refs/heads/" + branch + "/x", "refs/heads/" + branch + ":refs/heads/trunk",
		"refs/heads/arbiter/" + gittest.RUN8 + "/orch-0.1", "--upload-pack=x"} {
		testkit.Fails(t, name, testkit.Err(l.Fetch(t.Context(), name)), "is not a branch of an")
	}
	testkit.Fails(t, "an option is pushed", testkit.Err(l.Push(t.Context(), "--all")))
}

// TestHostile: a host that sends broken or dangerous objects, too much, garbage, or nothing at all changes nothing.
func TestHostile(t *testing.T) {
	near := gittest.New(t, map[string]string{"a": "1"})
	base := near.Git("rev-parse", "HEAD")
	hostile := func(t *testing.T, tree func(f far) string) far {
		f := newFar(t, "env")
		testkit.Must(link(t, near, f).Push(t.Context(), base))(t)
		id := f.Git("commit-tree", "-p", base, "-m", "x", tree(f))
		f.Git("update-ref", "refs/heads/"+branch, id)
		return f
	}
	blob := func(f far, text string) string {
		cmd := f.Command("hash-object", "-w", "--stdin")
		cmd.Stdin = strings.NewReader(text)
		out, err := cmd.Output()
		f.Must(err)
		return strings.TrimSpace(string(out))
	}
	mktree := func(f far, entry string) string {
		cmd := f.Command("mktree")
		cmd.Stdin = strings.NewReader(entry)
		out, err := cmd.CombinedOutput()
		testkit.Need(f, err == nil, "%v %s", err, out)
		return strings.TrimSpace(string(out))
	}
	for name, c := range map[string]struct {
		tree   func(f far) string
		limits TransferLimits
		want   string
	}{
		"a tree that writes into .git": {tree: func(f far) string {
			inner := mktree(f, "100644 blob "+blob(f, "x")+"\tconfig\n")
			raw := f.Command("hash-object", "-w", "-t", "tree", "--literally", "--stdin")
			id, err := hex.DecodeString(inner)
			f.Must(err)
			raw.Stdin = strings.NewReader("40000 .git\x00" + string(id))
			out, err := raw.CombinedOutput()
			testkit.Need(f, err == nil, "%v %s", err, out)
			return strings.TrimSpace(string(out))
		}, want: "fsck"},
		"a submodule with an option for a URL": {tree: func(f far) string {
			return mktree(f, "100644 blob "+blob(f, "[submodule \"x\"]\n\tpath = x\n\turl = --upload-pack=touch\n")+
				"\t.gitmodules\n")
		}, want: "fsck"},
		"too much": {tree: func(f far) string {
			return mktree(f, "100644 blob "+blob(f, noise(1<<20))+"\tx\n")
		}, limits: TransferLimits{Bytes: 1 << 19}, want: ErrTooLarge.Error()},
	} {
		t.Run(name, func(t *testing.T) {
			l := link(t, near, hostile(t, c.tree))
			l.Limits = c.limits
			unchanged(t, near, func() error {
				_, err := l.Fetch(t.Context(), "refs/heads/"+branch)
				return err
			}, c.want)
		})
	}
	for name, c := range map[string]struct{ command, want string }{
		"garbage": {"echo hello; cat >/dev/null", "fetch from the host"},
		"nothing": {"exit 3", "fetch from the host"},
		"silence": {"exec cat", "it took too long"},
		"no way":  {"echo 'ssh: connect to host box port 22: Connection refused' >&2; exit 255", "Connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			l := link(t, near, newFar(t, "sh", "-c", c.command))
			l.Limits.Time = time.Minute
			if name == "silence" {
				l.Limits.Time = 300 * time.Millisecond
			}
			unchanged(t, near, func() error {
				_, err := l.Fetch(t.Context(), "refs/heads/"+branch)
				return err
			}, c.want)
		})
	}
}

func unchanged(t *testing.T, near gittest.Dir, do func() error, want string) {
	t.Helper()
	before := near.Git("for-each-ref") + near.Git("count-objects", "-v")
	err := do()
	testkit.Check(t, err != nil && strings.Contains(err.Error(), want), "%v, want %s", err, want)
	testkit.Same(t, "the user's repository", before, near.Git("for-each-ref")+near.Git("count-objects", "-v"))
}

// TestTimeoutBeforeHostIsReached: the error reports the timeout at any step.
func TestTimeoutBeforeHostIsReached(t *testing.T) {
	near := gittest.New(t, map[string]string{"a": "1"})
	l := link(t, near, newFar(t, "env"))
	l.Limits.Time = time.Nanosecond
	_, err := l.Fetch(t.Context(), "refs/heads/"+branch)
	testkit.Check(t, err != nil && strings.Contains(err.Error(), "fetch from the host: it took too long"), "fetch: %v",
		err)
	_, err = l.Push(t.Context(), near.Git("rev-parse", "HEAD"))
	testkit.Check(t, err != nil && strings.Contains(err.Error(), "push to the host: it took too long"), "push: %v", err)
}

// TestConfigurationOfTheRepository: programs in the repository's own configuration do not run, and it
// redirects nothing.
func TestConfigurationOfTheRepository(t *testing.T) {
	near := gittest.New(t, map[string]string{"a": "1"})
	base := near.Git("rev-parse", "HEAD")
	f := newFar(t, "env")
	l := link(t, near, f)
	trap := filepath.Join(gittest.Temp(t), "ran")
	hook := filepath.Join(near.Path, ".git", "hooks")
	near.Must(os.MkdirAll(hook, 0o755))
	for _, name := range []string{"pre-push", "reference-transaction"} {
		near.Must(os.WriteFile(filepath.Join(hook, name), []byte("#!/bin/sh\ntouch "+trap+"\n"), 0o755))
	}
	near.Git("config", "url.ext::touch "+trap+" .insteadOf", "ext::env")
	near.Git("config", "--add", "url.ext::touch "+trap+" .insteadOf", "/")
	near.Git("config", "protocol.ext.allow", "always")
	near.Git("config", "core.sshCommand", "touch "+trap)
	testkit.Must(l.Push(t.Context(), base))(t)
	done := f.work(branch, base, "b", "2")
	got, err := l.Fetch(t.Context(), "refs/heads/"+branch)
	testkit.Check(t, err != nil || got == done, "%+v", got)
	testkit.Fails(t, "a command of the repository's configuration ran", testkit.Err(os.Stat(trap)))
}

// TestPlantedOnTheHost: nothing that an agent wrote into the repository of its host runs when commits are sent there or
// taken from there.
func TestPlantedOnTheHost(t *testing.T) {
	for _, c := range []struct {
		name  string
		plant func(f far, trap string)
	}{
		{"hooks", func(f far, trap string) { plantHooks(f, filepath.Join(f.Path, "hooks"), trap) }},
		{"hooks elsewhere", func(f far, trap string) {
			dir := gittest.Temp(t)
			plantHooks(f, dir, trap)
			f.Git("config", "core.hooksPath", dir)
		}},
		{"references of alternates", func(f far, trap string) {
			other := newFar(t)
			f.Must(os.MkdirAll(filepath.Join(f.Path, "objects", "info"), 0o755))
			f.Must(os.WriteFile(filepath.Join(f.Path, "objects", "info", "alternates"),
				[]byte(filepath.Join(other.Path, "objects")+"\n"), 0o644))
			f.Git("config", "core.alternateRefsCommand", "touch "+trap+"; :")
		}},
		{"a work tree with a monitor and a filter", func(f far, trap string) {
			tree := gittest.Temp(t)
			f.Git("config", "core.bare", "false")
			f.Git("config", "core.worktree", tree)
			f.Git("config", "receive.denyCurrentBranch", "updateInstead")
			f.Git("config", "core.fsmonitor", "touch "+trap+"; :")
			f.Git("config", "filter.x.smudge", "touch "+trap+"; cat")
			f.Must(os.MkdirAll(filepath.Join(f.Path, "info"), 0o755))
			f.Must(os.WriteFile(filepath.Join(f.Path, "info", "attributes"), []byte("* filter=x\n"), 0o644))
		}},
		{"objects to fetch on demand", func(f far, trap string) {
			f.Git("config", "core.repositoryFormatVersion", "1")
			f.Git("config", "extensions.partialClone", "x")
			f.Git("config", "remote.x.promisor", "true")
			f.Git("config", "remote.x.url", "ext::touch "+trap)
			f.Git("config", "protocol.ext.allow", "always")
		}},
	} {
		t.Run(c.name, func(t *testing.T) {
			near := gittest.New(t, map[string]string{"a": "1"})
			base := near.Git("rev-parse", "HEAD")
			f := newFar(t, "env", "-i", "PATH="+os.Getenv("PATH"), "HOME="+gittest.Temp(t)) // as by ssh
			l := link(t, near, f)
			testkit.Must(l.Push(t.Context(), base))(t)
			done := f.work(branch, base, "b", "2")
			blob := f.Git("rev-parse", done+":b")
			trap := filepath.Join(gittest.Temp(t), "ran")
			c.plant(f, trap)
			near.Write("a", "2")
			next := near.Commit("next")
			f.Must(os.WriteFile(filepath.Join(f.Path, "HEAD"), []byte("ref: "+l.Repo.Ref("pushed/"+next)+"\n"), 0o644))
			_, _ = l.Push(t.Context(), next) // the host may refuse it
			if strings.HasPrefix(c.name, "objects") {
				f.Must(os.Remove(filepath.Join(f.Path, "objects", blob[:2], blob[2:])))
			}
			_, _ = l.Fetch(t.Context(), "refs/heads/"+branch)
			testkit.Fails(t, "a command that was planted on the host ran", testkit.Err(os.Stat(trap)))
		})
	}
}

func plantHooks(f far, dir, trap string) {
	f.Must(os.MkdirAll(dir, 0o755))
	for _, name := range []string{"pre-receive", "update", "post-receive", "post-update", "reference-transaction",
		"proc-receive", "push-to-checkout", "pre-auto-gc"} {
		f.Must(os.WriteFile(filepath.Join(dir, name), []byte("#!/bin/sh\ntouch "+trap+"\n"), 0o755))
	}
}

// TestShallow: the history of a shallow clone ends on the host where it ends here.
func TestShallow(t *testing.T) {
	whole := gittest.New(t, map[string]string{"a": "1"})
	whole.Write("a", "2")
	whole.Commit("second")
	near := gittest.Dir{TB: t, Path: filepath.Join(gittest.Temp(t), "near")}
	whole.Git("clone", "-q", "--depth", "1", "file://"+whole.Path, near.Path)
	base := near.Git("rev-parse", "HEAD")
	f := newFar(t, "env")
	f.Git("config", "receive.shallowUpdate", "true")
	l := link(t, near, f)
	testkit.Must(l.Push(t.Context(), base))(t)
	done := f.work(branch, base, "b", "2")
	got, err := l.Fetch(t.Context(), "refs/heads/"+branch)
	testkit.Check(t, err == nil && got == done, "%+v, %v", got, err)
	testkit.Same(t, "commits", "2", near.Git("rev-list", "--count", branch))
}

// TestCancelled: the end of the context ends the host's command, too.
func TestCancelled(t *testing.T) {
	near := gittest.New(t, map[string]string{"a": "1"})
	fifo := filepath.Join(gittest.Temp(t), "fifo")
	if out, err := exec.Command("mkfifo", fifo).CombinedOutput(); err != nil {
		t.Skipf("mkfifo: %v %s", err, out)
	}
	l := link(t, near, newFar(t, "sh", "-c", "exec cat "+fifo))
	ctx, cancel := context.WithCancel(t.Context())
	failed := make(chan error)
	go func() {
		_, err := l.Push(ctx, "HEAD")
		failed <- err
	}()
	w, err := os.OpenFile(fifo, os.O_WRONLY, 0) // waits until the command reads
	testkit.OK(t, err)
	defer w.Close()
	cancel()
	err = <-failed
	testkit.Check(t, errors.Is(err, context.Canceled), "%v", err)
}

// noise returns a text that does not compress.
func noise(n int) string {
	random := rand.New(rand.NewPCG(1, 2))
	raw := make([]byte, n)
	for i := range raw {
		raw[i] = byte(random.Uint32())
	}
	return string(raw)
}

// TestBySSH: commits go to another account on an sshd and back, and a connection that breaks during the
// transfer leaves nothing half done: the next attempt works.
func TestBySSH(t *testing.T) {
	ssh := testkit.NewSSH(t)
	cache := filepath.Join(ssh.Home, "cache.git")
	ssh.Run("git init -q --bare " + cache)
	near := gittest.New(t, map[string]string{"a": noise(1 << 20)})
	base := near.Git("rev-parse", "HEAD")
	f := far{Dir: gittest.Dir{TB: t, Path: cache}, host: hosts.Host{Command: ssh.Command}}
	l := link(t, near, f)
	l.Env = os.Environ()

	ssh.Relay.Cut()
	testkit.Fails(t, "pushed over a link that is cut", testkit.Err(l.Push(t.Context(), base)))
	ssh.Relay.Restore()
	ref := testkit.Must(l.Push(t.Context(), base))(t)
	testkit.Same(t, "pushed", base, ssh.Run("git -C "+cache+" rev-parse "+ref))
	done := ssh.Run("cd " + cache + " && export GIT_AUTHOR_NAME=A GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=A " +
		"GIT_COMMITTER_EMAIL=a@b && id=$(git commit-tree -p " + base + " -m x " + base +
		"^{tree}) && git update-ref refs/heads/" +
		branch + " $id && echo $id")
	ssh.Relay.Cut()
	testkit.Fails(t, "fetched over a link that is cut", testkit.Err(l.Fetch(t.Context(), "refs/heads/"+branch)))
	ssh.Relay.Restore()
	got, err := l.Fetch(t.Context(), "refs/heads/"+branch)
	testkit.Check(t, err == nil && got == done, "%+v, %v", got, err)
}

// TestBySlurm: Git works over the command of a node.
func TestBySlurm(t *testing.T) {
	slurm := testkit.NewSlurm(t)
	near := gittest.New(t, map[string]string{"a": "1"})
	f := newFar(t, slurm.Command("n2")...)
	l := link(t, near, f)
	l.Env = os.Environ()
	base := near.Git("rev-parse", "HEAD")
	testkit.Must(l.Push(t.Context(), base))(t)
	done := f.work(branch, base, "b", "2")
	got, err := l.Fetch(t.Context(), "refs/heads/"+branch)
	testkit.Check(t, err == nil && got == done, "%+v, %v", got, err)
}

// TestByKubectl: kubectl receives the arguments that Git appends after "--", each as a separate argument.
func TestByKubectl(t *testing.T) {
	dir := gittest.Temp(t)
	argsFile := filepath.Join(dir, "said")
	kubectl := filepath.Join(dir, "kubectl")
	// As measured: exec uses no shell, passes the arguments unchanged, and -i connects stdin.
	script := `#!/bin/sh
printf '%s\n' "$@" >` + argsFile + `
while [ "$1" != -- ]; do shift; done
shift
exec "$@"
`
	testkit.OK(t, os.WriteFile(kubectl, []byte(script), 0o755))
	near := gittest.New(t, map[string]string{"a": "1"})
	f := newFar(t, kubectl, "exec", "-i", "worker", "-c", "main", "--")
	testkit.Must(link(t, near, f).Push(t.Context(), "HEAD"))(t)
	raw := testkit.Must(os.ReadFile(argsFile))(t)
	want := slices.Concat(f.host.Command[1:], []string{"git"}, git.Serving(), []string{"receive-pack", f.Path})
	got := strings.Fields(string(raw))
	testkit.Check(t, slices.Equal(got, want), "%q, want %q", got, want)
}
