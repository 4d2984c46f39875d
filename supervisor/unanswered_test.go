package supervisor

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// TestUnansweredMessageIsReturned: an Orchestrator's session accepted a message of the human, the API
// refused the turn, and the Arbiter released the Orchestrator before the turn could be tried again.
// No model has read the message: it is returned, and the human is notified.
func TestUnansweredMessageIsReturned(t *testing.T) {
	const word = "turn left"
	refused := bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatUsageLimit, Error: "You've hit your limit"}
	for _, tt := range []struct {
		name  string
		more  func(p *play, id string) // between the failed turn and the release
		turn  bridge.Turn
		want  string
		tells bool
	}{
		{"released while the limit is waited for", func(*play, string) {}, refused, MessageReturned, true},
		{"released while the turn is tried again",
			func(p *play, id string) { p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)}) }, refused,
			MessageReturned, true},
		{"refused twice", func(p *play, id string) {
			p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)})
			p.turn(id, refused)
		}, refused, MessageReturned, true},
		{"answered at the second try", func(p *play, id string) {
			p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(id).AgentRef)})
			p.verdict(id, report("question", "I turned left. And now?", true))
		}, refused, MessageDelivered, false},
		{"answered", func(*play, string) {}, bridge.Turn{Usage: bridge.Usage{Output: 9}, Outcome: bridge.TurnInterrupted}, MessageDelivered, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := begin(t, nil)
			id := p.spawn("work")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.say(word, contract.Steer, id)
			p.turn(id, tt.turn)
			tt.more(p, id)
			before := p.s.Conversation.Ledger
			p.say("let it go")
			p.call("arbiter", "release_orchestrator", `{"id":"orch-1","reason":"enough"}`)
			record := p.ledger()[word]
			testkit.Same(t, "the word is listed as", tt.want, record.Status)
			said := false
			for _, n := range told[contract.Notice](p) {
				said = said || strings.Contains(n.Text, record.ID) && strings.Contains(n.Text, "Orchestrator I")
			}
			testkit.Same(t, "the human is notified", tt.tells, said)
			if after := p.s.Conversation.Ledger; (after.Returned > before.Returned) != tt.tells {
				t.Errorf("ledger (-before +after):\n%s", cmp.Diff(before, after))
			}
		})
	}
}
