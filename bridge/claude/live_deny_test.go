package claude

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestLiveDeniedTools: the CLI does not offer denied tools to a session's model, and refuses calls of
// them without a question, also those of subagents. A tool that is neither denied nor allowed needs a
// permission, in both.
func TestLiveDeniedTools(t *testing.T) {
	realAtNight(t)
	for name, deny := range map[string]func(*bridge.AgentConfig){
		"by name": func(cfg *bridge.AgentConfig) {
			cfg.DisallowedTools = []string{"Write", "Edit", "NotebookEdit", "Bash(rm *)"}
		},
		"by a list": func(cfg *bridge.AgentConfig) {
			cfg.Tools, cfg.DisallowedTools = []string{"Agent", "Bash", "Read"}, []string{"Bash(rm *)"}
		},
	} {
		t.Run(name, func(t *testing.T) {
			inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
				dir := t.TempDir()
				keep := filepath.Join(dir, "keep")
				if err := os.WriteFile(keep, nil, 0o600); err != nil {
					t.Fatal(err)
				}
				write := reply{tools: []call{{"Write", map[string]any{"file_path": filepath.Join(dir, "made"), "content": "x"}}}}
				remove := reply{tools: []call{bash("rm -f " + keep)}}
				touch := func(name string) reply { return reply{tools: []call{bash("touch " + filepath.Join(dir, name))}} }
				model := startAPI(t, write, remove, touch("main"),
					taskCall("Agent", map[string]any{"description": "sub", "prompt": "go", "subagent_type": "general-purpose"}),
					write, remove, touch("sub"), reply{text: "tried"}, reply{text: "done"})
				s := prepare(t, spec, model.env())
				deny(&s.cfg)
				var asked questions
				s.host.permission = asked.allow
				s.launch()
				s.turn("go")

				for who, request := range map[string]int{"main": 0, "subagent": 4} {
					offered := model.toolNames(request)
					if !slices.Contains(offered, "Bash") || !slices.Contains(offered, "Read") {
						t.Errorf("the %s lacks tools: %v", who, offered)
					}
					for _, tool := range []string{"Write", "Edit", "NotebookEdit"} {
						if slices.Contains(offered, tool) {
							t.Errorf("the %s is offered %s", who, tool)
						}
					}
				}
				var refused []string
				for _, r := range of[bridge.ToolResult](s.host) {
					if r.IsError {
						who := "main: "
						if r.Subagent != "" {
							who = "sub: "
						}
						refused = append(refused, who+firstWords(r.Text))
					}
				}
				want := []string{"main: No such tool", "main: Permission to use", "sub: No such tool", "sub: Permission to use"}
				testkit.Same(t, "refused", want, refused)
				testkit.Same(t, "asked", []string{"main: Bash", "sub: Bash"}, asked.list)
				left, _ := filepath.Glob(filepath.Join(dir, "*"))
				testkit.Same(t, "files", []string{keep, filepath.Join(dir, "main"), filepath.Join(dir, "sub")}, left)
			})
		})
	}
}

// TestLiveAskTools: each use of such a tool needs a permission, even one that the CLI considers
// harmless, and also in subagents; a denied use is refused without a question.
func TestLiveAskTools(t *testing.T) {
	realAtNight(t)
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		model := startAPI(t, reply{tools: []call{bash("ls")}}, reply{tools: []call{bash("git status")}},
			reply{tools: []call{bash("rm x")}},
			taskCall("Agent", map[string]any{"description": "sub", "prompt": "go", "subagent_type": "general-purpose"}),
			reply{tools: []call{bash("pwd")}}, reply{text: "tried"}, reply{text: "done"})
		s := prepare(t, spec, model.env())
		s.cfg.Rules = bridge.PermissionRules{Ask: []string{"Bash"}, Allow: []string{"Bash(git *)"},
			Deny: []string{"Bash(rm *)"}}
		var asked questions
		s.host.permission = asked.allow
		s.launch()
		s.turn("go")
		testkit.Same(t, "asked", []string{"main: Bash", "main: Bash", "sub: Bash"}, asked.list)
	})
}

// firstWords returns the first words of a refusal, without its marks.
func firstWords(text string) string {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "<tool_use_error>"), "Error: ")
	return strings.Join(strings.Fields(text)[:3], " ")
}

// questions records what a host was asked.
type questions struct {
	mu   sync.Mutex
	list []string
}

func (q *questions) allow(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	q.mu.Lock()
	defer q.mu.Unlock()
	who := "main: "
	if p.Subagent != "" {
		who = "sub: "
	}
	q.list = append(q.list, who+p.Tool)
	return bridge.PermissionResult{Behavior: bridge.Allow}, nil
}
