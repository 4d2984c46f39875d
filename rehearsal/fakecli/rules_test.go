package fakecli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecide(t *testing.T) {
	s := &session{flags: flags{"--permission-prompt-tool": {"stdio"}}, mode: "default",
		allow: parseRules([]string{"Bash(go test *),Bash(make:*)", "mcp__lab", "Edit"}), deny: parseRules([]string{"Task WebFetch", "Bash(go test -run Bad*)"})}
	tests := []struct{ tool, input, want string }{
		{"Bash", `{"command":"go test ./..."}`, "allow"},
		{"Bash", `{"command":"go test"}`, "allow"},
		{"Bash", `{"command":"go test ./... && rm -rf x"}`, "ask"},
		{"Bash", `{"command":"go test -run Bad"}`, "deny"},
		{"Bash", `{"command":"make all"}`, "allow"},
		{"Bash", `{"command":"makefile"}`, "ask"},
		{"Bash", `{"command":"echo a; sleep 1 && ls | head"}`, "allow"},
		{"Bash", `{"command":"echo a > f"}`, "ask"},
		{"Bash", `{"command":"echo $(rm x)"}`, "ask"},
		{"Bash", `{"command":"ls; rm x"}`, "ask"},
		{"Bash", `{"command":""}`, "ask"},
		{"mcp__lab__spawn", `{}`, "allow"},
		{"mcp__laboratory__spawn", `{}`, "ask"},
		{"Edit", `{"file_path":"/etc/passwd"}`, "allow"},
		{"Write", `{"file_path":"x"}`, "ask"},
		{"Agent", `{}`, "deny"},
		{askUser, `{}`, "ask"},
	}
	for _, tt := range tests {
		if got := s.decide(tt.tool, []byte(tt.input)).behavior; got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.tool, tt.input, got, tt.want)
		}
	}
	if !removed(s.deny, "Agent") || removed(s.deny, "Bash") {
		t.Error("a rule about all of a tool takes it away, one about some of its uses does not")
	}
}

func TestParseFlags(t *testing.T) {
	f, err := parseFlags([]string{"-p", "--setting-sources", "", "--tools", "Bash", "Read", "--model=opus", "--allowedTools", "Bash(a, b) Edit",
		"--resume", "--verbose", "--system-prompt", "- be brief"})
	if err != nil {
		t.Fatal(err)
	}
	want := flags{"-p": nil, "--setting-sources": {""}, "--tools": {"Bash", "Read"}, "--model": {"opus"},
		"--allowedTools": {"Bash(a, b) Edit"}, "--resume": nil, "--verbose": nil, "--system-prompt": {"- be brief"}}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Bash(a, b)", "Edit"}, splitRules(f["--allowedTools"])); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	for _, bad := range [][]string{{"--nope"}, {"--model"}, {"--tools", "--verbose"}, {"--permission-mode", "sometimes"}} {
		if _, err := parseFlags(bad); err == nil {
			t.Errorf("parseFlags(%q) accepts it", bad)
		}
	}
}
