package policy

import (
	"strings"
	"testing"
)

func TestParseRule(t *testing.T) {
	for _, s := range []string{
		"Bash", "Bash(*)", "Bash(git *)", "Bash(npm run test:*)", "Bash(git commit -m \"a (b)\")", "Edit(src/**)",
		"Read(~/.ssh/**)", "Read(~)", "Read(//etc/**)", "Write(/a)", "Edit(./a/b)", "Edit(../other/**)", "Read(*.env)",
		"Read(.env)", "mcp__srv", "mcp__srv__tool", "mcp__srv__*", "mcp__srv__get_*",
		"WebFetch(domain:x)", "WebFetch(domain:*.example.com)", "WebSearch", "Agent(reviewer)", "Task(reviewer)",
		"Skill(pdf)", "SomeNewTool", " Bash( git * ) ", "NotebookEdit(*.ipynb)", "Grep(src/**)",
	} {
		r, err := ParseRule(s)
		if err != nil {
			t.Errorf("%s: %v", s, err)
		} else if r.String() != strings.TrimSpace(s) {
			t.Errorf("%s reads %q", s, r)
		}
	}
}

func TestParseRuleRefuses(t *testing.T) {
	for s, want := range map[string]string{
		"":                              "a rule begins with a tool's name",
		"   ":                           "a rule begins with a tool's name",
		"(git *)":                       "a rule begins with a tool's name",
		"*":                             "is not a tool's name",
		"Ba sh":                         "is not a tool's name",
		"1Bash":                         "is not a tool's name",
		"Bash,Edit":                     "is not a tool's name",
		"bash(git *)":                   "write Bash",
		"webfetch":                      "write WebFetch",
		"edit":                          "write Edit",
		"Bash(git *":                    "closing parenthesis is missing",
		"Bash(a),Bash(b)":               "parentheses do not match",
		"Bash(a) Read(b)":               "parentheses do not match",
		"WebFetch(https://example.com)": "write WebFetch(domain:example.com)",
		"Bash(git *) x":                 "closing parenthesis is missing",
		"Bash()":                        "nothing stands between the parentheses",
		"Bash( )":                       "nothing stands between the parentheses",
		"Bash(:*)":                      "no command stands before :*",
		"Bash(git:* push)":              ":* stands at the end only",
		"Bash(git:*:*)":                 ":* stands at the end only",
		"Edit(!src/**)":                 "cannot be negated",
		"Edit(src/../x)":                ".. may stand only at the beginning",
		"Read(~/../x)":                  ".. may stand only at the beginning",
		"Read(~bob/x)":                  "only ~/ is known",
		"Edit(src/[a)":                  "is not a pattern",
		"mcp__":                         "write mcp__server",
		"mcp____tool":                   "write mcp__server",
		"mcp__*":                        "write mcp__server",
		"mcp__srv*":                     "a * stands for tools",
		"mcp__srv__a*b":                 "write mcp__server",
		"mcp__srv__tool(x)":             "take no parentheses",
		"WebFetch(example.com)":         "write WebFetch(domain:example.com)",
		"WebFetch(domain:)":             "write WebFetch(domain:example.com)",
		"WebFetch(domain:https://x.de)": "write WebFetch(domain:example.com)",
		"WebFetch(domain:*)":            "write WebFetch(domain:example.com)",
		"WebFetch(domain:a.*.com)":      "write WebFetch(domain:example.com)",
		"WebSearch(x)":                  "take no parentheses",
		"SomeNewTool(x)":                "take no parentheses",
	} {
		r, err := ParseRule(s)
		if err == nil {
			t.Errorf("%q was taken for %#v", s, r)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", s, err, want)
		}
	}
}

// mustRules parses rules for tests.
func mustRules(t testing.TB, texts ...string) []Rule {
	t.Helper()
	var out []Rule
	for _, s := range texts {
		r, err := ParseRule(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, r)
	}
	return out
}

func FuzzParseRule(f *testing.F) {
	for _, s := range []string{"Bash(git *)", "Read(~/.ssh/**)", "mcp__a__b*", "WebFetch(domain:*.x)",
		"Edit(../[a-z]/**)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseRule(s)
		if err != nil {
			return
		}
		again, err := ParseRule(r.String())
		if err != nil || again.String() != r.String() {
			t.Fatalf("%q reads %q, which reads %q (%v)", s, r, again, err)
		}
	})
}

func TestRuleNames(t *testing.T) {
	for _, tt := range []struct {
		rule, tool   string
		names, whole bool
		known        bool
	}{
		{"Edit", "Edit", true, true, true},
		{"Edit", "Write", false, true, true},
		{"Edit(src/**)", "Edit", true, false, true},
		{"Task", "Agent", true, true, true},
		{"Agent(worker)", "Task", true, false, true},
		{"Bash(*)", "Bash", true, true, true},
		{"mcp__git", "mcp__git__log", true, true, true},
		{"mcp__git", "mcp__gitx__log", false, true, true},
		{"Reed", "Read", false, true, false},
	} {
		r := mustRules(t, tt.rule)[0]
		if r.Names(tt.tool) != tt.names || r.Whole() != tt.whole || r.Known() != tt.known {
			t.Errorf("%s, %s: names %v, whole %v, known %v", tt.rule, tt.tool, r.Names(tt.tool), r.Whole(), r.Known())
		}
	}
}
