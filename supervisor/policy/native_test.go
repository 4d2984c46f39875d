package policy

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
)

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
		if got := SplitRules(text); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
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
		{"Write(src/**)", "deny ask", "Edit(//w/x/src/**)"}, {"Write(src/**)", Allow, "error write Edit(src/**)"},
		{"NotebookEdit(*.ipynb)", Allow, "error write Edit(*.ipynb)"}, {"MultiEdit(a)", Deny, "Edit(//w/x/**/a)"},
		{"Grep(src/**)", Allow, "error write Read(src/**)"}, {"Grep(src/**)", Deny, "Read(//w/x/src/**)"},
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
			if got, err := mustRules(t, text)[0].Native(Deny, cwd, "/h"); err == nil {
				t.Errorf("%s in %q is %s", text, cwd, got)
			}
		}
		if got, err := mustRules(t, "Read(~/x)")[0].Native(Ask, "/w", cwd); err == nil {
			t.Errorf("a home of %q: %s", cwd, got)
		}
		if got, err := mustRules(t, "Read(//etc/**)")[0].Native(Ask, cwd, cwd); err != nil || got != "Read(//etc/**)" {
			t.Errorf("an absolute rule in %q: %s, %v", cwd, got, err)
		}
	}
}

func TestEditsBelow(t *testing.T) {
	for dir, want := range map[string]string{
		"/w": "Edit(//w/**)", "/w/a b (c)/#1/": "Edit(//w/a b (c)/#1/**)", "/": "", "": "", "w": "", "/we*": "", "/w?x": "",
		"/w[1]": "", "/{a}": "", "/a!": "", `/a\b`: "", "/a\nb": "", "/a)b": "", "/a/../b": "Edit(//b/**)",
	} {
		if got, ok := EditsBelow(dir); got != want || ok != (want != "") {
			t.Errorf("%q: %q, %v, want %q", dir, got, ok, want)
		}
		if rule, err := ParseRule(want); want != "" && (err != nil || !rule.Known()) {
			t.Errorf("%s: %v", want, err)
		}
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
