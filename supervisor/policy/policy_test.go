package policy

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
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
			Decision{bridge.Deny, ByRule, "Bash(git push *)", "the rule Bash(git push *) denies it"}},
		{Request{Tool: "Bash", Input: bashInput("git log; git push")},
			Decision{bridge.Deny, ByRule, "Bash(git push *)", "the rule Bash(git push *) denies it"}},
		{Request{Tool: "Bash", Input: bashInput("git log")},
			Decision{bridge.Ask, ByRule, "Bash(git *)", "the rule Bash(git *) asks about it"}},
		{Request{Tool: "Bash", Input: bashInput("eval $X")}, Decision{bridge.Ask, ByRule, "Bash(git push *)",
			"the rule Bash(git push *) might be about it: eval runs a text, or changes what a name runs"}},
		{Request{Tool: "Bash", Input: bashInput("make")}, Decision{}},
		{Request{Tool: "Agent", Input: input()},
			Decision{bridge.Ask, ByRule, "Agent", "the rule Agent asks about it"}},
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
		_, got := deny.Within(r, deny.Deny)
		testkit.Check(t, got == tt.covers, "%s: %s %s: within %v, want %v", tt.rule, tt.tool, tt.input, got, tt.covers)
		got = deny.Decide(r).Behavior != ""
		testkit.Check(t, got == tt.might, "deny %s: %s %s: %v, want %v", tt.rule, tt.tool, tt.input, got, tt.might)
	}
}

// TestOwnTools: Arbiter's tools and the subagent tool are denied by name only.
func TestOwnTools(t *testing.T) {
	for rule, denied := range map[string]bool{
		"mcp__arbiter": true, "mcp__arbiter__status": true, "mcp__arbiter__*": true, "mcp__arbiter__set_plan": false,
		"Bash": false,
	} {
		p := Policy{Deny: mustRules(t, rule)}
		testkit.Same(t, fmt.Sprintf("%s: denied", rule), denied,
			p.Decide(Request{Tool: "mcp__arbiter__status", Input: nil}).Behavior == bridge.Deny)
	}
	for rule, denied := range map[string]bool{"Agent": true, "Task": true, "Task(x)": true, "Agent(y)": false} {
		p := Policy{Deny: mustRules(t, rule)}
		for _, tool := range []string{"Agent", "Task"} {
			got := p.Decide(Request{Tool: tool, Input: input("subagent_type", "x")}).Behavior == bridge.Deny
			testkit.Check(t, got == denied, "%s: %s denied %v, want %v", rule, tool, got, denied)
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
			if _, ok := p.Within(request, p.Deny); ok && d.Behavior == "" || d.Behavior == bridge.Allow {
				t.Fatalf("%s covers %s %s, and is not about it: %v", rule, tool, in, d)
			}
		}
		for _, behavior := range []string{bridge.Allow, bridge.Deny, bridge.Ask} {
			native, err := r.Native(behavior, "/w", "/h")
			if err != nil {
				continue
			}
			_, err = ParseRule(native)
			testkit.Need(t, err == nil, "%s is natively %s: %v", rule, native, err)
		}
	})
}

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
		r := testkit.Must(ParseRule(s))(t)
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
		testkit.Need(t, err == nil && again.String() == r.String(), "%q reads %q, which reads %q (%v)", s, r, again,
			err)
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
		testkit.Check(t, r.Names(tt.tool) == tt.names && r.Whole() == tt.whole && r.Known() == tt.known,
			"%s, %s: names %v, whole %v, known %v", tt.rule, tt.tool, r.Names(tt.tool), r.Whole(), r.Known())
	}
}

