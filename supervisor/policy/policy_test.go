package policy

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// plain is a file system without links.
func plain(name string) (string, error) { return filepath.Clean(name), nil }

// linked is a file system with links: /w/out leads to /x, /w/in to /w/src, /h/link to
// /w, /alias to /w, /w/bad cannot be followed.
func linked(name string) (string, error) {
	name = filepath.Clean(name)
	for range 3 {
		for from, to := range map[string]string{"/w/out": "/x", "/w/in": "/w/src", "/h/link": "/w", "/alias": "/w"} {
			if rest, ok := below(name, from); ok {
				name = filepath.Join(to, rest)
			}
		}
	}
	if strings.HasPrefix(name, "/w/bad") {
		return "", os.ErrPermission
	}
	return name, nil
}

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

func TestOrder(t *testing.T) {
	p := Policy{CWD: "/w", Resolve: plain, Deny: mustRules(t, "Bash(git push *)"),
		Ask: mustRules(t, "Bash(git *)", "Agent")}
	for _, tt := range []struct {
		request Request
		want    Decision
	}{
		{Request{Tool: "Bash", Input: bashInput("git push")},
			Decision{Deny, ByRule, "Bash(git push *)", "the rule Bash(git push *) denies it"}},
		{Request{Tool: "Bash", Input: bashInput("git log; git push")},
			Decision{Deny, ByRule, "Bash(git push *)", "the rule Bash(git push *) denies it"}},
		{Request{Tool: "Bash", Input: bashInput("git log")},
			Decision{Ask, ByRule, "Bash(git *)", "the rule Bash(git *) asks about it"}},
		{Request{Tool: "Bash", Input: bashInput("eval $X")}, Decision{Ask, ByRule, "Bash(git push *)",
			"the rule Bash(git push *) might be about it: eval runs a text, or changes what a name runs"}},
		{Request{Tool: "Bash", Input: bashInput("make")}, Decision{}},
		{Request{Tool: "Agent", Input: input()},
			Decision{Ask, ByRule, "Agent", "the rule Agent asks about it"}},
	} {
		testkit.Same(t, string(tt.request.Input), tt.want, p.Decide(tt.request))
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
		{"Bash", "Monitor", nil, true, true},
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
		deny := Policy{CWD: "/w", Resolve: plain, Deny: mustRules(t, tt.rule)}
		if _, got := deny.Within(r, deny.Deny); got != tt.covers {
			t.Errorf("%s: %s %s: within %v, want %v", tt.rule, tt.tool, tt.input, got, tt.covers)
		}
		if got := deny.Decide(r).Behavior != ""; got != tt.might {
			t.Errorf("deny %s: %s %s: %v, want %v", tt.rule, tt.tool, tt.input, got, tt.might)
		}
	}
}

// TestOwnTools: Arbiter's tools and the subagent tool are denied by name only.
func TestOwnTools(t *testing.T) {
	for rule, denied := range map[string]bool{
		"mcp__arbiter": true, "mcp__arbiter__status": true, "mcp__arbiter__*": true, "mcp__arbiter__set_plan": false,
		"Bash": false,
	} {
		p := Policy{Deny: mustRules(t, rule)}
		if got := p.Decide(Request{Tool: "mcp__arbiter__status", Input: nil}).Behavior == Deny; got != denied {
			t.Errorf("%s: denied %v, want %v", rule, got, denied)
		}
	}
	for rule, denied := range map[string]bool{"Agent": true, "Task": true, "Task(x)": true, "Agent(y)": false} {
		p := Policy{Deny: mustRules(t, rule)}
		for _, tool := range []string{"Agent", "Task"} {
			if got := p.Decide(Request{Tool: tool,
				Input: input("subagent_type", "x")}).Behavior == Deny; got != denied {
				t.Errorf("%s: %s denied %v, want %v", rule, tool, got, denied)
			}
		}
	}
}

// FuzzDecide: no input panics, nothing is allowed, and a rule that covers a request is also about it.
func FuzzDecide(f *testing.F) {
	f.Add("Write", `{"file_path":"/w/src/../x"}`, "Edit(src/**)")
	f.Add("Glob", `{"pattern":"**","path":"~/x"}`, "Read(~/.ssh/**)")
	f.Add("WebFetch", `{"url":"https://x@y"}`, "WebFetch(domain:*.x)")
	f.Add("Bash", `{"command":"cd x && cat $(echo 'y') *.z"}`, "Read(x/**)")
	f.Fuzz(func(t *testing.T, tool, in, rule string) {
		r, err := ParseRule(rule)
		if err != nil {
			return
		}
		request := Request{Tool: tool, Input: json.RawMessage(in)}
		for _, resolve := range []func(string) (string, error){plain, linked} {
			p := Policy{CWD: "/w", Home: "/h", Resolve: resolve, Deny: []Rule{r}}
			d := p.Decide(request)
			if _, ok := p.Within(request, p.Deny); ok && d.Behavior == "" || d.Behavior == Allow {
				t.Fatalf("%s covers %s %s, and is not about it: %v", rule, tool, in, d)
			}
		}
		for _, behavior := range []string{Allow, Deny, Ask} {
			native, err := r.Native(behavior, "/w", "/h")
			if err != nil {
				continue
			}
			if _, err := ParseRule(native); err != nil {
				t.Fatalf("%s is natively %s: %v", rule, native, err)
			}
		}
	})
}
