package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestProbeInsideSandbox: what an agent may and may not do, tried in a shell. Each case that must fail succeeds
// without the sandbox.
func TestProbeInsideSandbox(t *testing.T) {
	w := newWorld(t)
	extra := filepath.Join(filepath.Dir(w.home), "extra")
	put(t, filepath.Join(extra, "x"), "")
	put(t, filepath.Join(w.work, "private", "key"), "PRIVATE")
	w.cfg.Write = []string{extra}
	w.cfg.Hide = append(w.cfg.Hide, filepath.Join(w.work, "private"), filepath.Join(w.home, "not-there"))
	out, err := exec.Command("git", "init", "-q", w.work).CombinedOutput()
	testkit.Need(t, err == nil, "%v: %s", err, out)
	t.Setenv("HOME", w.home)
	for _, c := range []struct {
		name, script string
		may          bool
	}{
		{"reads the workspace", "cat README", true},
		{"writes the workspace", "echo x > new && mkdir dir && rm -r new dir", true},
		{"writes what is named", "echo x > " + extra + "/y", true},
		{"writes a temporary file", `f=$(mktemp) && echo x > "$f"`, true},
		{"fills a cache", `test "$GOCACHE" = /tmp/arbiter-caches/go-build && mkdir -p "$GOCACHE"`, true},
		{"writes /var/tmp", "echo x > /var/tmp/arbiter-sandbox-test", true},
		{"keeps a transcript", "mkdir -p ~/.claude/projects/p && echo x > ~/.claude/projects/p/s.jsonl", true},
		{"has devices", "echo x > /dev/null && head -c1 /dev/urandom > r", true},
		{"reads the system", "cat /etc/passwd > /dev/null && ls /usr > /dev/null", true},
		{"commits",
			"git -c user.name=a -c user.email=a@b add README && git -c user.name=a -c user.email=a@b commit -qm x", true},
		{"signals itself", "kill -0 $$", true},

		{"writes the home", "echo x > ~/x", false},
		{"changes a start-up file", "echo x >> ~/.bashrc", false},
		{"writes /etc", "echo x > /etc/arbiter-sandbox-test", false},
		{"writes /usr", "echo x > /usr/arbiter-sandbox-test", false},
		{"reads a key", "cat ~/.ssh/id_rsa", false},
		{"sees keys", "test -n \"$(ls -A ~/.ssh)\"", false},
		{"reads a password", "cat ~/.netrc", false},
		{"writes where keys were", "echo x > ~/.ssh/config", false},
		{"reads the state", "cat " + w.state + "/journal", false},
		{"writes the state", "echo x > " + w.state + "/journal", false},
		{"makes the state anew", "mkdir -p " + w.state + "/runs", false},
		{"moves the state away", "mv " + w.state + " " + w.state + ".old", false},
		{"reads what is hidden in the workspace", "cat private/key", false},
		{"removes what hides", "rm -r private", false},
		{"plants a hook of git's", "echo x > .git/hooks/pre-commit", false},
		{"points git elsewhere", "git config core.hooksPath x", false},
		{"makes the repository anew", "mv .git .old && git init -q .", false},
		{"changes the CLI's settings", "echo x > ~/.claude/settings.json", false},
		{"makes settings", "echo x > ~/.claude/settings.local.json", false},
		{"plants an agent", "mkdir -p ~/.claude/agents", false},
		{"unmounts", "umount " + w.state, false},
		{"mounts", "mount -t tmpfs x /usr || mount -o remount,rw /", false},
		{"has capabilities over what it came with, in a user namespace of its own", "unshare --user --map-current-user " +
			"--mount sh -c 'umount " + w.state + "; mount -o remount,rw /; cat " + w.state + "/journal; echo x > ~/x'", false},
		{"sets the kernel", "echo $(cat /proc/sys/kernel/core_pattern) > /proc/sys/kernel/core_pattern", false},
		{"commands the kernel", ": >> /proc/sysrq-trigger", false},
		{"sees the other temporary files", "ls -d /tmp/* 2>/dev/null | grep -v " + strings.Split(w.home, "/")[2],
			false},
		{"goes round through another's root", "cat /proc/$PPID/root" + w.state + "/journal", false},
		{"has the key agent", `test -n "$SSH_AUTH_SOCK"`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := w.sh(t, c.script)
			testkit.Check(t, (err == nil) == c.may, "%s: error %v, want may=%v: %s", c.script, err, c.may, out)
			testkit.Excludes(t, fmt.Sprintf("%s: told", c.script), out, "PRIVATE")
		})
	}
	got, err := os.ReadFile(filepath.Join(w.state, "journal"))
	testkit.Check(t, err == nil && string(got) == "PRIVATE", "the state is %q, %v", got, err)
	for _, path := range []string{"/var/tmp/arbiter-sandbox-test", "/etc/arbiter-sandbox-test",
		"/usr/arbiter-sandbox-test"} {
		testkit.Fails(t, fmt.Sprintf("%s came out", path), testkit.Err(os.Lstat(path)))
	}
	got, err = os.ReadFile(filepath.Join(w.home, ".claude", "projects", "p", "s.jsonl"))
	testkit.Check(t, err == nil && string(got) == "x\n", "the transcript outside is %q, %v", got, err)
}