func TestSplitRules(t *testing.T) {
	for text, want := range map[string][]string{
		"":                                       nil,
		" , ,":                                   nil,
		"Read":                                   {"Read"},
		"Bash(a, b), Read":                       {"Bash(a, b)", "Read"},
		"Bash(a),Bash(b)":                        {"Bash(a)", "Bash(b)"},
		"Bash(f (a, b), c) , mcp__s ,":           {"Bash(f (a, b), c)", "mcp__s"},
		"Bash(a, Read":                           {"Bash(a, Read"},
		"WebFetch(domain:a.de), Edit(a,b/**), X": {"WebFetch(domain:a.de)", "Edit(a,b/**)", "X"},
	} {
		testkit.Same(t, text, want, SplitRules(text))
	}
}

// TestNative: the forms are those that CLI 2.1.319, 2.1.329 and 2.1.332 keep and honour.
func TestNative(t *testing.T) {
	const all = "allow deny ask"
	for _, tt := range []struct{ rule, behaviors, want string }{ // want begins with "error " for an error
		{"Bash", all, "Bash"}, {"Bash(*)", all, "Bash"}, {"Bash( git  * )", all, "Bash(git *)"},
		{"Bash(go test:*)", all, "Bash(go test *)"}, {"Bash(npm*)", all, "Bash(npm*)"},
		{`Bash(git commit -m "a (b)")`, all, `Bash(git commit -m "a (b)")`},
		{"Edit", all, "Edit"}, {"Write", all, "Write"}, {"Read(*)", all, "Read"}, {"Task", all, "Agent"},
		{"Task(x)", all, "Agent(x)"}, {"Skill(pdf)", all, "Skill(pdf)"}, {"Skill(pdf*)", all, "error no rule with *"},
		{"mcp__s", all, "mcp__s"}, {"mcp__s__t", all, "mcp__s__t"}, {"mcp__s__*", all, "mcp__s__*"},
		{"mcp__s__get_*", all, "error name each tool"},
		{"WebFetch(domain:Example.com.)", all, "WebFetch(domain:example.com)"}, {"WebSearch", all, "WebSearch"},
		{"Edit(src/**)", all, "Edit(//w/x/src/**)"}, {"Edit(/src/**)", all, "Edit(//w/x/src/**)"},
		{"Edit(./a b/c)", all, "Edit(//w/x/a b/c)"}, {"Edit(.env)", all, "Edit(//w/x/**/.env)"},
		{"Edit(*.go)", all, "Edit(//w/x/**/*.go)"}, {"Edit(.)", all, "Edit(//w/x/**)"},
		{"Edit(../y/**)", all, "Edit(//w/y/**)"}, {"Edit(~/.ssh/**)", all, "Edit(//h/u/.ssh/**)"},
		{"Read(~)", all, "Read(//h/u/**)"}, {"Read(//etc/**)", all, "Read(//etc/**)"}, {"Read(//)", all, "Read(//**)"},
		{"Write(src/**)", "deny ask", "Edit(//w/x/src/**)"},
		{"Write(src/**)", bridge.Allow, "error write Edit(src/**)"},
		{"NotebookEdit(*.ipynb)", bridge.Allow, "error write Edit(*.ipynb)"},
		{"MultiEdit(a)", bridge.Deny, "Edit(//w/x/**/a)"},
		{"Grep(src/**)", bridge.Allow, "error write Read(src/**)"}, {"Grep(src/**)", bridge.Deny, "Read(//w/x/src/**)"},
		{`Edit(a\*b)`, all, "error reads {, }, ! and \\"}, {"Edit({a,b}/c)", all, "error reads {"},
	} {
		rule := mustRules(t, tt.rule)[0]
		for behavior := range strings.FieldsSeq(tt.behaviors) {
			got, err := rule.Native(behavior, "/w/x", "/h/u")
			want, failing := strings.CutPrefix(tt.want, "error ")
			if failing && (err == nil || !strings.Contains(err.Error(), want)) || !failing && (err != nil || got != want) {
				t.Errorf("%s %s is %q (%v), want %s", behavior, tt.rule, got, err, tt.want)
			}
		}
	}
	for _, cwd := range []string{"", "/we*", "/w?", "/w[1]", "/w]", "/{w}", "/w}", "/w!", `/w\x`} {
		for _, text := range []string{"Edit(src/**)", "Read(.env)", "Edit(.)"} {
			got, err := mustRules(t, text)[0].Native(bridge.Deny, cwd, "/h")
			testkit.Check(t, err != nil, "%s in %q is %s", text, cwd, got)
		}
		got, err := mustRules(t, "Read(~/x)")[0].Native(bridge.Ask, "/w", cwd)
		testkit.Check(t, err != nil, "a home of %q: %s", cwd, got)
		testkit.Same(t, fmt.Sprintf("an absolute rule in %q: got", cwd), "Read(//etc/**)",
			testkit.Must(mustRules(t, "Read(//etc/**)")[0].Native(bridge.Ask, cwd, cwd))(t))
	}
}

