package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
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

// TestVersions: which CLIs the driver accepts, and what it reports about the others.
func TestVersions(t *testing.T) {
	for output, want := range map[string]struct {
		version string // "": it is refused
		words   []string
	}{
		oldest + " (Claude Code)":                       {oldest, nil},
		newest + " (Claude Code)":                       {newest, nil},
		"warning: a hint\n" + newest + " (Claude Code)": {newest, nil},
		"2.1.316 (Claude Code)": {"",
			[]string{"2.1.316", "too old", "needs " + oldest + " or later", "claude update"}},
		"1.0.2 (Claude Code)": {"", []string{"1.0.2", "too old"}},
		"2.1.99999 (Claude Code)": {"2.1.99999",
			[]string{"newer than any", oldest + " to " + newest, "--claude PATH"}},
		"3.0.0-beta.1 (Claude Code)":             {"3.0.0", []string{"3.0.0 is newer than any"}},
		"GNU bash, version 5.2.15(1)-release":    {"", []string{"is not the Claude CLI", "GNU bash", "--claude PATH"}},
		"5.2.15":                                 {"", []string{"is not the Claude CLI", "5.2.15"}},
		"":                                       {"", []string{"is not the Claude CLI"}},
		"99999999999999999999.1.1 (Claude Code)": {"", []string{"is not the Claude CLI"}},
	} {
		t.Run(output, func(t *testing.T) {
			t.Parallel()
			path, _ := countedCLI(t, output)
			info, err := NewLauncher(t.TempDir()).Detect(context.Background(), bridge.ClaudeSpec{Path: path})
			if info.Version != want.version || (err == nil) != (want.version != "") {
				t.Fatalf("got %+v, %v", info, err)
			}
			warning := Untested(info.Version)
			if err != nil {
				warning = err.Error()
				if rpc, ok := errors.AsType[*bridge.RPCError](err); !ok || rpc.Category != bridge.CatUnsupported {
					t.Errorf("got %+v", err)
				}
			}
			for _, word := range want.words {
				if !strings.Contains(warning, word) {
					t.Errorf("said %q, without %q", warning, word)
				}
			}
			if len(want.words) == 0 && warning != "" {
				t.Errorf("said %q", warning)
			}
		})
	}
}

// TestSupportedVersionsMatchTheTable: the measured versions are those of the table, and the bounds of the supported
// ones are the first and the last of them.
func TestSupportedVersionsMatchTheTable(t *testing.T) {
	var texts [2]string
	for i, name := range []string{"drift.md", "claude-versions"} {
		raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		texts[i] = string(raw)
	}
	_, line, _ := strings.Cut(texts[0], "\n| behaviour | ")
	line, _, _ = strings.Cut(line, " |\n")
	versions := strings.Fields(texts[1])
	if n := len(versions); n < 5 || versions[0] != oldest || versions[n-1] != newest ||
		line != strings.Join(versions, " | ") {
		t.Errorf("shown are %q, measured %q, driven %s to %s: run scripts/drift", line, versions, oldest, newest)
	}
}

// TestLogin: the driver believes the CLI's answer with any exit code; what the answer does not contain
// stays unknown.
func TestLogin(t *testing.T) {
	for name, tt := range map[string]struct {
		script string
		want   Login
	}{
		"in": {`echo '{"loggedIn":true,"authMethod":"claude.ai","email":"a@b.example"}'`,
			Login{true, true, "claude.ai", "a@b.example"}},
		"out":     {`echo '{"loggedIn":false,"authMethod":"none"}'; exit 1`, Login{Known: true, Method: "none"}},
		"silent":  {`exit 0`, Login{}},
		"unknown": {`echo "error: unknown command 'auth'" >&2; exit 1`, Login{}},
		"prose":   {`echo 'Logged in.'`, Login{}},
	} {
		path := filepath.Join(t.TempDir(), "claude")
		testkit.OK(t, os.WriteFile(path, []byte("#!/bin/sh\n[ \"$*\" = 'auth status --json' ] || exit 9\n"+tt.script+"\n"),
			0o700))
		if got := NewLauncher(t.TempDir()).Login(context.Background(), bridge.ClaudeSpec{Path: path}); got != tt.want {
			t.Errorf("%s: %+v, want %+v", name, got, tt.want)
		}
	}
	if got := NewLauncher(t.TempDir()).Login(context.Background(), bridge.ClaudeSpec{Path: "/no/claude"}); got.Known {
		t.Errorf("without a CLI: %+v", got)
	}
}

// TestLiveLogin: the real CLI reports that a private home is not logged in without a key, and is logged in
// with one.
func TestLiveLogin(t *testing.T) {
	spec := realSpec(t)
	if len(spec.Args) > 0 {
		t.Skip("the stand-in plays sessions, and has no logins")
	}
	for _, key := range []string{"", "sk-ant-rehearsal-0000"} {
		dir := t.TempDir()
		script := "#!/bin/sh\nexec env -i HOME=" + strconv.Quote(dir) + " PATH=\"$PATH\" ANTHROPIC_API_KEY=" +
			strconv.Quote(key) + " " + strconv.Quote(spec.Path) + ` "$@"` + "\n"
		path := filepath.Join(dir, "claude")
		testkit.OK(t, os.WriteFile(path, []byte(script), 0o700))
		got := NewLauncher(t.TempDir()).Login(context.Background(), bridge.ClaudeSpec{Path: path})
		if !got.Known || got.LoggedIn != (key != "") {
			t.Errorf("key %q: %+v", key, got)
		}
	}
}
