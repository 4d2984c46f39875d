package host

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
)

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
