package claude

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

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
