package sandbox

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestPlanting: files that others run later, outside of the sandbox, cannot be changed, and their
// directories cannot be moved away and replaced. Each script works without the sandbox, as the last case
// shows.
func TestPlanting(t *testing.T) {
	w := newWorld(t)
	base := filepath.Dir(w.home)
	extra := filepath.Join(base, "extra")
	testkit.OK(t, os.Mkdir(extra, 0o755))
	w.cfg.Write = []string{extra}
	for _, dir := range []string{w.work, extra} {
		w.git(t, "init", "-q", dir)
	}
	w.git(t, "commit", "-q", "--allow-empty", "-m", "x")
	w.git(t, "worktree", "add", "-q", filepath.Join(base, "tree"))
	module := filepath.Join(w.work, ".git", "modules", "libs", "deep", "one") // a submodule's name is its path
	ofTree := filepath.Join(w.work, ".git", "worktrees", "tree", "modules", "one")
	for _, dir := range []string{module, ofTree} {
		w.git(t, "init", "-q", "--bare", dir)
	}
	put(t, filepath.Join(w.work, ".git", "info", "attributes"), "")
	put(t, filepath.Join(w.work, "a", "b", "private"), "PRIVATE")
	w.cfg.Hide = append(w.cfg.Hide, filepath.Join(w.work, "a", "b", "private"))
	snapshot := filepath.Join(w.home, ".claude", "shell-snapshots", "snapshot-bash-1.sh")
	put(t, snapshot, "true")
	put(t, filepath.Join(w.home, ".claude", "session-env", "s", "hook-0.sh"), "true")

	scripts := map[string]string{
		"a submodule's configuration":           "echo x >> .git/modules/libs/deep/one/config",
		"a submodule's hook":                    "echo x > .git/modules/libs/deep/one/hooks/post-checkout",
		"a worktree's submodule":                "echo x >> .git/worktrees/tree/modules/one/config",
		"its hook":                              "echo x > .git/worktrees/tree/modules/one/hooks/post-checkout",
		"a submodule made anew":                 "mv .git/modules/libs/deep/one .git/old",
		"its parent made anew":                  "mv .git/modules/libs .git/old",
		"all of them made anew":                 "mv .git/modules .git/old",
		"attributes":                            "echo x > .git/info/attributes",
		"their directory":                       "mv .git/info .git/old",
		"another repository for a worktree":     "echo /x > .git/worktrees/tree/commondir",
		"the worktree's directory":              "mv .git/worktrees/tree .git/old",
		"all worktrees":                         "mv .git/worktrees .git/old",
		"a hook in what else may be written to": "echo x > " + extra + "/.git/hooks/pre-commit",
		"what is hidden, moved":                 "mv a c || mv a/b a/c",
		"another session's shell":               "echo x >> ~/.claude/shell-snapshots/snapshot-bash-1.sh",
		"another session's environment":         "echo x >> ~/.claude/session-env/s/hook-0.sh",
	}
	for name, script := range scripts {
		t.Run(name, func(t *testing.T) {
			_, _ = w.sh(t, script) // the result inside does not matter: the file may be a copy
			for path, want := range map[string]string{
				snapshot: "true", filepath.Join(w.home, ".claude", "session-env", "s", "hook-0.sh"): "true",
				filepath.Join(w.work, ".git", "info", "attributes"):             "",
				filepath.Join(w.work, "a", "b", "private"):                      "PRIVATE",
				filepath.Join(w.work, ".git", "worktrees", "tree", "commondir"): "../..\n",
			} {
				got, err := os.ReadFile(path)
				testkit.Check(t, err == nil && string(got) == want, "%s: %s is %q, %v", script, path, got, err)
			}
			for _, path := range []string{filepath.Join(module, "hooks", "post-checkout"),
				filepath.Join(ofTree, "hooks", "post-checkout"), filepath.Join(extra, ".git", "hooks", "pre-commit")} {
				testkit.Fails(t, fmt.Sprintf("%s: %s is there", script, path), testkit.Err(os.Lstat(path)))
			}
			for _, dir := range []string{module, ofTree} {
				config, err := os.ReadFile(filepath.Join(dir, "config"))
				testkit.Check(t, err == nil && !strings.HasSuffix(string(config), "x\n"),
					"%s: the configuration is %q, %v", script, config, err)
			}
		})
	}
	// A repository that takes its configuration from elsewhere cannot be prevented, because there is no
	// file to guard. It is detected before anything else is started there.
	out, err := w.sh(t, "echo /x > .git/commondir")
	testkit.Need(t, err == nil, "%v: %s", err, out)
	cmd := exec.Command("/bin/true")
	cmd.Dir, cmd.Env = w.work, w.env
	testkit.Fails(t, "with a commondir", Wrap(cmd, &w.cfg), "planted")
	for name, script := range scripts {
		cmd := exec.Command("/bin/sh", "-c", script)
		cmd.Dir, cmd.Env = w.work, w.env
		if strings.HasPrefix(script, "echo") {
			out, err := cmd.CombinedOutput()
			testkit.Check(t, err == nil, "%s does not work outside either: %v: %s", name, err, out)
		}
	}
}