func TestEditsBelow(t *testing.T) {
	for dir, want := range map[string]string{
		"/w": "Edit(//w/**)", "/w/a b (c)/#1/": "Edit(//w/a b (c)/#1/**)", "/": "", "": "", "w": "", "/we*": "", "/w?x": "",
		"/w[1]": "", "/{a}": "", "/a!": "", `/a\b`: "", "/a\nb": "", "/a)b": "", "/a/../b": "Edit(//b/**)",
	} {
		got, ok := EditsBelow(dir)
		testkit.Check(t, got == want && ok == (want != ""), "%q: %q, %v, want %q", dir, got, ok, want)
		rule, err := ParseRule(want)
		testkit.Check(t, want == "" || err == nil && rule.Known(), "%s: %v", want, err)
	}
}

// TestWithin: an agent gets no more than its file names.
func TestWithin(t *testing.T) {
	named := mustRules(t, "Bash(git *)", "Bash(npm run build)", "Edit(docs/**)", "Read", "WebFetch(domain:a.de)",
		"Agent(reviewer)", "mcp__s__get_*")
	p := Policy{CWD: "/w", Home: "/h", Resolve: linked}
	bash := func(line string) Request { return Request{Tool: "Bash", Input: bashInput(line)} }
	for _, tt := range []struct {
		r    Request
		want string
	}{
		{bash("git status"), "Bash(git *)"},
		{bash("git log | git shortlog && npm run build"), "Bash(git *), Bash(npm run build)"},
		{bash("git log > docs/log.txt"), ""}, {bash("git log 2>/dev/null"), "Bash(git *)"},
		{bash("cd x; git log > docs/log.txt"), ""}, {bash("git status; ls"), ""}, {bash("npm run build x"), ""},
		{bash("git status $(ls)"), ""}, {bash("/tmp/git status"), ""}, {bash("X=1 git status"), ""}, {bash("gitx"), ""},
		{bash("./git-status"), ""}, {bash("git-status"), ""}, {bash("./cat"), ""}, {bash("X=1"), ""},
		{bash("git -c alias.x='!sh' x"), ""}, {bash("sudo git status"), ""}, {bash("git status `ls`"), ""},
		{Request{Tool: "Edit", Input: input("file_path", "docs/a")}, "Edit(docs/**)"},
		{Request{Tool: "Write", Input: input("file_path", "docs/../a")}, ""},
		{Request{Tool: "Read", Input: input("file_path", "/etc/passwd")}, "Read"},
		{Request{Tool: "WebFetch", Input: input("url", "https://a.de/x")}, "WebFetch(domain:a.de)"},
		{Request{Tool: "WebFetch", Input: input("url", "https://b.a.de/x")}, ""},
		{Request{Tool: "Task", Input: input("subagent_type", "reviewer")}, "Agent(reviewer)"},
		{Request{Tool: "Agent", Input: input("subagent_type", "other")}, ""},
		{Request{Tool: "mcp__s__get_x", Input: nil}, "mcp__s__get_*"}, {Request{Tool: "mcp__s__set_x", Input: nil}, ""},
		{Request{Tool: "Bash", Input: json.RawMessage(`{"command":7}`)}, ""},
	} {
		if rule, ok := p.Within(tt.r, named); rule != tt.want || ok != (tt.want != "") {
			t.Errorf("%s %s: %q, %v, want %q", tt.r.Tool, tt.r.Input, rule, ok, tt.want)
		}
	}
}

