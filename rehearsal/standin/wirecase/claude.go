package wirecase

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// Claude finds the real CLI: $ARBITER_CLAUDE, `claude` on PATH, else the one that
// the project's scripts install. Without any the test is skipped, unless
// $ARBITER_REQUIRE_CLAUDE says that there must be one. root is the way from the
// test's directory to the repository's.
func Claude(t *testing.T, root string) Program {
	t.Helper()
	if p := os.Getenv("ARBITER_CLAUDE"); p != "" {
		return Program{Path: p}
	}
	if p, err := exec.LookPath("claude"); err == nil {
		return Program{Path: p}
	}
	if v, err := os.ReadFile(filepath.Join(root, "scripts", "claude.version")); err == nil {
		p := filepath.Join(os.Getenv("HOME"), ".cache", "arbiter", "claude", strings.TrimSpace(string(v)), "node_modules", ".bin", "claude")
		if _, err := os.Stat(p); err == nil {
			return Program{Path: p}
		}
	}
	if os.Getenv("ARBITER_REQUIRE_CLAUDE") != "" {
		t.Fatal("no Claude Code CLI found, and ARBITER_REQUIRE_CLAUDE is set")
	}
	t.Skip("no Claude Code CLI found")
	return Program{}
}
