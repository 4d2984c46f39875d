package proctree

import (
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

func TestFrom(t *testing.T) {
	ours := []string{
		"HOME=/h", "PATH=/bin", "LC_ALL=C", "ANTHROPIC_API_KEY=k", "CLAUDE_CODE_USE_BEDROCK=1", "EMPTY", "EDITOR=vi",
		"CLAUDECODE=1", "CLAUDE_CODE_ENTRYPOINT=cli", "CLAUDE_CODE_SESSION_ID=s", "CLAUDE_CODE_MESSAGING_SOCKET=m",
		"CLAUDE_CODE_CHILD_SESSION=1", "OTEL_EXPORTER_OTLP_ENDPOINT=e", "TRACEPARENT=t", "TRACING=1",
	}
	got := EnvList(EnvFrom(ours, map[string]string{"HOME": "/other", "EDITOR": "ed"}))
	want := []string{"ANTHROPIC_API_KEY=k", "CLAUDE_CODE_USE_BEDROCK=1", "EDITOR=ed", "HOME=/other", "LC_ALL=C",
		"OTEL_EXPORTER_OTLP_ENDPOINT=e", "PATH=/bin", "TRACEPARENT=t"}
	testkit.Same(t, "", want, got)
}

func TestConfigDir(t *testing.T) {
	for _, c := range []struct {
		env  []string
		want string
	}{
		{[]string{"HOME=/h"}, "/h/.claude"},
		{[]string{"HOME=/h", "CLAUDE_CONFIG_DIR=/c"}, "/c"},
		{[]string{"CLAUDE_CONFIG_DIR=c"}, "/w/c"},
	} {
		if got := ConfigDir(c.env, "/w"); got != c.want {
			t.Errorf("%v: %s, want %s", c.env, got, c.want)
		}
	}
}