func TestPathRules(t *testing.T) {
	tests := []struct {
		rule, path    string
		covers, might bool
	}{
		{"Edit(src/**)", "/w/src/a", true, true},
		{"Edit(src/**)", "src/a/b/c", true, true},
		{"Edit(src/**)", "./src/a", true, true},
		{"Edit(src/**)", "/w/srcs/a", false, false},
		{"Edit(src/**)", "/w/a/src/b", false, false},
		{"Edit(src/**)", "/w/src/../a", false, false},
		{"Edit(src/**)", "/x/src/a", false, false},
		{"Edit(/src/**)", "/w/src/a", true, true},
		{"Edit(./src/**)", "/w/src/a", true, true},
		{"Edit(src/*)", "/w/src/a", true, true},
		{"Edit(src/*)", "/w/src/a/b", false, true},
		{"Edit(src/)", "/w/src/a/b", true, true},
		{"Edit(src)", "/w/src", true, true},
		{"Edit(src)", "/w/src/a", true, true},
		{"Edit(src)", "/w/a/src", true, true},
		{"Edit(./src)", "/w/a/src", false, false},
		{"Edit(*.go)", "/w/a.go", true, true},
		{"Edit(*.go)", "/w/a/b.go", true, true},
		{"Edit(*.go)", "/w/a.goo", false, false},
		{"Edit(*.go)", "/x/a.go", false, false},
		{"Edit(**/*.go)", "/w/a.go", true, true},
		{"Edit(a/**/b/*.go)", "/w/a/b/x.go", true, true},
		{"Edit(a/**/b/*.go)", "/w/a/c/d/b/x.go", true, true},
		{"Edit(a/**/b/*.go)", "/w/a/c/d/x.go", false, false},
		{"Edit(a?[bc])", "/w/axb", true, true},
		{"Edit(//etc/**)", "/etc/a/b", true, true},
		{"Edit(//etc/**)", "/w/etc/a", false, false},
		{"Edit(//**)", "/anything", true, true},
		{"Edit(//)", "/anything", true, true},
		{"Edit(~/.ssh/**)", "/home/u/.ssh/id", true, true},
		{"Edit(~/.ssh/**)", "~/.ssh/id", true, true},
		{"Edit(~/.ssh/**)", "/home/v/.ssh/id", false, false},
		{"Edit(~)", "/home/u/a", true, true},
		{"Edit(../x/**)", "/x/a", true, true},
		{"Edit(../x/**)", "../x/a", true, true},
		{"Edit(../x/**)", "/w/x/a", false, false},
		{"Edit(.)", "/w/a/b", true, true},
		{"Edit(.env)", "/w/.env", true, true},
		{"Edit(.env)", "/w/a/.env", true, true},
		{"Edit(.env)", "/w/.envrc", false, false},
		{"Edit(.env)", "/w/.env/", true, true},
		{"Edit(.env)", "/w//.env", true, true},
		{"Edit(.env)", "/w/x/../.env", true, true},
		{"Edit(.env)", " /w/.env", false, true},
		{"Edit(.env)", "", false, true},
	}
	for _, tt := range tests {
		r := Request{Tool: "Write", Input: input("file_path", tt.path)}
		deny := Policy{CWD: "/w", Home: "/home/u", Resolve: plain, Deny: mustRules(t, tt.rule)}
		_, got := deny.Within(r, deny.Deny)
		testkit.Check(t, got == tt.covers, "%s: %q: within %v, want %v", tt.rule, tt.path, got, tt.covers)
		got = deny.Decide(r).Behavior != ""
		testkit.Check(t, got == tt.might, "deny %s: %q: %v, want %v", tt.rule, tt.path, got, tt.might)
	}
}

