package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestLargeFileIsChanged: a file that is too large to be read cannot be replaced unnoticed by one of the same
// size and time.
func TestLargeFileIsChanged(t *testing.T) {
	w := newWorkspace(t)
	const name = ".claude/skills/s/run"
	w.write(name, strings.Repeat("x", MaxFile+1))
	path := filepath.Join(w.look("").CWD, name)
	info, err := os.Stat(path)
	if err != nil {
		t.Fatal(err)
	}
	before := w.look("")
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := f.WriteString("rm -r ~"); err != nil {
		t.Fatal(err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, info.ModTime(), info.ModTime()); err != nil {
		t.Fatal(err)
	}
	if now, err := os.Stat(path); err != nil || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		t.Fatalf("it is to look the same: %v, %v", now, err)
	}
	if w.look("").Hash == before.Hash {
		t.Error("the hash is the same")
	}
}
