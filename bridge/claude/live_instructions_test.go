package claude

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// contradictions are what requests of the CLI say, or would say, against the prompt of an Orchestrator. ours is what
// that prompt says about it. Without ours, the environment or the list of tools has to keep it out of the request.
var contradictions = []struct{ theirs, ours string }{
	{"hand off mid-task", "you hand off to a successor, also in the middle of a task"},
	{"not limited by the context window", "Your conversation is limited"},
	{"tokens left", "about tokens that are left"},
	{"displayed to the user", "is displayed to nobody"},
	{"Before your first tool call", "not before the first tool call"},
	{"silent is not", "not at key moments"},
	{"in the final text message", "not as a final message"},
	{"planning, decision, or analysis documents", "Plans, decisions and findings go into the hand-off document"},
	{"cannot answer questions mid-task", "end your turn with `kind: question`"},
	{"confirm first", "to confirm an action"},
	{"ask for confirmation", "to confirm an action"},
	{"Use TaskCreate to plan", "TaskCreate is for yourself alone"},
	{`isolation: "worktree"`, "without `isolation`"},
	{"15000000 tokens", ""},
	{"auto memory", ""},
	{"persistent file-based memory", ""},
	{"NEVER commit", ""},
	{"only when the user asks", ""},
	{`"AskUserQuestion"`, ""},
	{"EnterWorktree", ""},
	{`"ReportFindings"`, ""},
}

// watched finds sentences about what our prompt decides: each has to be one of the contradictions, or harmless.
var (
	watched = regexp.MustCompile(`(?i)hand off|tokens left|limited by|displayed to|mid-task|first tool call|final text|` +
		`silent is|documents unless|persistent|only when the user asks|never commit|use TaskCreate|AskUserQuestion|` +
		`worktree|confirm first|for confirmation`)
	harmless = []string{"Command output is displayed to you"}
	sentence = regexp.MustCompile(`[.!?]\s+|\n`)
)

// TestLiveInstructions: nothing in an Orchestrator's request contradicts our prompt unless our prompt says which holds.
// The CLI's instructions depend on the model.
func TestLiveInstructions(t *testing.T) {
	prompt := testkit.Must(os.ReadFile(filepath.Join("..", "..", "supervisor", "decider", "text", "orchestrator.md")))(t)
	ours := strings.Join(strings.Fields(string(prompt)), " ")
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		for _, family := range []string{"claude-opus-5-5", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-fable-5"} {
			t.Run(family, func(t *testing.T) {
				if family != "claude-opus-5-5" && family != "claude-sonnet-4-5" {
					testkit.Long(t) // they read the same
				}
				t.Parallel()
				model := startAPI(t, reply{text: "ok"}, reply{text: "ok"})
				s := prepare(t, spec, model.env())
				s.cfg.Model, s.cfg.AppendSystemPrompt = family, "OURS "+string(prompt)
				s.launch()
				s.turn("go")
				first := request(t, model)
				s.turn("on")
				if second := request(t, model); second.System != first.System || second.Tools != first.Tools {
					t.Error("the second request does not begin with the first one")
				}
				theirs, _, _ := strings.Cut(first.System, "OURS ")
				theirs += "\n" + first.Tools + "\n" + first.Messages
				t.Logf("%d tokens of system, %d of tools, %d of messages", (len(first.System)-len(prompt))/4,
					len(first.Tools)/4, len(first.Messages)/4)
				checkInstructions(t, theirs, ours)
			})
		}
	})
}

func checkInstructions(t *testing.T, theirs, ours string) {
	t.Helper()
	for _, c := range contradictions {
		switch {
		case !strings.Contains(theirs, c.theirs):
		case c.ours == "":
			t.Errorf("the request has %q, which has to be kept out of it", c.theirs)
		case !strings.Contains(ours, c.ours):
			t.Errorf("the request has %q, and our prompt does not say %q", c.theirs, c.ours)
		}
	}
	for _, text := range sentence.Split(theirs, -1) {
		known := func(part string) bool { return strings.Contains(text, part) }
		if watched.MatchString(text) && !slices.ContainsFunc(harmless, known) &&
			!slices.ContainsFunc(contradictions, func(c struct{ theirs, ours string }) bool { return known(c.theirs) }) {
			t.Errorf("a new sentence of the CLI's: does our prompt say which holds? %.300q", text)
		}
	}
}

// requestTexts are the parts of a request as a model reads them.
type requestTexts struct{ System, Tools, Messages string }

func request(t *testing.T, model *api) (r requestTexts) {
	t.Helper()
	var body struct {
		System   []struct{ Text string }
		Tools    []struct{ Name, Description string }
		Messages json.RawMessage
	}
	testkit.OK(t, json.Unmarshal([]byte(model.lastRequest()), &body))
	for _, part := range body.System {
		r.System += part.Text + "\n"
	}
	for _, tool := range body.Tools {
		r.Tools += `"` + tool.Name + `": ` + tool.Description + "\n"
	}
	r.Messages = strings.ReplaceAll(string(body.Messages), `\n`, "\n")
	return r
}

// TestLiveRefusedVerdict: a verdict that does not fit its schema costs two requests and ends the turn with the reason;
// so does a text instead of a verdict, which is passed on. A verdict beside a call that writes is accepted.
func TestLiveRefusedVerdict(t *testing.T) {
	inside(t, func(t *testing.T, spec bridge.ClaudeSpec) {
		wrong := reply{tools: []call{{bridge.VerdictTool, map[string]any{"message": 1}}}}
		model := startAPI(t, wrong, wrong, reply{text: "{\"message\":\"m\"}"}, reply{text: "{\"message\":\"m\"}"},
			reply{tools: []call{{"Bash", map[string]any{"command": "printf x > made", "description": "Make it"}},
				{bridge.VerdictTool, map[string]any{"message": "both"}}}})
		s := prepare(t, spec, model.env())
		s.cfg.PermissionMode = bridge.BypassPermissions
		s.cfg.JSONSchema = json.RawMessage(verdictSchema)
		s.launch()
		if turn := s.turn("go"); turn.Category != bridge.CatVerdict || len(model.all()) != 2 ||
			!strings.Contains(turn.Error, "error: Output does not match required schema: /message: must be string") {
			t.Errorf("%d requests, %+v", len(model.all()), turn)
		}
		if turn := s.turn("on"); turn.Text != `{"message":"m"}` || len(model.all()) != 4 {
			t.Errorf("%d requests, %+v", len(model.all()), turn)
		}
		if turn := s.turn("both"); string(turn.Verdict) != `{"message":"both"}` || len(model.all()) != 5 {
			t.Errorf("%d requests, %+v", len(model.all()), turn)
		}
	})
}
