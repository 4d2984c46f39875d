package corpus

import (
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestNestedLine: the lines are valid for bash, and most of them run what is in them.
func TestNestedLine(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("no bash on PATH")
	}
	random, dir := rand.New(rand.NewPCG(7, 11)), t.TempDir()
	made, all := 0, 200
	for range all {
		line := NestedLine(random, "touch p")
		cmd := exec.Command(bash, "-c", line)
		cmd.Dir, cmd.Env = dir, []string{"PATH=" + os.Getenv("PATH")}
		if out, err := cmd.CombinedOutput(); err != nil {
			if out, err := exec.Command(bash, "-n", "-c", line).CombinedOutput(); err != nil {
				t.Errorf("%q is not valid: %s", line, out)
			}
			t.Logf("%q: %s", line, out)
		}
		if os.Remove(filepath.Join(dir, "p")) == nil {
			made++
		}
	}
	if made < all*6/10 {
		t.Errorf("%d of %d lines had the effect", made, all)
	}
	t.Logf("%d of %d lines had the effect", made, all)
}