// TestLinksOfAgents: an agent puts links to what is hidden in the places of what is guarded, or moves away a directory
// that the configuration names: the next agent sees no more than before.
func TestLinksOfAgents(t *testing.T) {
	w := newWorld(t)
	w.git(t, "init", "-q", w.work)
	named := filepath.Join(w.work, "a", "named")
	testkit.OK(t, os.MkdirAll(named, 0o755))
	w.cfg.Write = []string{named}
	socket := filepath.Join(w.home, ".ssh", "agent")
	put(t, socket, "PRIVATE")
	w.env = append(w.env, "SSH_AUTH_SOCK="+socket)
	out, err := w.sh(t, "ln -s ~/.ssh .idea; ln -s ~/.netrc .envrc; ln -s "+w.state+" .vscode; ln -s "+w.state+
		"/journal .git/config.worktree; mkdir -p .git/worktrees/x && ln -s ~/.ssh/id_rsa .git/worktrees/x/commondir; "+
		"ln -s /root/nothing .claude")
	testkit.Need(t, err == nil, "%v: %s", err, out)
	out, _ = w.sh(t, "cat .idea/* .envrc .vscode/* .git/config.worktree .git/worktrees/x/commondir ~/.ssh/* ~/.netrc "+
		w.state+"/*")
	testkit.Excludes(t, "told", out, "PRIVATE")
	out, err = w.sh(t, "mv a b")
	testkit.Check(t, err != nil, "moved what the configuration names: %s", out)
}

// TestReplacedMeanwhile: an agent at work puts a link in the place of a guarded directory while another's sandbox is
// made. That starts nothing, and nothing in a sandbox refers to a file outside.
func TestReplacedMeanwhile(t *testing.T) {
	w := newWorld(t)
	if !holds(w.cfg.Program) {
		t.Skip("this bubblewrap does not compare what it mounts")
	}
	guarded := filepath.Join(w.work, ".vscode")
	put(t, filepath.Join(guarded, "id_rsa"), "")
	out, err := w.sh(t, "ls -l /proc/[0-9]*/fd")
	testkit.Check(t, err == nil && !strings.Contains(out, w.work), "open inside: %v: %s", err, out)
	cmd := exec.Command("/bin/sh", "-c", "cat .vscode/id_rsa ~/.ssh/id_rsa")
	cmd.Dir, cmd.Env = w.work, w.env
	testkit.OK(t, Wrap(cmd, &w.cfg), os.Rename(guarded, guarded+".old"), os.Symlink("../home/.ssh", guarded))
	got, err := cmd.CombinedOutput()
	testkit.Check(t, err != nil && !strings.Contains(string(got), "PRIVATE"), "%v: %s", err, got)
}

// TestGoneMeanwhile: what goes away while a sandbox is made keeps nothing from starting, except what bubblewrap has to
// compare, and a hidden socket in a directory that is read-only. What it says then has the supervisor try again.
func TestGoneMeanwhile(t *testing.T) {
	w := newWorld(t)
	file, socket := filepath.Join(w.home, ".claude.json"), filepath.Join(w.home, "daemon")
	for _, gone := range []string{file, filepath.Join(w.work, ".envrc"), socket} {
		l := testkit.Must(net.Listen("unix", socket))(t)
		if gone != socket {
			put(t, gone, "{}")
		}
		cmd := exec.Command("/bin/true")
		cmd.Dir, cmd.Env = w.work, w.env
		testkit.OK(t, Wrap(cmd, &w.cfg), os.Remove(gone))
		got, err := cmd.CombinedOutput()
		testkit.Check(t, err == nil || gone != file && strings.HasPrefix(string(got), "bwrap: Can't "),
			"without %s: %v: %s", gone, err, got)
		testkit.Check(t, err != nil || gone != socket, "a socket that may be bound again is not hidden")
		l.Close()
	}
}

// TestClosedDirectories: an agent closes a directory of the user's, so that what is in it cannot be seen while the next
// sandbox is made: none is made, because that agent could open the directory again.
func TestClosedDirectories(t *testing.T) {
	if os.Getuid() == 0 {
		t.Skip("root sees into every directory")
	}
	for name, mode := range map[string]os.FileMode{"work/secrets": 0, "extra": 0, "extra/.git/info": 0,
		"extra/.git/worktrees": 0o111} {
		w := newWorld(t)
		base := filepath.Dir(w.work)
		extra, secrets := filepath.Join(base, "extra"), filepath.Join(w.work, "secrets")
		w.git(t, "init", "-q", extra)
		put(t, filepath.Join(extra, ".git", "worktrees", "x", "commondir"), "../..")
		put(t, filepath.Join(extra, ".git", "info", "attributes"), "")
		put(t, filepath.Join(secrets, "key"), "PRIVATE")
		w.cfg.Write, w.cfg.Hide = []string{extra}, append(w.cfg.Hide, filepath.Join(secrets, "key"))
		out, err := w.sh(t, fmt.Sprintf("chmod %o %s", mode, filepath.Join(base, name)))
		testkit.Check(t, err == nil, "%s: %v: %s", name, err, out)
		cmd := exec.Command("/bin/true")
		cmd.Dir, cmd.Env = w.work, w.env
		testkit.Fails(t, name, Wrap(cmd, &w.cfg), "permission denied")
		testkit.OK(t, os.Chmod(filepath.Join(base, name), 0o755), Wrap(cmd, &w.cfg))
	}
}

