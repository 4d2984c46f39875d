package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"testing"
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
	appeared := Watch(&w.cfg, w.work)
	scripts := map[string]string{
		".envrc":                "echo new > .envrc",
		".vscode/tasks.json":    "echo new > .vscode/tasks.json",
		".claude/settings.json": "mv .claude old && mkdir .claude && echo new > .claude/settings.json",
		".git/hooks/pre-commit": "echo new > .git/hooks/pre-commit",
	}
	for name, script := range scripts {
		if out, err := w.sh(t, script); err == nil {
			t.Errorf("%s: could be changed: %s", name, out)
		}
	}
	if got := appeared(); len(got) > 0 {
		t.Errorf("nothing is new, and %q were reported", got)
	}
	if out, err := w.sh(t, "mkdir .idea && echo new > .idea/workspace.xml"); err != nil {
		t.Errorf("%v: %s", err, out)
	}
	if got := appeared(); !slices.Equal(got, []string{at(".idea")}) {
		t.Errorf("%q were reported", got)
	}
	w.cfg.Write = []string{at(".envrc"), at(".vscode"), at(".git", "hooks")}
	for _, name := range []string{".envrc", ".vscode/tasks.json", ".git/hooks/pre-commit"} {
		if out, err := w.sh(t, scripts[name]); err != nil {
			t.Errorf("%s is named, and could not be changed: %v: %s", name, err, out)
		}
		if text, err := os.ReadFile(at(name)); err != nil || string(text) != "new\n" {
			t.Errorf("%s has %q, %v", name, text, err)
		}
	}
}
