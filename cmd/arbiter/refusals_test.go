package main

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestAHookRefusesTheTask: a hook of the user's settings keeps the task from the Arbiter's model. The human learns what
// the hook said; once it lets the task through, the task reaches the model, once.
func TestAHookRefusesTheTask(t *testing.T) {
	t.Parallel()
	for _, p := range players(t) {
		if !p.real {
			continue // the stand-in runs no hooks of the user's settings
		}
		t.Run(p.name, func(t *testing.T) {
			t.Parallel()
			settings := t.TempDir()
			write(t, `{"hooks":{"UserPromptSubmit":[{"hooks":[{"type":"command",`+
				`"command":"test -e open || { echo no tickets in prompts >&2; exit 2; }"}]}]}}`, settings, "settings.json")
			work := t.TempDir()
			s, model := hiredIn(t, p, `name: refused
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise: {verdict: {decision: COMPLETE, message: It is done., summary: s, reason: r}}
`, work, "--env", "CLAUDE_CONFIG_DIR="+settings, "--task", "Mend TICKET-9")
			await(s, "the error", func(_ string, e contract.Error) bool {
				return e.Category == "hook" && strings.Contains(e.Message, "no tickets in prompts")
			})
			await(s, "the question", func(_ string, q contract.Question) bool {
				return strings.Contains(q.Text, "retry")
			})
			if n := len(model.Requests()); n != 0 {
				t.Errorf("the model was asked %d times", n)
			}
			if had := collect[contract.Delivered](s); len(had) != 0 {
				t.Errorf("delivered to a model that was not asked: %+v", had)
			}
			write(t, "", work, "open")
			s.send(contract.Choose{Option: "retry"})
			s.completes()
			had := 0
			for _, q := range model.Requests() {
				had += strings.Count(q.Incoming, "Mend TICKET-9")
			}
			if had != 1 {
				t.Errorf("the model received the task %d times", had)
			}
			if made := collect[contract.Decision](s); len(made) != 2 { // it insists on its COMPLETE
				t.Errorf("decisions %+v", made)
			}
		})
	}
}

// TestASessionThatTheAPIRefuses: the API refuses what is in the session's history, so it refuses each request. Another
// session goes on with the supervisor's record.
func TestASessionThatTheAPIRefuses(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, model := hired(t, p, `name: refused
actors:
  - name: fresh
    match: {role: arbiter, contains: history is lost}
    otherwise: {verdict: {decision: COMPLETE, message: It is done., summary: s, reason: r}}
  - name: arbiter
    match: {role: arbiter}
    steps:
      - {fault: {status: 400, message: "messages.3: image exceeds 5 MB maximum"}, repeat: forever}
`, nil, "--task", "Look at it")
		s.completes()
		var sessions []string
		for _, b := range collect[contract.Spawn](s) {
			sessions = append(sessions, b.SessionID)
		}
		if len(sessions) != 2 || sessions[0] == sessions[1] {
			t.Errorf("sessions %q", sessions)
		}
		if n := len(model.Requests()); n != 4 {
			t.Errorf("the model was asked %d times: twice on the refused session, twice on the next, which insists", n)
		}
	})
}
