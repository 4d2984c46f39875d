package toolshell

import (
	"path/filepath"
	"slices"
	"testing"
)

// TestKeys are the variables that tools do not get.
func TestKeys(t *testing.T) {
	env := []string{
		"PATH=/bin", "ANTHROPIC_API_KEY=a", "ANTHROPIC_AUTH_TOKEN=b", "CLAUDE_CODE_OAUTH_TOKEN=c",
		"ANTHROPIC_BASE_URL=http://x", "ANTHROPIC_CUSTOM_HEADERS=d", "INPUT_ANTHROPIC_API_KEY=e",
		"AWS_SECRET_ACCESS_KEY=theirs", Env + "=1", "CLAUDE_CODE_MESSAGING_TOKEN=m",
	}
	want := []string{"PATH=/bin", "ANTHROPIC_BASE_URL=http://x", "AWS_SECRET_ACCESS_KEY=theirs",
		"CLAUDE_CODE_MESSAGING_TOKEN=m"}
	if got := withoutKeys(env); !slices.Equal(got, want) {
		t.Errorf("left %q, want %q", got, want)
	}
	path, args, _ := shell("echo 1", env, "/bin/zsh")
	if path != "/bin/zsh" || !slices.Equal(args, []string{"zsh", "-c", "echo 1"}) {
		t.Errorf("%s %q", path, args)
	}
	if path, _, _ := shell("echo 1", env, "/opt/claude"); filepath.Base(path) != "bash" && path != "/bin/sh" {
		t.Errorf("the CLI itself asked: %s", path)
	}
}
