package claude

import (
	"context"
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

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
