package command

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "task.md")
	if err := os.WriteFile(path, bytes.Repeat([]byte("A"), 3000), 0o600); err != nil {
		t.Fatal(err)
	}
	if raw, err := ReadFile(path, 3000); err != nil || len(raw) != 3000 {
		t.Errorf("%d bytes, %v", len(raw), err)
	}
	if _, err := ReadFile(path, 2999); err == nil ||
		!strings.Contains(err.Error(), "task.md has 3,000 bytes, at most 2,999 are read") {
		t.Error(err)
	}
	if _, err := ReadFile(path+"x", 1); !os.IsNotExist(err) {
		t.Error(err)
	}
}
