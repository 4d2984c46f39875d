package policy

import (
	"encoding/json"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// plain is a file system without links.
func plain(name string) (string, error) { return filepath.Clean(name), nil }

func input(pairs ...string) json.RawMessage {
	m := map[string]string{}
	for i := 0; i+1 < len(pairs); i += 2 {
		m[pairs[i]] = pairs[i+1]
	}
	raw, err := json.Marshal(m)
	if err != nil {
		panic(err)
	}
	return raw
}

func TestModes(t *testing.T) {
	tests := []struct {
		tool  string
		input json.RawMessage
		want  [4]string // ask, rules, accept-edits, allow-all
	}{
		{"Read", input("file_path", "/w/a"), [4]string{Allow, Allow, Allow, Allow}},
		{"Read", input("file_path", "a"), [4]string{Allow, Allow, Allow, Allow}},
		{"Read", input("file_path", "/etc/passwd"), [4]string{Ask, Deny, Ask, Allow}},
		{"Read", input("file_path", "../x"), [4]string{Ask, Deny, Ask, Allow}},
		{"Read", input("file_path", "/w/../x"), [4]string{Ask, Deny, Ask, Allow}},
		{"Read", input("file_path", "/w2/a"), [4]string{Ask, Deny, Ask, Allow}},
		{"Read", input("file_path", "~/x"), [4]string{Ask, Deny, Ask, Allow}},
		{"Read", input(), [4]string{Ask, Deny, Ask, Allow}},
		{"Grep", input("pattern", "x"), [4]string{Allow, Allow, Allow, Allow}},
		{"Grep", input("pattern", "x", "path", "/w"), [4]string{Allow, Allow, Allow, Allow}},
		{"Grep", input("pattern", "x", "path", "/"), [4]string{Ask, Deny, Ask, Allow}},
		{"Grep", json.RawMessage(`{"pattern":"x","path":7}`), [4]string{Ask, Deny, Ask, Allow}},
		{"Glob", input("pattern", "**/*.go"), [4]string{Allow, Allow, Allow, Allow}},
		{"Glob", input("pattern", "/etc/*"), [4]string{Ask, Deny, Ask, Allow}},
		{"Glob", input("pattern", "../*"), [4]string{Ask, Deny, Ask, Allow}},
		{"Glob", input("pattern", "{..,a}/*"), [4]string{Ask, Deny, Ask, Allow}},
		{"LS", input("path", "/w/src"), [4]string{Allow, Allow, Allow, Allow}},
		{"TodoWrite", input(), [4]string{Allow, Allow, Allow, Allow}},
		{"StructuredOutput", input(), [4]string{Allow, Allow, Allow, Allow}},
		{"Agent", input("subagent_type", "x"), [4]string{Allow, Allow, Allow, Allow}},
		{"Task", nil, [4]string{Allow, Allow, Allow, Allow}},
		{"Agent", json.RawMessage(`{"isolation":null}`), [4]string{Allow, Allow, Allow, Allow}},
		{"Agent", input("isolation", "worktree"), [4]string{Ask, Deny, Ask, Allow}}, // creates a branch and a directory
		{"Task", input("isolation", "remote"), [4]string{Ask, Deny, Ask, Allow}},
		{"Agent", json.RawMessage(`{"isolation":{}}`), [4]string{Ask, Deny, Ask, Allow}},
		{"EnterWorktree", input("name", "x"), [4]string{Ask, Deny, Ask, Allow}},
		{"mcp__arbiter__status", input(), [4]string{Allow, Allow, Allow, Allow}},
		{"mcp__arbiter2__status", input(), [4]string{Ask, Deny, Ask, Allow}},
		{"mcp__arbiter", input(), [4]string{Ask, Deny, Ask, Allow}},
		{"Edit", input("file_path", "/w/a"), [4]string{Ask, Deny, Allow, Allow}},
		{"Write", input("file_path", "src/new/a"), [4]string{Ask, Deny, Allow, Allow}},
		{"MultiEdit", input("file_path", "/w/a"), [4]string{Ask, Deny, Allow, Allow}},
		{"NotebookEdit", input("notebook_path", "/w/a.ipynb"), [4]string{Ask, Deny, Allow, Allow}},
		{"NotebookEdit", input("file_path", "/w/a.ipynb"), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("file_path", "/w"), [4]string{Ask, Deny, Allow, Allow}},
		{"Write", input("file_path", "/etc/passwd"), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("file_path", "/w/../etc"), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("file_path", "/w/a/../../etc"), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("file_path", " /w/a"), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("file_path", "/w/a\x00"), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("file_path", "~root/x"), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("file_path", ""), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("File_path", "/w/a"), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", json.RawMessage(`{`), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("file_path", "/w/.git/hooks/pre-commit"), [4]string{Ask, Deny, Ask, Allow}},
		{"Write", input("file_path", "/w/sub/.GIT/config"), [4]string{Ask, Deny, Ask, Allow}},
		{"Edit", input("file_path", ".claude/settings.json"), [4]string{Ask, Deny, Ask, Allow}},
		{"Edit", input("file_path", ".mcp.json"), [4]string{Ask, Deny, Ask, Allow}},
		{"Edit", input("file_path", ".gitignore"), [4]string{Ask, Deny, Allow, Allow}},
		{"Bash", bashInput("ls"), [4]string{Ask, Deny, Ask, Allow}},
		{"WebFetch", input("url", "https://example.com"), [4]string{Ask, Deny, Ask, Allow}},
		{"AskUserQuestion", input(), [4]string{Ask, Deny, Ask, Allow}},
		{"SomethingNew", input(), [4]string{Ask, Deny, Ask, Allow}},
		{"", nil, [4]string{Ask, Deny, Ask, Allow}},
	}
	for i, mode := range []Mode{ModeAsk, ModeRules, ModeAcceptEdits, ModeAllowAll} {
		p := Policy{Mode: mode, CWD: "/w", Home: "/home/u", Resolve: plain}
		for _, tt := range tests {
			if got := p.Decide(Request{Tool: tt.tool, Input: tt.input}); got.Behavior != tt.want[i] {
				t.Errorf("%s: %s %s is %s (%s), want %s", mode, tt.tool, tt.input, got.Behavior, got.Reason, tt.want[i])
			}
		}
	}
}

// TestUnknownModeAsks: an unknown mode must not allow anything.
func TestUnknownModeAsks(t *testing.T) {
	for _, mode := range []Mode{"", "bypass"} {
		if d := (Policy{Mode: mode, CWD: "/w"}).Decide(Request{Tool: "Bash",
			Input: bashInput("ls")}); d.Behavior != Ask {
			t.Errorf("mode %q: %s, want ask", mode, d.Behavior)
		}
	}
}

func TestOrder(t *testing.T) {
	p := Policy{Mode: ModeAsk, CWD: "/w", Resolve: plain,
		Deny: mustRules(t, "Bash(git push *)"), Ask: mustRules(t, "Bash(git *)", "Agent"),
		Allow: mustRules(t, "Bash(git log *)", "Bash(ls *)", "Bash(cat *)")}
	tests := []struct {
		request Request
		want    Decision
	}{
		{Request{Tool: "Bash", Input: bashInput("git push")},
			Decision{Deny, ByRule, "Bash(git push *)", "the rule Bash(git push *) denies it"}},
		{Request{Tool: "Bash", Input: bashInput("git log")},
			Decision{Ask, ByRule, "Bash(git *)", "the rule Bash(git *) asks about it"}},
		{Request{Tool: "Bash", Input: bashInput("ls | cat; ls")},
			Decision{Allow, ByRule, "Bash(ls *), Bash(cat *)", "the rule Bash(ls *), Bash(cat *) allows it"}},
		{Request{Tool: "Bash", Input: bashInput("make")}, Decision{Ask, ByMode, "", "no rule allows Bash"}},
		{Request{Tool: "Agent", Input: input()}, Decision{Allow, ByMode, "", "never asked for"}},
	}
	for _, tt := range tests {
		if diff := cmp.Diff(tt.want, p.Decide(tt.request)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", tt.request.Input, diff)
		}
	}
	p.Mode = ModeRules
	want := Decision{Deny, ByRule, "Bash(git *)",
		"the rule Bash(git *) asks about it, and nothing is asked in this mode"}
	if diff := cmp.Diff(want, p.Decide(tests[1].request)); diff != "" {
		t.Errorf("this mode asks no human (-want +got):\n%s", diff)
	}
}

func TestToolRules(t *testing.T) {
	tests := []struct {
		rule, tool string
		input      json.RawMessage
		covers     bool // as an allow rule
		might      bool // as a deny rule
	}{
		{"Edit", "Write", input("file_path", "/x"), true, true},
		{"Edit", "NotebookEdit", nil, true, true},
		{"Write", "Edit", input("file_path", "/x"), false, false},
		{"Read", "Grep", input("path", "/x"), true, true},
		{"Grep", "Read", input("file_path", "/x"), false, false},
		{"WebSearch", "WebSearch", nil, true, true},
		{"SomethingNew", "SomethingNew", nil, true, true},
		{"Bash", "BashOutput2", nil, false, false},

		{"mcp__git", "mcp__git__log", nil, true, true},
		{"mcp__git", "mcp__github__log", nil, false, false},
		{"mcp__git", "mcp__git_x__log", nil, false, false},
		{"mcp__git__log", "mcp__git__log", nil, true, true},
		{"mcp__git__log", "mcp__git__log2", nil, false, false},
		{"mcp__git__*", "mcp__git__log2", nil, true, true},
		{"mcp__git__get_*", "mcp__git__get_x", nil, true, true},
		{"mcp__git__get_*", "mcp__git__set_x", nil, false, false},

		{"WebFetch(domain:example.com)", "WebFetch", input("url", "https://example.com/x"), true, true},
		{"WebFetch(domain:Example.com)", "WebFetch", input("url", "http://EXAMPLE.com.:8080/x?y#z"), true, true},
		{"WebFetch(domain:example.com)", "WebFetch", input("url", "example.com/x"), true, true},
		{"WebFetch(domain:example.com)", "WebFetch", input("url", "https://sub.example.com"), false, true},
		{"WebFetch(domain:*.example.com)", "WebFetch", input("url", "https://sub.example.com"), true, true},
		{"WebFetch(domain:*.example.com)", "WebFetch", input("url", "https://example.com"), false, false},
		{"WebFetch(domain:example.com)", "WebFetch", input("url", "https://example.com.evil.org"), false, false},
		{"WebFetch(domain:example.com)", "WebFetch", input("url", "https://evilexample.com"), false, false},
		{"WebFetch(domain:example.com)", "WebFetch", input("url", "https://example.com@evil.org/"), false, true},
		{"WebFetch(domain:example.com)", "WebFetch", input("url", `https://evil.org\@example.com/`), false, true},
		{"WebFetch(domain:example.com)", "WebFetch", input("url", "https://%zz"), false, true},
		{"WebFetch(domain:example.com)", "WebFetch", input(), false, true},
		{"WebFetch(domain:example.com)", "WebSearch", input("url", "https://example.com"), false, false},

		{"Skill(pdf)", "Skill", input("skill", "pdf"), true, true},
		{"Skill(pdf)", "Skill", input("command", "/pdf"), true, true},
		{"Skill(pdf)", "Skill", input("skill", "PDF"), false, true},
		{"Skill(pdf*)", "Skill", input("skill", "pdf-tools"), true, true},
		{"Skill(pdf)", "Skill", input("skill", "docx"), false, false},
		{"Skill(pdf)", "Skill", input(), false, true},
	}
	for _, tt := range tests {
		r := Request{Tool: tt.tool, Input: tt.input}
		allow := Policy{Mode: ModeAsk, CWD: "/w", Resolve: plain, Allow: mustRules(t, tt.rule)}
		if got := allow.Decide(r).Behavior == Allow; got != tt.covers {
			t.Errorf("allow %s: %s %s: allowed %v, want %v", tt.rule, tt.tool, tt.input, got, tt.covers)
		}
		deny := Policy{Mode: ModeAllowAll, CWD: "/w", Resolve: plain, Deny: mustRules(t, tt.rule)}
		if got := deny.Decide(r).Behavior == Deny; got != tt.might {
			t.Errorf("deny %s: %s %s: denied %v, want %v", tt.rule, tt.tool, tt.input, got, tt.might)
		}
	}
}

// TestReadsUnseen: if a rule protects something from reading, a command line that may reach it in a way that
// its words do not show is not left to Claude's default mode.
func TestReadsUnseen(t *testing.T) {
	closed := Policy{Mode: ModeAsk, CWD: "/w", Home: "/home/u", Resolve: plain, Deny: mustRules(t, "Read(~/.ssh/**)")}
	asked := Policy{Mode: ModeAsk, CWD: "/w", Home: "/home/u", Resolve: plain, Ask: mustRules(t, "Grep")}
	open := Policy{Mode: ModeAsk, CWD: "/w", Home: "/home/u", Resolve: plain,
		Deny: mustRules(t, "Edit(~/.ssh/**)", "Bash(rm *)")}
	for command, want := range map[string]bool{
		"grep -R key .": true, "cat l*/id_rsa": true, "cd link && cat id_rsa": true, "cat a.go": false, "make": true,
	} {
		r := Request{Tool: "Bash", Input: bashInput(command)}
		for name, p := range map[string]Policy{"deny": closed, "ask": asked} {
			if got := p.ReadsUnseen(r); got != want || p.Compile().ReadsUnseen(r) != want {
				t.Errorf("%s, %s: %v, want %v", name, command, got, want)
			}
		}
		if open.ReadsUnseen(r) {
			t.Errorf("%s: nothing is closed to reading", command)
		}
	}
	if closed.ReadsUnseen(Request{Tool: "WebFetch", Input: input("url", "https://example.com")}) {
		t.Error("a tool that runs no command line")
	}
}

// TestLeftToTheCLI: a tool about which the CLI does not ask by itself is not left to the CLI. The names are
// those of the init frame of CLI 2.1.329, and those that it offers when other tools are denied.
func TestLeftToTheCLI(t *testing.T) {
	for tool, want := range map[string]bool{
		"Bash": true, "Edit": true, "NotebookEdit": true, "Write": true, "Read": true, "Glob": true, "Grep": true,
		"WebFetch": true, "WebSearch": true, "Skill": true, "mcp__x__y": true,
		"Task": false, "Agent": false, "CronCreate": false, "CronDelete": false, "CronList": false,
		"EnterWorktree": false, "ExitWorktree": false, "ListAgents": false, "Monitor": false,
		"ReportFindings": false, "ScheduleWakeup": false, "SendMessage": false, "Workflow": false, "LSP": false,
		"PowerShell": false, "RemoteTrigger": false, "mcp__x": false, "": false,
	} {
		if got := AskedByCLI(tool); got != want {
			t.Errorf("%q: %v, want %v", tool, got, want)
		}
		if tool != "" && tool != "mcp__x" && !knownTool(tool) {
			t.Errorf("%q is not known", tool)
		}
	}
	for _, tool := range []string{"TaskStop", "ToolSearch"} { // the rest of the frame
		if !harmless.has(tool) {
			t.Errorf("%q is not known to be harmless", tool)
		}
	}
}

// TestOwnTools: Arbiter's tools and the subagent tool are denied by name only.
func TestOwnTools(t *testing.T) {
	for rule, denied := range map[string]bool{
		"mcp__arbiter": true, "mcp__arbiter__status": true, "mcp__arbiter__*": true, "mcp__arbiter__set_plan": false,
		"Bash": false,
	} {
		p := Policy{Mode: ModeRules, Deny: mustRules(t, rule)}
		if got := p.Decide(Request{Tool: "mcp__arbiter__status", Input: nil}).Behavior == Deny; got != denied {
			t.Errorf("%s: denied %v, want %v", rule, got, denied)
		}
	}
	for rule, denied := range map[string]bool{"Agent": true, "Task": true, "Task(x)": true, "Agent(y)": false} {
		p := Policy{Mode: ModeRules, Deny: mustRules(t, rule)}
		for _, tool := range []string{"Agent", "Task"} {
			if got := p.Decide(Request{Tool: tool,
				Input: input("subagent_type", "x")}).Behavior == Deny; got != denied {
				t.Errorf("%s: %s denied %v, want %v", rule, tool, got, denied)
			}
		}
	}
}

func FuzzDecide(f *testing.F) {
	f.Add("Write", `{"file_path":"/w/src/../x"}`, "Edit(src/**)")
	f.Add("Glob", `{"pattern":"**","path":"~/x"}`, "Read(~/.ssh/**)")
	f.Add("WebFetch", `{"url":"https://x@y"}`, "WebFetch(domain:*.x)")
	f.Fuzz(func(t *testing.T, tool, in, rule string) {
		r, err := ParseRule(rule)
		if err != nil {
			return
		}
		request := Request{Tool: tool, Input: json.RawMessage(in)}
		allowed := Policy{Mode: ModeAsk, CWD: "/w", Home: "/h", Resolve: plain, Allow: []Rule{r}}.Decide(request)
		denied := Policy{Mode: ModeAllowAll, CWD: "/w", Home: "/h", Resolve: plain, Deny: []Rule{r}}.Decide(request)
		for _, p := range []Policy{{Mode: ModeAsk, CWD: "/w", Home: "/h", Resolve: linked, Allow: []Rule{r}},
			{Mode: ModeAllowAll, CWD: "/w", Home: "/h", Resolve: linked, Deny: []Rule{r}}} {
			if one, other := p.Decide(request), p.Compile().Decide(request); one != other {
				t.Fatalf("%s: %s %s is %v, and compiled %v", rule, tool, in, one, other)
			}
		}
		// A rule that covers a request must also match it as a deny rule.
		if allowed.By == ByRule && allowed.Behavior == Allow && denied.Behavior != Deny {
			t.Fatalf("%s covers %s %s, but denies it not", rule, tool, in)
		}
	})
}