func TestReadRulesCoverSearches(t *testing.T) {
	p := Policy{CWD: "/w", Home: "/home/u", Resolve: plain,
		Deny: mustRules(t, "Read(.env)", "Read(~/.ssh/**)")}
	for _, tt := range []struct {
		tool  string
		input json.RawMessage
		want  string
	}{
		{"Read", input("file_path", ".env"), bridge.Deny},
		{"Grep", input("pattern", "x", "path", ".env"), bridge.Deny},
		{"Grep", input("pattern", "x", "glob", ".env"), bridge.Deny},
		{"Grep", input("pattern", "x", "path", "src", "glob", ".env"), bridge.Deny},
		{"Glob", input("pattern", "id", "path", "~/.ssh"), bridge.Deny},
		{"Glob", input("pattern", "~/.ssh/id"), bridge.Deny},
		{"Grep", input("pattern", ".env"), ""},
		{"Edit", input("file_path", ".env"), ""},
	} {
		testkit.Same(t, fmt.Sprintf("%s %s is", tt.tool, tt.input), tt.want,
			p.Decide(Request{Tool: tt.tool, Input: tt.input}).Behavior)
	}
}

// TestFileRulesHoldForCommands: a file that must not be read or written must not be by a command that names it,
// either.
func TestFileRulesHoldForCommands(t *testing.T) {
	for _, tt := range []struct {
		rule           string
		denied, passed []string
		asked          []string
	}{
		{"Read(.env)", []string{"cat .env", "cat .ENV", "cat ./src/../.env", "cat '.env'", "/bin/cat .env",
			"head -n 1 a .env", "grep x .env", "sed -n 1p .env", "sudo cat .env", "ls; cat .env", "echo $(cat .env)",
			"cat < .env",
			"cat <.env", "wc -l <.env", "bash -c 'cat .env'", "if true; then cat .env; fi", "xargs cat .env",
			"cp .env x", "dd if=.env", "curl --data=.env x", "source .env", ". .env", "find . -exec cat .env ;",
			"cat /alias/.env", "mv .env x"},
			[]string{"cat .envrc", "ls .env", "echo .env", "git add .env", "rm .env2", "cat a", "cat *.go", "cat src/*",
				"rg x", "python3 x.py"},
			[]string{"cat $F", "cat .e*", "cat */.env", "cat src/$F", "cat .*", "grep -r x .", "ls | xargs cat",
				"tar czf x.tgz .", "cp -r . ../x", "python3 -c 'x'", "eval cat x", "cat /proc/self/root/x"}},
		{"Edit(secret/**)", []string{"rm secret/a", "tee secret/a", "echo x > secret/a", "echo x >secret/a",
			"echo x >> 'secret/a'", "sed -i s/a/b/ secret/a", "sed -ni p secret/a", "cp a secret/", "mv secret/a b",
			"dd of=secret/a", "touch secret/a", "sudo rm -rf secret", "(echo x) 2> secret/a", "echo x &> secret/a",
			"sh -c 'rm secret/a'", "strace -o secret/a ls"},
			[]string{"cat secret/a", "sed -n p secret/a", "ls secret", "rm secrets/a", "echo 'x > secret/a'"},
			[]string{"echo x > $F", "rm $F", "tee s*/a", "xargs rm", "rm -rf .", "chmod -R 0 /w"}},
		{"Read(~/.ssh/**)", []string{"cat ~/.ssh/id", "cat /h/.ssh/id", "tar cf x ~/.ssh", "scp ~/.ssh/id h:"},
			[]string{"cat .ssh/id"}, nil},
		{"Edit", nil, []string{"rm x", "echo > x"}, nil},
		{"Read", nil, []string{"cat x"}, nil},
		{"Write(a)", nil, []string{"rm a"}, nil},
	} {
		p := Policy{CWD: "/w", Home: "/h", Resolve: linked, Deny: mustRules(t, tt.rule)}
		for want, commands := range map[string][]string{bridge.Deny: tt.denied, bridge.Ask: tt.asked, "": tt.passed} {
			for _, command := range commands {
				d := p.Decide(Request{Tool: "Bash", Input: bashInput(command)})
				testkit.Check(t, d.Behavior == want, "%s: %q is %q, want %q (%s)", tt.rule, command, d.Behavior, want, d.Reason)
			}
		}
	}
}

