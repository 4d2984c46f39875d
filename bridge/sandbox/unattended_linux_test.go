package sandbox

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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
