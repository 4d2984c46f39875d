package command

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestReadFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "task.md")
	testkit.OK(t, os.WriteFile(path, bytes.Repeat([]byte("A"), 3000), 0o600))
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

// TestCheckDir: a workspace must be a readable directory; the error does not repeat its path.
func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	file, locked := filepath.Join(dir, "file"), filepath.Join(dir, "locked")
	testkit.OK(t, os.WriteFile(file, nil, 0o600))
	testkit.OK(t, os.Mkdir(locked, 0o000))
	foreign, link := filepath.Join(dir, "caf\xe9"), filepath.Join(dir, "link")
	if err := os.Mkdir(foreign, 0o700); err != nil {
		t.Skip(err) // the file system refuses such names
	}
	testkit.OK(t, os.Symlink(foreign, link))
	const notUTF8 = "its path is not UTF-8, in which a run is recorded: rename the directory"
	want := map[string]string{dir: "", file: "not a directory", dir + "/nowhere": "no such file or directory",
		foreign: notUTF8, link: notUTF8}
	if os.Geteuid() != 0 { // root reads every directory
		want[locked] = "permission denied"
	}
	for path, reason := range want {
		said := ""
		if _, err := CheckDir(path); err != nil {
			said = err.Error()
		}
		testkit.Same(t, fmt.Sprintf("%s: got", path), reason, said)
	}
}