// TestLinks uses real links: the name of a path and its target differ.
func TestLinks(t *testing.T) {
	root := testkit.Must(filepath.EvalSymlinks(t.TempDir()))(t)
	for _, dir := range []string{"tree/src", "secret", "tree/real"} {
		testkit.OK(t, os.MkdirAll(filepath.Join(root, dir), 0o700))
	}
	for name, to := range map[string]string{
		"tree/src/out":      root + "/secret",          // leads out
		"tree/src/in":       "../real",                 // stays in
		"tree/src/dangling": root + "/secret/new",      // leads to a file that does not exist yet
		"tree/src/loop":     root + "/tree/src/loop",   // leads nowhere
		"alias":             root + "/tree",            // another name of the working directory
		"keys":              root + "/secret",          // another name of the secret
		"tree/src/chain":    root + "/tree/src/out/..", // for the kernel, .. starts at the link's target
	} {
		testkit.OK(t, os.Symlink(to, filepath.Join(root, name)))
	}
	tests := []struct {
		cwd, path     string
		covers, might bool // by Edit(src/**); by deny Edit(//root/keys/**)
	}{
		{"tree", "src/a", true, false},
		{"tree", "src/new/dir/a", true, false},
		{"tree", "src/out/a", false, true},
		{"tree", "src/out", false, true},
		{"tree", "src/in/a", false, false},
		{"tree", "src/dangling", false, true},
		{"tree", "src/dangling/b", false, true},
		{"tree", "src/loop", false, true},
		{"tree", "src/loop/a", false, true},
		{"tree", "src/out/../a", false, false},
		{"tree", "src/chain/a", false, false},
		{"tree", "src/in/../a", false, false},
		{"tree", "../secret/a", false, true},
		{"tree", "../keys/a", false, true},
		{"alias", "src/a", true, false},
		{"alias", root + "/tree/src/a", true, false},
		{"tree", root + "/alias/src/a", false, false},
		{"alias", root + "/alias/src/out/a", false, true},
	}
	for _, tt := range tests {
		r := Request{Tool: "Write", Input: input("file_path", tt.path)}
		p := Policy{CWD: filepath.Join(root, tt.cwd), Deny: mustRules(t, "Edit(/"+root+"/keys/**)")}
		_, got := p.Within(r, mustRules(t, "Edit(src/**)"))
		testkit.Check(t, got == tt.covers, "%s in %s is within src: %v, want %v", tt.path, tt.cwd, got, tt.covers)
		got = p.Decide(r).Behavior != ""
		testkit.Check(t, got == tt.might, "%s in %s may be in keys: %v, want %v", tt.path, tt.cwd, got, tt.might)
	}
}

// TestUnresolvable: a path whose links cannot be followed is in doubt.
func TestUnresolvable(t *testing.T) {
	broken := func(string) (string, error) { return "", errors.New("permission denied") }
	r := Request{Tool: "Write", Input: input("file_path", "/w/src/a")}
	p := Policy{CWD: "/w", Resolve: broken, Deny: mustRules(t, "Edit(//etc/**)")}
	testkit.Same(t, "deny", bridge.Ask, p.Decide(r).Behavior)
	rule, ok := p.Within(r, mustRules(t, "Edit(src/**)"))
	testkit.Check(t, !ok, "it is within %s", rule)
}

