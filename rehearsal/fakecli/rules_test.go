package fakecli

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestDecide(t *testing.T) {
	s := &session{mode: "default", allow: parseRules([]string{"Bash(go test *),Edit", "mcp__lab"}),
		deny: parseRules([]string{"Task WebFetch", "Bash(rm *)"})}
	for tool, want := range map[string]string{
		"Bash": "ask", "mcp__lab__spawn": "allow", "mcp__laboratory__spawn": "ask", "Edit": "allow", "Write": "ask",
		"Read": "allow", "Grep": "allow", askUser: "ask",
	} {
		if got := s.decide(tool, []byte(`{"command":"ls; rm x"}`)).behavior; got != want {
			t.Errorf("%s: %s, want %s", tool, got, want)
		}
	}
	if got := s.decide("Bash", []byte(`{"command":"ls -l x"}`)).behavior; got != "allow" {
		t.Errorf("a command that looks: %s", got)
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
	if diff := cmp.Diff([]string{"Bash(a, b)", "Edit"}, splitRules(f["--allowedTools"])); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
}
