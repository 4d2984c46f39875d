package fakecli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVersion: it says that it is the CLI that everything is tested with, which it is held to.
func TestVersion(t *testing.T) {
	pinned, err := os.ReadFile(filepath.Join("..", "..", "scripts", "claude.version"))
	if err != nil {
		t.Fatal(err)
	}
	if want := strings.TrimSpace(string(pinned)); version != want {
		t.Errorf("it says %s, pinned is %s", version, want)
	}
}
