package fakecli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestAllows(t *testing.T) {
	s := &session{allow: parseRules([]string{"Bash(go test *),Edit", "mcp__lab"}),
		deny: parseRules([]string{"Agent WebFetch", "Bash(rm *)"})}
	for tool, want := range map[string]bool{
		"Bash": false, "mcp__lab__spawn": true, "mcp__laboratory__spawn": false, "Edit": true, "Write": false,
		"Read": true, "Grep": true, askUser: false,
	} {
		if got := s.allows(tool, []byte(`{"command":"ls; rm x"}`)); got != want {
			t.Errorf("%s: %v, want %v", tool, got, want)
		}
	}
	if !s.allows("Bash", []byte(`{"command":"ls -l x"}`)) {
		t.Error("a command that only looks needs permission")
	}
	if !covers(s.deny, "Agent") || covers(s.deny, "Bash") {
		t.Error("a rule about all of a tool takes it away, one about some of its uses does not")
	}
}

func TestParseFlags(t *testing.T) {
	f := parseFlags([]string{"-p", "--setting-sources", "", "--tools", "Bash", "Read", "--model=opus", "--allowedTools",
		"Bash(a, b) Edit",
		"--resume", "an-id", "--verbose", "--system-prompt", "- be brief"})
	want := flags{"-p": nil, "--setting-sources": {""}, "--tools": {"Bash", "Read"}, "--model": {"opus"},
		"--allowedTools": {"Bash(a, b) Edit"}, "--resume": {"an-id"}, "--verbose": nil, "--system-prompt": {"- be brief"}}
	if diff := cmp.Diff(want, f); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"Edit"}, parseRules(f["--allowedTools"])); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
