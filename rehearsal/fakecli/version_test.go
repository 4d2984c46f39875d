package fakecli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVersion: the stand-in reports the version of the CLI that all tests use, which is pinned.
func TestVersion(t *testing.T) {
	pinned, err := os.ReadFile(filepath.Join("..", "..", "scripts", "claude.version"))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSpace(string(pinned)); version != want {
		t.Errorf("it says %s, pinned is %s", version, want)
	}
}
