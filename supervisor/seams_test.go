package supervisor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestOneInheritance: a steering message to a new Arbiter, sent before its first message was proven to have
// arrived, does not contain the inheritance a second time. If the first message is lost, the message that
// replaces it contains it.
func TestOneInheritance(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.full("arbiter", 86)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.renewNow("the key")
	p.verdict(one, report("question", "Which port?", true))
	p.contains("the first message", p.lastSent("arbiter"), "kind: inheritance", "the key")
	p.say("Take the lower one.", contract.Steer, "arbiter")
	if sent := p.lastSent("arbiter"); !strings.Contains(sent, "Take the lower one.") || strings.Contains(sent, "kind: inheritance") {
		t.Errorf("the word on the way:\n%s", sent)
	}
	p.out = nil
	p.crash("arbiter", 1)
	sends := effects[input.Send](p)
	if len(sends) != 2 || !strings.Contains(sends[0].Params.Content, "kind: inheritance") || strings.Contains(sends[1].Params.Content, "kind: inheritance") {
		t.Fatalf("after a crash that lost both: %+v", sends)
	}
}

// TestNothingAfterTheResult: events between the result and the end of the loop are recorded and not
// published: a replay prints the same lines as the run.
func TestNothingAfterTheResult(t *testing.T) {
	p := begin(t, nil)
	p.do(input.Signal{Signal: "INT"})
	p.finished()
	p.out = nil
	a := p.agent("arbiter").AgentRef
	for _, f := range []input.Body{
		input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r",
			Body: contract.Say{Text: "wait"}}},
		input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r", Body: contract.Halt{}}},
		input.AgentEvent{Event: bridge.Event{AgentRef: a,
			Body: bridge.Notice{Text: "late"}}},
		input.AgentEvent{Event: bridge.Event{AgentRef: a, Body: bridge.Turn{}}},
		input.PermissionAsked{Params: bridge.PermissionParams{AgentRef: a, Request: "p1", Tool: "Bash"}, Behavior: "ask"},
		input.Stopped{Unstopped: []string{"one"}}, input.BridgeLost{Message: "gone"},
	} {
		p.do(f)
	}
	if n := len(effects[input.Emit](p)); n > 0 {
		t.Errorf("told %d events: %+v", n, effects[input.Emit](p))
	}
}

// TestBrokenPipeIsNoRefusal: a process whose pipe broke in a permission request learns that no human and no rule
// refused it.
func TestBrokenPipeIsNoRefusal(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("build it")
	p.do(asked(p, one, "p1", "ask"))
	p.do(input.PermissionWithdrawn{Request: "p1"})
	p.rebirth(one, bridge.DeliveryBegun)
	p.contains("it is told", p.lastSent(one), "in the middle of your last turn", "nobody refused them", "end the turn with your verdict")
	p.do(asked(p, one, "p2", "ask"))
	if len(p.s.Permission.Open) != 1 || p.s.Permission.Open[0].ID != "p2" {
		t.Errorf("it is not asked again: %+v", p.s.Permission.Open)
	}
}

// TestAReleasedAgentEnds: the end of a released agent is reported, even if its process had ended
// before, for a takeover or by a crash.
func TestAReleasedAgentEnds(t *testing.T) {
	for name, c := range map[string]struct {
		before func(p *play)
		after  func(p *play)
	}{
		"none, in a takeover that looks": {func(p *play) { p.take("orch-1", TakeoverInspecting) }, func(*play) {}},
		"a terminal's":                   {func(p *play) { p.take("orch-1", TakeoverOpen) }, func(p *play) { p.ends("orch-1") }},
		"none after a crash":             {func(p *play) { p.dies("orch-1") }, func(*play) {}},
		"its own":                        {func(*play) {}, func(p *play) { p.ends("orch-1") }},
	} {
		p := working(t)
		c.before(p)
		p.out = nil
		p.command(contract.Kill{ID: "orch-1"})
		c.after(p)
		if ends := told[contract.Done](p); len(ends) != 1 || ends[0].Reason != "killed by the human" {
			t.Errorf("%s: %+v", name, ends)
		}
	}
}

