package claude

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// countedCLI is a script that answers --version and counts its calls.
func countedCLI(t *testing.T, answer string) (path string, asked func() int) {
	t.Helper()
	dir := t.TempDir()
	path = filepath.Join(dir, "claude")
	script := "#!/bin/sh\necho x >> " + strconv.Quote(filepath.Join(dir, "count")) + "\necho '" + answer + "'\n"
	testkit.OK(t, os.WriteFile(path, []byte(script), 0o700))
	return path, func() int {
		data, _ := os.ReadFile(filepath.Join(dir, "count"))
		return len(data) / 2
	}
}

func TestDetectRemembers(t *testing.T) {
	path, asked := countedCLI(t, "2.1.329 (Claude Code)")
	link := filepath.Join(t.TempDir(), "claude")
	testkit.OK(t, os.Symlink(path, link))
	cache := filepath.Join(t.TempDir(), "cache")
	detect := func(l *Launcher, wantAsked int) {
		t.Helper()
		info, err := l.Detect(context.Background(), bridge.ClaudeSpec{Path: link})
		if err != nil || info.Version != "2.1.329" || filepath.Base(info.Path) != "claude" || info.Path == link ||
			info.StandIn {
			t.Errorf("got %+v, %v", info, err)
		}
		if n := asked(); n != wantAsked {
			t.Errorf("asked %d times, want %d", n, wantAsked)
		}
	}
	l := NewLauncher(cache)
	detect(l, 1)
	detect(l, 1)                  // in the process
	detect(NewLauncher(cache), 1) // from the file
	file := filepath.Join(cache, "claude-versions.json")
	if info, err := os.Stat(file); err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("cache file: %v, %v", info, err)
	}
	testkit.OK(t, os.WriteFile(file, []byte(`[{"path":`), 0o600))
	detect(NewLauncher(cache), 2) // a corrupt file is a miss, and is repaired
	detect(NewLauncher(cache), 2)
	testkit.OK(t, os.Chtimes(path, time.Now(), time.Now().Add(time.Hour)))
	detect(l, 3) // another build
}

func TestDetectStandInAndStuck(t *testing.T) {
	path, _ := countedCLI(t, "2.1.329 (Claude Code stand-in)")
	if info, err := NewLauncher(t.TempDir()).Detect(context.Background(), bridge.ClaudeSpec{Path: path}); err != nil ||
		!info.StandIn {
		t.Errorf("got %+v, %v", info, err)
	}
	stuck := filepath.Join(t.TempDir(), "claude")
	testkit.OK(t, os.WriteFile(stuck, []byte("#!/bin/sh\nsleep 1000\n"), 0o700))
	ctx, cancel := context.WithTimeout(context.Background(), 100*time.Millisecond)
	defer cancel()
	if _, err := NewLauncher(t.TempDir()).Detect(ctx,
		bridge.ClaudeSpec{Path: stuck}); errCode(err) != bridge.CodeClaude {
		t.Errorf("got %v", err)
	}
}