// TestSockets: sockets in a hidden directory or in the home directory are not there, and those that must be reachable
// are, as are those of the workspace.
func TestSockets(t *testing.T) {
	w := newWorld(t)
	dir := testkit.ShortDir(t)
	w.cfg.Hide = append(w.cfg.Hide, dir)
	w.cfg.Reach = []string{filepath.Join(dir, "open")}
	reached := map[string]bool{filepath.Join(dir, "closed"): false, filepath.Join(dir, "open"): true,
		filepath.Join(w.home, "daemon"): false, filepath.Join(w.work, "service"): true}
	for path := range reached {
		l := testkit.Must(net.Listen("unix", path))(t)
		defer l.Close()
	}
	self, _ := os.Executable()
	for path, may := range reached {
		out, err := w.run(t, self, "connect", path)
		testkit.Check(t, (err == nil) == may, "%s: %v, %s", path, err, out)
	}
}

// TestLogin: the configuration directory with a login accepts a new token, by renaming; files in it that
// contain commands cannot be changed.
func TestLogin(t *testing.T) {
	w := newWorld(t)
	put(t, filepath.Join(w.home, ".claude", login), "OLD")
	out, err := w.sh(t, "cd ~/.claude && echo NEW > tmp && mv tmp "+login)
	testkit.Need(t, err == nil, "%v: %s", err, out)
	got, _ := os.ReadFile(filepath.Join(w.home, ".claude", login))
	testkit.Check(t, string(got) == "NEW\n", "the token is %q", got)
	for _, name := range commanding {
		script := "cd ~/.claude && (echo x > " + name + " || echo x > " + name + "/x || mv " + name + " moved)"
		out, err := w.sh(t, script)
		testkit.Check(t, err != nil, "%s could be changed: %s", name, out)
	}
}

// TestWorktree: the repository of a worktree is writable if each names the other; a file that an agent
// could have written gives no access.
func TestWorktree(t *testing.T) {
	w := newWorld(t)
	base := filepath.Dir(w.home)
	repo, tree := filepath.Join(base, "repo"), filepath.Join(base, "tree")
	w.git(t, "init", "-q", repo)
	w.git(t, "-C", repo, "commit", "-q", "--allow-empty", "-m", "x")
	w.git(t, "-C", repo, "worktree", "add", "-q", tree)
	w.work = tree
	out, err := w.sh(t, "git -c user.name=a -c user.email=a@b commit --allow-empty -qm y")
	testkit.Check(t, err == nil, "%v: %s", err, out)
	out, err = w.sh(t, "echo x > "+repo+"/.git/hooks/post-commit")
	testkit.Check(t, err != nil, "planted: %s", out)
	out, err = w.sh(t, "echo x > .git")
	testkit.Check(t, err != nil, "the worktree's file was changed: %s", out)
	forged := filepath.Join(base, "forged")
	put(t, filepath.Join(forged, ".git"), "gitdir: "+filepath.Join(repo, ".git", "worktrees", "tree"))
	w.work = forged
	out, err = w.sh(t, "echo x > "+repo+"/.git/x")
	testkit.Check(t, err != nil, "a forged worktree opened the repository: %s", out)
}

