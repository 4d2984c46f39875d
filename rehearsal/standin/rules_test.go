package standin

import (
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// What default mode asks about was observed with CLI 2.1.329, command by command.
func TestDefaultModeAsksAboutCommands(t *testing.T) {
	p := &permissions{mode: "default", dirs: []string{"/w"}}
	tests := map[string][]string{
		"allow": {"ls", "cat x", "echo a", "pwd", "true", "sleep 1", "printf x", "cd .", "head x", "wc -l x", "grep a x", "find . -name x",
			"git status", "git log", "which ls", "date", "whoami", "uname -a", "echo a 2>&1", "ls | head", "ls && pwd", "test -f x", "sort x",
			"sleep 30; ls", "echo $HOME", "cat x > /dev/null", "tail -f x", "stat x", "sed -n 1p x", "seq 3", "false", "echo 'a > b; rm x'"},
		"ask": {"echo a > f", "ls; rm x", "env", "echo $(ls)", "ls -la /etc", "cat /etc/passwd", "mkdir d", "python3 -c 'print(1)'", "go test ./...",
			"touch f", "exit 3", "git push", "find . -delete", "sleep 1 &", "X=1 ls", "`ls`", "cat ../secret", "(ls)", ""},
	}
	for want, commands := range tests {
		for _, c := range commands {
			if got := p.decide("Bash", encode(obj{"command": c})).behavior; got != want {
				t.Errorf("%q: %s, want %s", c, got, want)
			}
		}
	}
}

func TestRules(t *testing.T) {
	p := &permissions{mode: "default", dirs: []string{"/w"},
		allow: parseRules([]string{"Bash(go test *),Bash(make:*)", "mcp__lab", "Edit"}), deny: parseRules([]string{"Task WebFetch", "Bash(go test -run Bad*)"})}
	tests := []struct {
		tool, input, want string
	}{
		{"Bash", `{"command":"go test ./..."}`, "allow"},
		{"Bash", `{"command":"go test"}`, "allow"},
		{"Bash", `{"command":"go test ./... && rm -rf x"}`, "ask"},
		{"Bash", `{"command":"go test -run Bad"}`, "deny"},
		{"Bash", `{"command":"make"}`, "allow"},
		{"Bash", `{"command":"make all"}`, "allow"},
		{"Bash", `{"command":"makefile"}`, "ask"},
		{"mcp__lab__spawn", `{}`, "allow"},
		{"mcp__laboratory__spawn", `{}`, "ask"},
		{"Edit", `{"file_path":"/etc/passwd"}`, "allow"},
		{"Write", `{"file_path":"x"}`, "ask"},
		{"Read", `{"file_path":"/w/a"}`, "allow"},
		{"Read", `{"file_path":"/w/../etc/passwd"}`, "ask"},
		{"Agent", `{}`, "deny"},
	}
	for _, tt := range tests {
		if got := p.decide(tt.tool, json.RawMessage(tt.input)).behavior; got != tt.want {
			t.Errorf("%s %s: %s, want %s", tt.tool, tt.input, got, tt.want)
		}
	}
	if !p.removed("Agent") || p.removed("Bash") {
		t.Error("a rule about all of a tool takes it away, one about some of its uses does not")
	}
	p.mode = "dontAsk"
	if got := p.decide("Write", json.RawMessage(`{"file_path":"x"}`)).behavior; got != "deny" {
		t.Errorf("dontAsk: %s, want deny", got)
	}
}

func TestParseFlags(t *testing.T) {
	f, err := parseFlags([]string{"-p", "--setting-sources", "", "--tools", "Bash", "Read", "--model=opus", "--allowedTools", "Bash(a, b) Edit",
		"--resume", "--verbose", "--system-prompt", "- be brief", "say", "it"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]string{"--print": nil, "--setting-sources": {""}, "--tools": {"Bash", "Read"}, "--model": {"opus"},
		"--allowedTools": {"Bash(a, b) Edit"}, "--resume": nil, "--verbose": nil, "--system-prompt": {"- be brief"}}
	if diff := cmp.Diff(want, f.values); diff != "" {
		t.Errorf("options (-want +got):\n%s", diff)
	}
	if f.prompt != "say it" {
		t.Errorf("prompt = %q", f.prompt)
	}
	if diff := cmp.Diff([]string{"Bash(a, b)", "Edit"}, splitRules(f.all("--allowedTools"))); diff != "" {
		t.Errorf("rules (-want +got):\n%s", diff)
	}
	for _, bad := range [][]string{{"--nope"}, {"--model"}, {"--tools", "--verbose"}, {"--session-id", "x", "--resume", "y"}} {
		if _, err := parseFlags(bad); err == nil {
			t.Errorf("parseFlags(%q) accepts it", bad)
		}
	}
}

func TestMunge(t *testing.T) {
	for dir, want := range map[string]string{"/a.b_c d": "-a-b-c-d", "/日本": "---", "/🙂x": "---x"} {
		if got := munge(dir); got != want {
			t.Errorf("munge(%q) = %q, want %q", dir, got, want)
		}
	}
}

func TestGlobPattern(t *testing.T) {
	tests := []struct {
		glob, path string
		want       bool
	}{
		{"*.go", "a.go", true}, {"*.go", "d/a.go", false}, {"**/*.go", "a.go", true}, {"**/*.go", "d/e/a.go", true},
		{"d/**", "d/e/a.go", true}, {"*.{go,md}", "a.md", true}, {"a?.go", "ab.go", true}, {"a.go", "axgo", false},
	}
	for _, tt := range tests {
		re, err := globPattern(tt.glob)
		if err != nil {
			t.Fatal(err)
		}
		if got := re.MatchString(tt.path); got != tt.want {
			t.Errorf("%s on %s: %v", tt.glob, tt.path, got)
		}
	}
}
