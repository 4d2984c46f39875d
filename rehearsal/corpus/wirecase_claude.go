package corpus

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// FindCLI returns the path of the real CLI: $ARBITER_CLAUDE, `claude` on PATH, or the one that the project's
// scripts install; "" if there is none. root is the path from the test's directory to the repository's.
func FindCLI(root string) string {
	if p := os.Getenv("ARBITER_CLAUDE"); p != "" {
		return p
	}
	if p, err := exec.LookPath("claude"); err == nil {
		return p
	}
	if v, err := os.ReadFile(filepath.Join(root, "scripts", "claude.version")); err == nil {
		p := filepath.Join(os.Getenv("HOME"), ".cache", "arbiter", "claude", strings.TrimSpace(string(v)),
			"node_modules", ".bin", "claude")
		if _, err := os.Stat(p); err == nil {
			return p
		}
	}
	return ""
}

// Claude returns the real CLI. If there is none the test is skipped; with $ARBITER_REQUIRE_CLAUDE it fails.
func Claude(t *testing.T, root string) WireProgram {
	t.Helper()
	return WireProgram{Path: Required(t, FindCLI(root))}
}

// Required returns the path from Find. If it is empty, it skips or fails the test, like [Claude].
func Required(t testing.TB, path string) string {
	t.Helper()
	switch {
	case path != "":
	case os.Getenv("ARBITER_REQUIRE_CLAUDE") != "":
		t.Fatal("no Claude CLI found, and ARBITER_REQUIRE_CLAUDE is set")
	default:
		t.Skip("no Claude CLI found")
	}
	return path
}