func TestWithoutHome(t *testing.T) {
	r := Request{Tool: "Read", Input: input("file_path", "/.ssh/id")}
	p := Policy{CWD: "/w", Resolve: plain, Deny: mustRules(t, "Read(~/.ssh/**)")}
	testkit.Same(t, "p.Decide(r)", Decision{}, p.Decide(r))
	rule, ok := p.Within(r, p.Deny)
	testkit.Check(t, !ok, "it is within %s", rule)
}

func TestMatchWithCaseFolding(t *testing.T) {
	testkit.Check(t, (&region{[]string{"/W"}, []string{"**", ".Env"}, true}).has("/w/a/.ENV") &&
		!(&region{[]string{"/w"}, []string{".env"}, false}).has("/w/.ENV"), "case is not folded exactly when requested")
}

// TestOnlyReads: what changes no file, and what commits. In doubt a call changes something.
func TestOnlyReads(t *testing.T) {
	for line, want := range map[string]struct{ reads, commits bool }{
		"git log --oneline | head -5":              {true, true},
		"cd src && ls -la && cat a.go 2>/dev/null": {true, true},
		"grep -rn x . | sort | uniq -c":            {true, true},
		"find . -name '*.go'":                      {true, true},
		"wc -l < /dev/tcp/host/1":                  {false, false}, // so does any other file: in doubt, it does not read
		"git add -A && git commit -qm 'x y'":       {false, true},
		"rm -f a":                                  {false, false},
		"printf ho > a.txt":                        {false, false},
		"find . -delete":                           {false, false},
		"find . -exec rm {} +":                     {false, false},
		"sort -o a a":                              {false, false},
		"git log --output=a":                       {false, false},
		"git checkout main":                        {false, false},
		"go test ./...":                            {false, false},
		"bash -c 'cat a'":                          {false, false},
		"eval cat a":                               {false, false},
		"cat $(touch a)":                           {false, false},
		"./cat a":                                  {false, false},
		"PATH=. cat a":                             {false, false},
		"find . $X":                                {false, false},
		"git log $(cat a)":                         {false, false},
		"sort \"$X\"":                              {false, false},
		"sort a | uniq - b":                        {false, false},
		"uniq -f 1 a b":                            {false, false},
		"date -s 12:00":                            {false, false},
		"date --set=now":                           {false, false},
		"rg --pre ./a x":                           {false, false},
		"git grep -O./a x":                         {false, false},
		"git grep --open-files-in-pager=./a x":     {false, false},
		"file -C -m a":                             {false, false},
		"sort -uo a a":                             {false, false},
		"sort --o=a a":                             {false, false},
		"date -us 12:00":                           {false, false},
		"date -Iseconds":                           {true, true},
		"date +%H-%M-seconds":                      {true, true},
		"file -bC -m a":                            {false, false},
		"tree -ao a":                               {false, false},
		"tree --noreport -a":                       {true, true},
		"rg --hostname-bin ./a x":                  {false, false},
		"sort a | uniq -c | head":                  {true, true},
		"echo \"$X\" && ls -sS":                    {true, true},
	} {
		input, _ := json.Marshal(map[string]string{"command": line})
		p, r := Policy{CWD: "/w", Home: "/h"}, Request{Tool: "Bash", Input: input}
		reads, commits := p.OnlyReads(r, false), p.OnlyReads(r, true)
		testkit.Check(t, reads == want.reads && commits == want.commits, "%s: reads %v, commits %v", line, reads, commits)
	}
	p := Policy{CWD: "/w"}
	for tool, want := range map[string]bool{
		"Read": true, "Grep": true, "Write": false, "NotebookEdit": false, "Agent": false, "mcp__db__drop": false,
		"mcp__arbiter__ask_predecessor": true, bridge.VerdictTool: true, "Monitor": false,
	} {
		testkit.Same(t, fmt.Sprintf("%s: reads", tool), want,
			p.OnlyReads(Request{Tool: tool, Input: json.RawMessage(`{}`)}, true))
	}
}
