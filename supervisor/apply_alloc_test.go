package supervisor

import (
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestThoseGoneCostNothing: an input about one agent copies only that agent, not all agents that have ended;
// one more message of the conversation copies no other message.
func TestThoseGoneCostNothing(t *testing.T) {
	s, _ := Apply(State{}, input.Input{At: time.Unix(1, 0),
		Body: input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "d", Task: "t"}.WithDefaults()}})
	for i := range NamesKept {
		ref := bridge.AgentRef{ID: fmt.Sprintf("orch-%d", i+1), Generation: 1}
		s.Agents = append(s.Agents, &Agent{AgentIdentity: AgentIdentity{AgentRef: ref},
			AgentProcess: AgentProcess{Status: AgentEnded, Dismissed: true}})
	}
	for range RecentMessagesKept {
		s.Conversation.RecentMessages = append(s.Conversation.RecentMessages, &contract.Message{})
	}
	in := input.Input{At: time.Unix(2, 0),
		Body: input.AgentEvent{Event: bridge.Event{AgentRef: s.Agents[0].AgentRef, Body: bridge.ToolUse{Tool: "Read"}}}}
	const rounds = 1000
	perRound := func(f func()) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		for range rounds {
			f()
		}
		runtime.ReadMemStats(&after)
		return (after.TotalAlloc - before.TotalAlloc) / rounds
	}
	if n := perRound(func() { Apply(s, in) }); n > 8<<10 {
		t.Errorf("a tool call copies %d bytes", n)
	}
	if n := perRound(func() { (&step{State: s}).tellHuman(KindMessage, "a word") }); n > 8<<10 {
		t.Errorf("a word copies %d bytes", n)
	}
}