// TestRefusals: if something cannot be confined, that is an error.
func TestRefusals(t *testing.T) {
	w := newWorld(t)
	loop := filepath.Join(w.home, "link")
	testkit.OK(t, os.Symlink(w.work, loop))
	inside := filepath.Join(w.work, "bwrap")
	put(t, inside, "#!/bin/sh\n")
	for name, change := range map[string]func(*bridge.SandboxConfig, *exec.Cmd){
		"the workspace is hidden":           func(c *bridge.SandboxConfig, _ *exec.Cmd) { c.Hide = []string{w.work} },
		"the workspace is hidden by a link": func(c *bridge.SandboxConfig, _ *exec.Cmd) { c.Hide = []string{loop} },
		"a relative path":                   func(c *bridge.SandboxConfig, _ *exec.Cmd) { c.Hide = []string{"x"} },
		"writes what is not there": func(c *bridge.SandboxConfig, _ *exec.Cmd) {
			c.Write = []string{w.work + "/nope"}
		},
		"writes everywhere":                func(c *bridge.SandboxConfig, _ *exec.Cmd) { c.Write = []string{"/"} },
		"bubblewrap lies in the workspace": func(c *bridge.SandboxConfig, _ *exec.Cmd) { c.Program = inside },
		"no home": func(_ *bridge.SandboxConfig, cmd *exec.Cmd) {
			cmd.Env = []string{"PATH=/bin"}
		},
		"the workspace is the root directory": func(_ *bridge.SandboxConfig, cmd *exec.Cmd) { cmd.Dir = "/" },
	} {
		cmd := exec.Command("/bin/true")
		cmd.Dir, cmd.Env = w.work, slices.Clone(w.env)
		cfg := w.cfg
		change(&cfg, cmd)
		testkit.Check(t, Wrap(cmd, &cfg) != nil, "%s: no error", name)
	}
}

// TestShellPrefix: the program that starts tools, and hooks of sessions outside, too, cannot be changed, also where the
// user lets agents write.
func TestShellPrefix(t *testing.T) {
	w := newWorld(t)
	cache := filepath.Join(w.home, ".cache")
	shell := filepath.Join(cache, "arbiter", "tool-shell")
	put(t, shell, "mine")
	w.cfg.Write = []string{cache}
	w.env = append(w.env, "CLAUDE_CODE_SHELL_PREFIX="+shell)
	out, _ := w.sh(t, "echo x > ~/.cache/here; cat "+shell+"; echo theirs > "+shell+"; rm "+shell+
		"; mv ~/.cache/arbiter a; mv ~/.cache/arbiter ~/.cache/b; cat "+shell)
	if text := testkit.Must(os.ReadFile(shell))(t); string(text) != "mine" || strings.Count(out, "mine") != 2 {
		t.Errorf("the file has %q, and inside: %s", text, out)
	}
	testkit.Must(os.Stat(filepath.Join(cache, "here")))(t)
}

// TestReadOnlyWorkspace: an agent that changes nothing sees its directory, and what others may write, as they are.
func TestReadOnlyWorkspace(t *testing.T) {
	w := newWorld(t)
	extra := filepath.Join(filepath.Dir(w.home), "extra")
	put(t, filepath.Join(extra, "x"), "")
	w.cfg.ReadOnly, w.cfg.Read = true, []string{extra}
	w.git(t, "init", "-q", w.work)
	for script, may := range map[string]bool{
		"cat README && cat " + extra + "/x":  true,
		`f=$(mktemp) && echo x > "$f"`:       true,
		"echo x > new":                       false,
		"echo x > README":                    false,
		"echo x > .git/description":          false,
		"echo x > " + extra + "/new":         false,
		"mv ../work ../old && mkdir ../work": false,
	} {
		out, err := w.sh(t, script)
		testkit.Check(t, (err == nil) == may, "%s: error %v, want may=%t: %s", script, err, may, out)
	}
}
