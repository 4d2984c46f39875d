package trust

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestLargeFileIsChanged: a file that is too large to be read cannot be replaced unnoticed by one of the same
// size and time.
func TestLargeFileIsChanged(t *testing.T) {
	w := newWorkspace(t)
	const name = ".claude/skills/s/run"
	w.write(name, strings.Repeat("x", MaxFile+1))
	path := filepath.Join(w.look("").CWD, name)
	info := testkit.Must(os.Stat(path))(t)
	before := w.look("")
	f := testkit.Must(os.OpenFile(path, os.O_WRONLY, 0))(t)
	testkit.Must(f.WriteString("rm -r ~"))(t)
	testkit.OK(t, f.Close())
	testkit.OK(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	if now, err := os.Stat(path); err != nil || now.Size() != info.Size() || !now.ModTime().Equal(info.ModTime()) {
		t.Fatalf("it is to look the same: %v, %v", now, err)
	}
	testkit.Check(t, w.look("").Hash != before.Hash, "the hash is the same")
}