// TestPlaces: directories that cannot be a workspace for a sandbox, because files in them run on their own,
// or because they are inside a hidden directory.
func TestPlaces(t *testing.T) {
	w := newWorld(t)
	link := filepath.Join(t.TempDir(), "link")
	testkit.OK(t, os.Symlink(w.home, link))
	put(t, filepath.Join(w.home, ".ssh", "repo", "x"), "")
	put(t, filepath.Join(w.state, "repo", "x"), "")
	for dir, want := range map[string]string{
		w.home: "home directory", filepath.Dir(w.home): "home directory", link: "home directory",
		filepath.Join(w.home, ".ssh"): "hidden", filepath.Join(w.home, ".ssh", "repo"): "hidden",
		filepath.Join(w.state, "repo"): "hidden", filepath.Join(link, ".ssh", "repo"): "hidden",
	} {
		cmd := exec.Command("/bin/true")
		cmd.Dir, cmd.Env = dir, w.env
		testkit.Fails(t, dir, Wrap(cmd, &bridge.SandboxConfig{Program: w.cfg.Program, Hide: w.cfg.Hide}), want)
	}
}

// TestUnattended: what programs outside obey by themselves cannot be changed in the sandbox, unless the configuration
// names it; what is new is reported.
func TestUnattended(t *testing.T) {
	w := newWorld(t)
	at := func(name ...string) string { return filepath.Join(append([]string{w.work}, name...)...) }
	put(t, at(".envrc"), "old")
	put(t, at(".vscode", "tasks.json"), "old")
	put(t, at(".claude", "settings.json"), "old")
	put(t, at(".git", "hooks", "pre-commit"), "old")
	put(t, at(".git", "config"), "")
	appeared := Watch(&w.cfg, &exec.Cmd{Dir: w.work, Env: w.env})
	scripts := map[string]string{
		".envrc":                "echo new > .envrc",
		".vscode/tasks.json":    "echo new > .vscode/tasks.json",
		".claude/settings.json": "mv .claude old && mkdir .claude && echo new > .claude/settings.json",
		".git/hooks/pre-commit": "echo new > .git/hooks/pre-commit",
	}
	for name, script := range scripts {
		out, err := w.sh(t, script)
		testkit.Check(t, err != nil, "%s: could be changed: %s", name, out)
	}
	testkit.Empty(t, "nothing is new, and were reported", appeared())
	out, err := w.sh(t, "mkdir .idea && echo new > .idea/workspace.xml")
	testkit.Check(t, err == nil, "%v: %s", err, out)
	testkit.Same(t, "were reported", []string{at(".idea")}, appeared())
	w.cfg.Write = []string{at(".envrc"), at(".vscode"), at(".git", "hooks")}
	for _, name := range []string{".envrc", ".vscode/tasks.json", ".git/hooks/pre-commit"} {
		out, err := w.sh(t, scripts[name])
		testkit.Check(t, err == nil, "%s is named, and could not be changed: %v: %s", name, err, out)
		text, err := os.ReadFile(at(name))
		testkit.Check(t, err == nil && string(text) == "new\n", "%s has %q, %v", name, text, err)
	}
}

// TestReplacedLinks: a link among what other sessions obey cannot be guarded in a directory that the CLI must be able
// to write to; that it was replaced is reported.
func TestReplacedLinks(t *testing.T) {
	w := newWorld(t)
	settings, hooks := filepath.Join(w.home, ".claude", "settings.json"), filepath.Join(w.work, ".git", "hooks")
	put(t, filepath.Join(w.home, ".claude", login), "{}")
	put(t, filepath.Join(w.home, "dotfiles", "settings.json"), "{}")
	put(t, filepath.Join(w.work, "githooks", "pre-commit"), "old")
	put(t, filepath.Join(w.work, ".git", "config"), "")
	testkit.OK(t, os.Remove(settings), os.Symlink("../dotfiles/settings.json", settings),
		os.Symlink("../githooks", hooks))
	appeared := Watch(&w.cfg, &exec.Cmd{Dir: w.work, Env: w.env})
	out, err := w.sh(t, "echo new > "+settings+" || echo new > .git/hooks/pre-commit")
	testkit.Check(t, err != nil, "their targets could be changed: %s", out)
	testkit.Empty(t, "nothing is new, and were reported", appeared())
	out, err = w.sh(t, "rm "+settings+" .git/hooks && echo new > "+settings+" && mkdir .git/hooks")
	testkit.Check(t, err == nil, "%v: %s", err, out)
	testkit.Same(t, "were reported", []string{settings, hooks}, appeared())
}
