package main

import (
	"context"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// overspent is a play whose first turn costs more than the run's limit.
const overspent = `name: overspent
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - verdict: {decision: ADDRESS_HUMAN, message: Is it well?, reason: r}
      - expect: all is woven
        verdict: {decision: COMPLETE, message: It is done., summary: It was spun., reason: r}
`

const overspentLimit = "0.0123"

// chooses selects an option of a question as a person does on each frontend.
func chooses(t *testing.T, f frontendDriver, option string) {
	t.Helper()
	switch f := f.(type) {
	case *scripted:
		f.run.send(contract.Choose{Option: option})
	case *onPlain:
		f.pane.Type("/choose " + option + "\n")
	case *onScreen:
		f.pane.await("may be spent")
		f.pane.Type("/choose " + option + "\n")
	case *onPage:
		f.user.sends(contract.Choose{Option: option})
	case *onEditor:
		f.editor.prompt(option)
	default:
		t.Fatalf("no way to choose with %T", f)
	}
}

// TestLimitQuestionOnEveryFrontend: when a cost limit is reached, each frontend asks the human, and the run
// continues when the limit is raised there.
func TestLimitQuestionOnEveryFrontend(t *testing.T) {
	testkit.Long(t)
	for _, who := range players(t) {
		for by := range frontendDrivers {
			t.Run(who.name+" by "+by, func(t *testing.T) {
				who.long(t)
				t.Parallel()
				_, f := frontendDrivers[by](t, who, overspent, "--max-cost", overspentLimit)
				f.await("the question about the limit", func(l contract.Line) bool {
					q, ok := l.Body.(contract.Question)
					return ok && q.Question == supervisor.LimitQuestion && strings.Join(q.Options, "|") == "raise|finish"
				})
				sendMessageAs(f, "arbiter", "human", "Is it well?")
				chooses(t, f, "raise")
				f.await("the raised limit", func(l contract.Line) bool {
					n, ok := l.Body.(contract.Notice)
					return ok && strings.Contains(n.Text, "no longer reached")
				})
				f.say("", "", "all is woven")
				lines := f.end()
				if r, ok := lines[len(lines)-1].Body.(contract.Result); !ok || !sums(r, "It was spun.") {
					t.Errorf("the end: %+v", lines[len(lines)-1])
				}
			})
		}
	}
}

// TestLimitQuestionOverMCP: a model cannot raise a limit. The human is asked with a form, and chooses.
func TestLimitQuestionOverMCP(t *testing.T) {
	for _, option := range []string{"raise", "finish"} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			h := newTestHome(t, players(t)[0])
			var forms []string
			choose := func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				forms = append(forms, r.Params.Message)
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"decision": option}}, nil
			}
			args := append([]string{"--", "--max-cost", overspentLimit}, h.rehearsing(scenarioFile(t, overspent))...)
			client := h.serves(nil, args...)
			v := client.sees("start_run", map[string]any{"task": "Weave"})
			v = client.waitsFor(v, "limit", new([]string))
			answer := map[string]any{"run": v.Run, "choice": option}
			said := textOfResult(client.call("answer", answer, true))
			if !strings.Contains(said, "not for you") || !strings.Contains(said, "arbiter choose") {
				t.Errorf("the model reads: %s", said)
			}
			u := h.serves(&mcp.ClientOptions{ElicitationHandler: choose}, args...)
			u.call("answer", answer, false)
			want := map[string]string{"raise": contract.StatusComplete, "finish": contract.StatusLimit}[option]
			if option == "raise" {
				u.call("answer", map[string]any{"run": v.Run, "text": "all is woven"}, false)
			}
			v = u.waitsFor(v, want, new([]string))
			if len(forms) == 0 || !strings.Contains(forms[0], "may be spent (--max-cost)") {
				t.Errorf("forms: %q", forms)
			}
		})
	}
}
