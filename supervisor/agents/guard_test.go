package agents

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func use(t *testing.T, call string) (tool string, input json.RawMessage) {
	t.Helper()
	tool, arg, _ := strings.Cut(call, " ")
	field := map[string]string{"Bash": "command", "Agent": "subagent_type", "Task": "subagent_type", "WebFetch": "url",
		"Glob": "pattern", "Grep": "pattern"}[tool]
	if field == "" {
		field = "file_path"
	}
	input, err := json.Marshal(map[string]string{field: arg})
	if err != nil {
		t.Fatal(err)
	}
	return tool, input
}

func TestAllows(t *testing.T) {
	for name, tt := range map[string]struct {
		tools, denied []string
		yes, no       []string
	}{
		"all": {yes: []string{"Bash rm -rf x", "Write /w/a", "mcp__git__log", "Agent worker", "NewTool x"}},
		"denied": {
			denied: []string{"Edit", "Bash(rm *)", "mcp__git"},
			yes: []string{"Read /w/a", "Bash ls", "mcp__gitlab__log", "StructuredOutput",
				"mcp__arbiter__update_plan"},
			no: []string{"Edit /w/a", "Write /w/a", "NotebookEdit /w/a", "Bash rm x", "Bash ls; rm x", "Bash sudo rm x",
				"Bash ls $(rm x)", "Bash $X y", "mcp__git__log"},
		},
		"denied agent": {denied: []string{"Task"}, yes: []string{"Read a"},
			no: []string{"Agent worker", "Task worker"}},
		"denied ours": {denied: []string{"mcp__arbiter"},
			yes: []string{"mcp__arbiter__update_plan", "StructuredOutput"}},
		"named": {
			tools: []string{"Read", "Bash(git *)", "Bash(go test *)", "Edit(src/**)", "mcp__git__log",
				"WebFetch(domain:example.com)"},
			yes: []string{"Read /etc/passwd", "Bash git status", "Bash git add . && go test ./...", "Edit src/a",
				"Edit /w/src/b/c", "mcp__git__log", "Agent worker", "Task worker", "WebFetch https://example.com/x",
				"StructuredOutput", "mcp__arbiter__report_progress"},
			no: []string{"Grep x", "Glob x", "Write /w/src/a", "Bash ls", "Bash git status; ls", "Bash git status > x",
				"Bash git log $(rm x)", "Bash git status & rm x", "Bash gitk", "Edit /w/a", "Edit /w/src/../a",
				"mcp__git__push", "WebFetch https://example.com.evil.org", "TodoWrite", "KillShell", "NewTool"},
		},
		"named and denied": {
			tools: []string{"Bash", "Read"}, denied: []string{"Bash(git push *)"},
			yes: []string{"Bash ls", "Bash git pull"},
			no:  []string{"Bash git push", "Bash ls && git push -f", "Write x"},
		},
		"agents by type": {tools: []string{"Read", "Agent(worker)"}, yes: []string{"Agent worker", "Task worker"},
			no: []string{"Agent Explore"}},
		"server": {tools: []string{"mcp__git"}, yes: []string{"mcp__git__log", "Agent x"},
			no: []string{"Read a", "mcp__gitx__log", "Bash ls"}},
		"an entry unread": {tools: []string{"Bash(", "Read"}, yes: []string{"Read a"}, no: []string{"Bash ls"}},
		"a denial unread": {denied: []string{"Bash(rm"}, yes: []string{"StructuredOutput"},
			no: []string{"Read a", "Bash ls"}},
		"none can be read":  {tools: []string{"Bash("}, no: []string{"Read a", "Bash ls"}},
		"not even one tool": {tools: []string{}, yes: []string{"Agent x"}, no: []string{"Read a"}},
	} {
		t.Run(name, func(t *testing.T) {
			a := Agent{Name: "m", Tools: tt.tools, DisallowedTools: tt.denied}
			for want, calls := range map[bool][]string{true: tt.yes, false: tt.no} {
				for _, call := range calls {
					tool, input := use(t, call)
					ok, rule, why := a.Allows("/w", "/home/u", tool, input)
					if ok != want || ok != (why == "") {
						t.Errorf("%s: %v by %q: %s", call, ok, rule, why)
					}
				}
			}
		})
	}
}

func TestAllowsSaysWhy(t *testing.T) {
	a := Agent{Name: "m", Tools: []string{"Bash(git *)"}, DisallowedTools: []string{"Bash(git push *)"}}
	for call, want := range map[string]string{
		"Bash git push": "Bash(git push *): the mode m does without Bash(git push *)",
		"Bash ls":       ": the mode m has Bash for no more than Bash(git *)",
		"Read x":        ": the mode m has no tool Read",
	} {
		tool, input := use(t, call)
		if _, rule, why := a.Allows("/w", "", tool, input); rule+": "+why != want {
			t.Errorf("%s: %s: %s", call, rule, why)
		}
	}
	// Input that cannot be read is not allowed.
	for _, input := range []string{"", "null", "[]", `{"command":3}`, `{"Command":"git log"}`} {
		if ok, _, _ := a.Allows("/w", "", "Bash", json.RawMessage(input)); ok {
			t.Errorf("allowed: %q", input)
		}
	}
}

func TestCLI(t *testing.T) {
	for name, tt := range map[string]struct {
		tools, denied, want []string
		narrows             bool
	}{
		"all": {denied: []string{"Edit", "Bash(rm *)"}},
		"named": {tools: []string{"Read", "Bash(git *)", "Bash(go *)", "Edit(src/**)", "mcp__git__log"},
			want: []string{"Agent", "Read", "Bash", "Edit"}, narrows: true},
		"agent":   {tools: []string{"Task", "Read"}, want: []string{"Agent", "Read"}},
		"alone":   {tools: []string{"Read"}, denied: []string{"Task"}, want: []string{"Read"}},
		"nothing": {tools: []string{"mcp__git"}, denied: []string{"Agent"}, want: []string{}},
	} {
		a := Agent{Tools: tt.tools, DisallowedTools: tt.denied}
		tools, denied := a.CLI()
		if diff := cmp.Diff([][]string{tt.want, tt.denied}, [][]string{tools, denied}); diff != "" ||
			a.Narrows() != tt.narrows {
			t.Errorf("%s: narrows %v, %s", name, a.Narrows(), diff)
		}
	}
}
