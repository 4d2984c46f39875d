package supervisor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// refuseSubagent reports that a limit refused a subagent to an agent.
func (p *play) refuseSubagent(id string, n int) []input.Effect {
	return p.do(input.CallDecided{Behavior: bridge.Deny, By: contract.ByLimit, Reason: "enough",
		Params: bridge.JudgeParams{AgentRef: p.agent(id).AgentRef, Tool: "Agent", ToolUse: fmt.Sprint("refused-", n)}})
}

// TestSubagentsAreShown: the Arbiter sees how many subagents work and have started, of how many.
func TestSubagentsAreShown(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxSubagents, o.MaxSubagentsTotal = 8, 200 })
	one := p.spawn("one")
	for n := range 3 {
		p.happen(one, bridge.SubagentStart{ToolUse: fmt.Sprint(n)})
	}
	p.happen(one, bridge.SubagentStop{ToolUse: "1"})
	p.contains("status", p.call("arbiter", "status", "{}").Text, "2 of 8 subagents at work",
		"started 3 of 200 subagents")
	p.do(input.Resumed{Options: p.s.Options, Salt: "/2"}) // its subagents have ended with it, and stay counted
	if n := len(p.agent(one).Subagents); n != 0 || p.s.Budget.Subagents != 3 {
		t.Errorf("%d at work, %d started", n, p.s.Budget.Subagents)
	}
	p.folds()
}

// TestAStormIsStopped: a turn that asks for subagents in vain, again and again, is stopped once, and the Arbiter
// decides. A subagent that starts in between shows that the turn goes on.
func TestAStormIsStopped(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("one")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	stopped := func(out []input.Effect) (n int) {
		for _, e := range out {
			if i, ok := e.(input.Interrupt); ok && i.Agent.ID == one {
				n++
			}
		}
		return n
	}
	refused, stops := 0, 0
	for ; refused < refusedStopped-1; refused++ {
		stops += stopped(p.refuseSubagent(one, refused))
	}
	p.happen(one, bridge.SubagentStart{ToolUse: "a"})
	for ; refused < 2*refusedStopped-2; refused++ {
		stops += stopped(p.refuseSubagent(one, refused))
	}
	if stops != 0 {
		t.Fatalf("stopped %d times before", stops)
	}
	for range 9 {
		refused++
		stops += stopped(p.refuseSubagent(one, refused))
	}
	if stops != 1 {
		t.Fatalf("stopped %d times", stops)
	}
	p.turn(one, bridge.Turn{Outcome: bridge.TurnInterrupted})
	if text := p.lastSent("arbiter"); !strings.Contains(text, fmt.Sprintf("asked for %d subagents more", refusedStopped)) ||
		!strings.Contains(text, "waits for your message") {
		t.Errorf("the Arbiter reads %q", text)
	}
	p.folds()
}
