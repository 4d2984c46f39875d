package command

import (
	"os"
	"path/filepath"
	"testing"
)

// TestCheckDir: a workspace must be a readable directory; the error does not repeat its path.
func TestCheckDir(t *testing.T) {
	dir := t.TempDir()
	file, locked := filepath.Join(dir, "file"), filepath.Join(dir, "locked")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(locked, 0o000); err != nil {
		t.Fatal(err)
	}
	want := map[string]string{dir: "", file: "not a directory", dir + "/nowhere": "no such file or directory"}
	if os.Geteuid() != 0 { // root reads every directory
		want[locked] = "permission denied"
	}
	for path, reason := range want {
		said := ""
		if _, err := CheckDir(path); err != nil {
			said = err.Error()
		}
		if said != reason {
			t.Errorf("%s: got %q, want %q", path, said, reason)
		}
	}
}
