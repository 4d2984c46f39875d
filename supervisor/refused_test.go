package supervisor

import (
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// refusedFor makes the API refuse a request of an agent's session.
func (p *play) refusedFor(id string, c bridge.Category) {
	p.t.Helper()
	p.turn(id, bridge.Turn{Outcome: bridge.TurnFailed, Category: c, Error: "400 image exceeds the limit"})
}

// ended reports the end of a process that Arbiter has ended.
func (p *play) ended(id string) {
	p.t.Helper()
	p.happen(id, bridge.Done{SessionID: p.agent(id).SessionID, Exit: bridge.Exit{Code: 0}})
}

// afresh is a session that the API refuses twice, and that another replaces.
func (p *play) afresh(id string, c bridge.Category) {
	p.t.Helper()
	session := p.agent(id).SessionID
	p.refusedFor(id, c)
	if a := p.agent(id); a.SessionID != session || a.Status != AgentBusy {
		p.t.Fatalf("after one refusal %s is %s", id, a.Status)
	}
	p.contains("tried once more", p.lastSent(id), brokenWay)
	p.refusedFor(id, c)
	p.ended(id)
	p.comes(id, bridge.SpawnResult{})
	if p.agent(id).SessionID == session {
		p.t.Fatalf("%s is on the session again that was refused", id)
	}
}

// TestARefusedRequestBeginsAfreshOnce: whatever the API refuses, a session that is refused twice cannot go on. Another
// begins with the record; if that cannot go on either, a human decides, and the rules do not.
func TestARefusedRequestBeginsAfreshOnce(t *testing.T) {
	for _, c := range []bridge.Category{bridge.CatInvalidRequest, bridge.CatRefusal} {
		for _, role := range []Role{RoleArbiter, RoleOrchestrator} {
			t.Run(string(c)+" "+string(role), func(t *testing.T) {
				p, id, _ := openTurn(t, role)
				p.afresh(id, c)
				p.contains("the record", p.lastSent(id), "history is lost")
				p.refusedFor(id, c)
				p.refusedFor(id, c)
				p.ended(id)
				if a := p.agent(id); a.Status != AgentParked {
					t.Errorf("%s is %s", id, a.Status)
				}
				if p.s.Rulings.FallbackReason != "" {
					t.Error("the rules go on over the human who is there")
				}
				if role == RoleArbiter {
					p.contains("the question", last[contract.Question](p).Text, "retry", "cancel")
				}
				p.folds()
			})
		}
	}
}

// TestWhatTheRefusedSessionHadIsGivenAgain: no model has answered it, so it is not only quoted.
func TestWhatTheRefusedSessionHadIsGivenAgain(t *testing.T) {
	p, id, _ := openTurn(t, RoleOrchestrator)
	p.command(contract.Say{Text: "Use port 8080."})
	if got := p.lastSent("arbiter"); !strings.Contains(got, "Use port 8080.") {
		t.Fatalf("the Arbiter was sent %q", got)
	}
	p.afresh("arbiter", bridge.CatInvalidRequest)
	p.contains("the record", p.lastSent("arbiter"), "history is lost")
	p.verdict("arbiter", ruling("CONTINUE", "I know again."))
	p.contains("what nobody answered", p.lastSent("arbiter"), "Use port 8080.", "from: human")
	n := len(told[contract.Delivered](p))
	for _, m := range p.agent("arbiter").Turn {
		p.happen("arbiter", bridge.Delivered{MessageID: m, Proof: "lifecycle"})
	}
	p.speaks("arbiter")
	if now := told[contract.Delivered](p); len(now) != n+1 {
		t.Errorf("%d deliveries were announced, want 1", len(now)-n)
	}
	p.verdict("arbiter", ruling("CONTINUE", "It is passed on."))
	p.works(id, nil, "true")
	p.folds()
}

// TestASessionThatAnsweredIsBegunAfreshAgain: a fresh session that has done a turn is as good as any other. Only too
// many in a short time park the agent.
func TestASessionThatAnsweredIsBegunAfreshAgain(t *testing.T) {
	p, id, _ := openTurn(t, RoleOrchestrator)
	most := runconfig.DefaultRestarts().Intensity
	for n := 1; n < most; n++ {
		p.afresh(id, bridge.CatInvalidRequest)
		p.verdict(id, report("progress", "on the way", false))
	}
	p.refusedFor(id, bridge.CatInvalidRequest)
	p.refusedFor(id, bridge.CatInvalidRequest)
	p.ended(id)
	if a := p.agent(id); a.Status != AgentParked {
		t.Errorf("after %d sessions it is %s", most, a.Status)
	}
	p.folds()
}

// TestAHookThatRefusesTheMessage: nobody has read the message, so it waits, and a human puts the hook right.
func TestAHookThatRefusesTheMessage(t *testing.T) {
	for _, role := range []Role{RoleArbiter, RoleOrchestrator} {
		t.Run(string(role), func(t *testing.T) {
			p, id, _ := openTurn(t, role)
			a := p.agent(id)
			p.happen(
				id,
				bridge.Turn{MessageIDs: a.Turn, Unread: a.Turn, Outcome: bridge.TurnFailed, Category: bridge.CatHook,
					Error: "UserPromptSubmit operation blocked by hook: no tickets in prompts"},
			)
			p.ended(id)
			if a := p.agent(id); a.Status != AgentParked {
				t.Fatalf("%s is %s", id, a.Status)
			}
			e := last[contract.Error](p)
			if e.Category != bridge.CatHook || !strings.Contains(e.Message, "no tickets in prompts") {
				t.Errorf("error %+v", e)
			}
			if role == RoleOrchestrator {
				return
			}
			if p.s.Rulings.FallbackReason != "" {
				t.Error("the rules go on over the human who is there")
			}
			p.mustCommand(contract.Choose{Option: "retry"})
			n := len(p.sends(id))
			p.comes(id, bridge.SpawnResult{Resumed: true})
			if len(p.sends(id)) == n {
				t.Error("the message is not sent again")
			}
			p.folds()
		})
	}
}

// TestTheWindowOfAModelIsLearned: a model behind a gateway takes less than the CLI assumes. The next agent of that
// model starts with this limit; an agent of another model does not.
func TestTheWindowOfAModelIsLearned(t *testing.T) {
	p, id, _ := openTurn(t, RoleOrchestrator)
	before := p.s
	tooLong := bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatPromptTooLong,
		Error: "140000 tokens > 131072 maximum", Model: "far-model", Window: 131_072}
	p.turn(id, tooLong)
	p.contains("the notice", last[contract.Notice](p).Text, "far-model takes at most 131072 tokens")
	if kept := effects[input.KeepWindow](p); len(kept) != 1 ||
		kept[0] != (input.KeepWindow{Model: "far-model", Tokens: 131_072}) {
		t.Errorf("kept for later runs: %+v", kept)
	}
	next := p.spawn("go on")
	caps := p.spawns(next)[0].Config.ContextCaps
	if caps["far-model"] != 131_072 || len(caps) != 1 {
		t.Errorf("the next agent's limits are %v", caps)
	}
	if len(before.Options.ContextTokensFor) != 0 {
		t.Error("the state before has changed")
	}
	tooLong.Window = 200_000 // larger than what is known
	p.turn(next, tooLong)
	if got := p.s.Options.ContextTokensFor["far-model"]; got != 131_072 {
		t.Errorf("%d tokens", got)
	}
	p.folds()
}
