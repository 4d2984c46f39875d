package proctree

import (
	"encoding/binary"
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
		{[]string{"HOME=/h", "CLAUDE_CONFIG_DIR="}, "/h/.claude"},
	} {
		testkit.Same(t, c.env, c.want, ConfigDir(c.env, "/w"))
	}
}

func TestEnvironOf(t *testing.T) {
	args := func(argc uint32, rest string) []byte {
		return append(binary.NativeEndian.AppendUint32(nil, argc), rest...)
	}
	for _, tt := range []struct {
		name string
		args []byte
		want string
	}{
		{"usual", args(2, "/bin/sleep\x00\x00\x00\x00sleep\x001000\x00A=1\x00ARBITER_RUN=r\x00\x00ptr_munge=\x00"),
			"A=1\x00ARBITER_RUN=r\x00"},
		{"an empty argument", args(2, "/bin/x\x00\x00x\x00\x00A=1\x00\x00"), "A=1\x00"},
		{"environment hidden", args(1, "/bin/x\x00x\x00"), ""},
		{"cut off in the arguments", args(3, "/bin/x\x00x\x00y"), ""},
		{"no path", args(1, "nothing"), ""},
		{"negative", args(0xffffffff, "/bin/x\x00x\x00A=1\x00"), ""},
		{"short", []byte{1, 0}, ""},
	} {
		testkit.Same(t, tt.name, tt.want, string(environOf(tt.args)))
	}
}