// TestWhoWaitsInLine: no document that waits for a successor is lost, but the queue is bounded, and no document
// in it prevents the spawns of other agents.
func TestWhoWaitsInLine(t *testing.T) {
	for _, waiting := range []int{2, RecordsKept + 10} {
		p := begin(t, func(o *runconfig.Options) { o.MaxIterations, o.MaxExchanges = 1000, 1<<30 })
		leave := func(id string) {
			p.call("arbiter", "release_orchestrator", `{"id":"`+id+`","reason":"enough"}`)
			p.ends(id)
		}
		spare := p.spawn("the first") // whose document nothing waits for
		leave(spare)
		another := func() string { // in its place
			if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"x","successor_of":"`+spare+`"}`); a.IsError {
				t.Fatal(a.Text)
			}
			p.spawned(fmt.Sprintf("orch-%d", p.s.Spawned))
			return fmt.Sprintf("orch-%d", p.s.Spawned)
		}
		var line []string
		for range waiting {
			id := another()
			p.verdict(id, report("handoff", "I am full.", true))
			leave(id)
			line = append(line, id)
			spare = another()
			leave(spare)
		}
		for range NamesKept + 5 {
			spare = another()
			leave(spare)
		}
		kept := line[:min(waiting, RecordsKept)]
		testkit.Same(t, fmt.Sprintf("%d wait", waiting), kept, p.s.Handoff.SuccessorQueue)
		for _, id := range kept {
			heir := p.spawn("go on")
			if p.agent(heir).Predecessor != id || !strings.Contains(p.sentTo(heir), "the second half") {
				t.Fatalf("%s succeeds %s with\n%s", heir, p.agent(heir).Predecessor, p.sentTo(heir))
			}
			leave(heir)
		}
		p.spawn("after all of them")
	}
}

// TestHeldStaysHeld: the agents had exchanged too many messages without a human.
func TestHeldStaysHeld(t *testing.T) {
	p, id := oneWorks(t, func(o *runconfig.Options) { o.MaxExchanges = 4 })
	for !p.s.Conversation.Held {
		p.verdict(id, report("question", "And now?", true))
		p.verdict("arbiter", ruling("CONTINUE", "I read that."))
		if p.agent("arbiter").Status == AgentBusy {
			p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "Go on.", "to", id))
		}
	}
	exchanges := p.s.Conversation.Exchanges
	p.stopped()
	p.resume("")
	p.back(bridge.DeliverySeen)
	if !p.s.Conversation.Held || p.s.Conversation.Exchanges != exchanges || p.s.Question.Open == nil {
		t.Errorf("held %v, %d exchanges (%d before), question %v", p.s.Conversation.Held, p.s.Conversation.Exchanges, exchanges, p.s.Question.Open)
	}
	p.say("go on")
	if p.s.Conversation.Held {
		t.Error("a human's word does not release it")
	}
}

// TestThoseLongGone: of agents that ended long ago only the names are kept, and later nothing, except for the
// one whose document waits for a successor.
func TestThoseLongGone(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxIterations, o.MaxExchanges = 1000, 1<<30 })
	leave := func(id string) {
		p.call("arbiter", "release_orchestrator", fmt.Sprintf(`{"id":%q,"reason":"enough"}`, id))
		p.happen(id, bridge.Done{Exit: bridge.Exit{Expected: true}})
	}
	waits := p.spawn("the first")
	p.verdict(waits, report("handoff", "I am full.", true))
	leave(waits)
	p.s.Handoff.SuccessorQueue = nil // the queue no longer names the successor
	for range RecordsKept + 5 {
		leave(p.spawn("one of many"))
	}
	if a := p.agent(waits); !a.Forgotten || a.Document != nil || a.Brief != "" || a.Name == "" || a.SessionID == "" {
		t.Errorf("the first: %+v", a)
	}
	if a := p.agent(fmt.Sprintf("orch-%d", p.s.Spawned)); a.Forgotten || a.Brief == "" {
		t.Errorf("the last: %+v", a)
	}
	if a := p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":"go on","successor_of":%q}`,
		waits)); !a.IsError || !strings.Contains(a.Text, "no longer kept") {
		t.Errorf("its successor: %+v", a)
	}
	again := p.spawn("another")
	p.verdict(again, report("handoff", "I am full.", true))
	leave(again)
	for range NamesKept + 20 {
		p.s.Handoff.SuccessorQueue = []string{again} // no successor is spawned
		params := fmt.Sprintf(`{"prompt":"x","successor_of":%q}`, fmt.Sprintf("orch-%d", p.s.Spawned))
		if a := p.call("arbiter", "spawn_orchestrator", params); a.IsError {
			t.Fatal(a.Text)
		}
		p.spawned(fmt.Sprintf("orch-%d", p.s.Spawned))
		leave(fmt.Sprintf("orch-%d", p.s.Spawned))
	}
	if a := p.agent(again); a.Document == nil || len(p.s.Agents) > NamesKept+3 {
		t.Errorf("%d agents of %d; %+v", len(p.s.Agents), p.s.Spawned, a)
	}
	status := p.call("arbiter", "status", `{}`).Text
	p.contains("the status", status, fmt.Sprintf("and %d before them, gone", p.s.Spawned-GoneShown),
		fmt.Sprintf("orch-%d", p.s.Spawned))
	testkit.Same(t, "are listed", GoneShown, strings.Count(status, "orch-"))
}
