package main

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// nearlyUsed is a play in which the API reports, in the Orchestrator's turn, that a quota window is nearly used
// up.
const nearlyUsed = `name: nearly used
title: The last fifth
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: "Spin one."}}]
        headers: {anthropic-ratelimit-unified-status: allowed, anthropic-ratelimit-unified-5h-utilization: "0.5",
          anthropic-ratelimit-unified-5h-reset: "RESET", anthropic-ratelimit-unified-5h-status: allowed,
          anthropic-ratelimit-unified-representative-claim: five_hour}
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - verdict: {decision: COMPLETE, message: Done., summary: spun, reason: r}
  - name: orchestrator
    match: {role: orchestrator}
    steps:
      - verdict: {kind: progress, message: Half., expects_response: true}
        headers: {anthropic-ratelimit-unified-status: allowed_warning,
          anthropic-ratelimit-unified-5h-utilization: "0.81", anthropic-ratelimit-unified-5h-reset: "RESET",
          anthropic-ratelimit-unified-5h-status: allowed_warning,
          anthropic-ratelimit-unified-5h-surpassed-threshold: "0.8",
          anthropic-ratelimit-unified-representative-claim: five_hour}
`

// TestQuotaOfALogin: what the API reports about a quota window becomes an event, nothing is sent once the
// reserve is reached, and the run continues when the human says so. An API key has no quota windows: this is a
// login, with a scripted API.
func TestQuotaOfALogin(t *testing.T) {
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			who.inside(t)
			who.long(t) // the driver's tests decode the real CLI's reports
			t.Parallel()
			resets := time.Now().Add(time.Hour).Truncate(time.Second)
			play := strings.ReplaceAll(nearlyUsed, "RESET", fmt.Sprint(resets.Unix()))
			s, model := hiredIn(t, who, play, t.TempDir(), "--env", "ANTHROPIC_API_KEY=", "--env",
				"CLAUDE_CODE_OAUTH_TOKEN=sk-ant-rehearsal-0000", "--quota-reserve", "20", "--task", "Spin")
			q := await[contract.Quota](s, "word of the window", func(_ string, b contract.Quota) bool {
				return b.UsedPct > 80
			})
			if q.Window != "five_hour" || q.UsedPct != 81 || q.ResetsAt != resets.UTC().Format(time.RFC3339) {
				t.Errorf("told %+v", q)
			}
			s.awaitNotice("are left for you")
			for _, agent := range []string{"arbiter", "orch-1"} { // running turns end
				await[contract.Turn](s, "the end of a turn", func(id string, _ contract.Turn) bool {
					return id == agent
				})
			}
			asked := len(model.Requests())
			s.send(contract.Continue{})
			if r := s.finish(contract.ExitComplete); !sums(r, "spun") {
				t.Errorf("result %+v", r)
			}
			if n := len(model.Requests()); n != asked+1 {
				t.Errorf("%d requests after the human's word, want 1", n-asked)
			}
		})
	}
}
