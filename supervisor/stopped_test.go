package supervisor

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// stoppedTool is the CLI's report about a tool call that an interrupt ended.
func stoppedTool() *bridge.FailedTool {
	return &bridge.FailedTool{Tool: "Bash", Attempted: "make", Command: "make",
		Message: "The user doesn't want to proceed with this tool use. The tool use was rejected."}
}

// asks ends an Orchestrator's turn with a question.
func (p *play) asks(id string, t bridge.Turn) {
	p.t.Helper()
	raw, err := json.Marshal(report("question", "How shall I go on?", true))
	if err != nil {
		p.t.Fatal(err)
	}
	t.Verdict = raw
	p.turn(id, t)
}

// TestAHumansStopIsNoFailure: when a human stops an Orchestrator in any way, the interrupted tool call
// does not count as a failure of the agent, however often it happens.
func TestAHumansStopIsNoFailure(t *testing.T) {
	interrupted := bridge.Turn{Outcome: bridge.TurnInterrupted, Tools: 1, Failed: stoppedTool()}
	for name, stop := range map[string]func(p *play, id string){
		"a word that stops": func(p *play, id string) {
			p.say("Not like this.", contract.Stop, id)
			p.turn(id, interrupted)
		},
		"interrupt": func(p *play, id string) {
			p.mustCommand(contract.Interrupt{ID: id})
			p.turn(id, interrupted)
			p.settles()
			p.verdict("arbiter", ruling("CONTINUE", "Go on.", "to", id))
		},
		"halt": func(p *play, id string) {
			p.mustCommand(contract.Halt{})
			for _, agent := range []string{id, "arbiter"} {
				if turn := p.agent(agent).Turn; len(turn) > 0 {
					p.happen(agent, bridge.Turn{MessageIDs: turn, Outcome: bridge.TurnLost, Tools: 1, Failed: stoppedTool()})
				}
				p.happen(agent, bridge.Done{SessionID: p.agent(agent).SessionID})
			}
			p.mustCommand(contract.Continue{})
			p.do(input.Spawned{Agent: p.agent("arbiter").AgentRef, Result: bridge.SpawnResult{Window: 200_000, Resumed: true}})
			p.begun(id)
		},
		"takeover": func(p *play, id string) {
			p.mustCommand(contract.Attach{ID: id})
			p.happen(id, bridge.Turn{MessageIDs: p.agent(id).Turn, Outcome: bridge.TurnInterrupted, Tools: 1, Failed: stoppedTool()})
			p.happen(id, bridge.Done{SessionID: p.agent(id).SessionID})
			p.mustCommand(contract.Detach{ID: id})
			p.begun(id)
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.MaxFailures = 3 })
			id := p.spawn("work")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			for n := range 3 {
				p.proven(id)
				stop(p, id)
				p.settles()
				if n < 2 {
					p.asks(id, bridge.Turn{})
				} else {
					p.rambles(id, "I was stopped.") // nor if it says nothing
				}
				p.settles()
				for p.agent("arbiter").Status == AgentBusy {
					p.verdict("arbiter", ruling("RETRY", "Go on.", "to", id))
					p.settles()
				}
				if p.s.Ending != nil {
					t.Fatalf("the run ended: %+v", p.s.Ending)
				}
			}
			if p.s.Task.Failures+p.s.Task.TotalFailures > 0 || p.s.Task.LastError != nil {
				t.Errorf("%d failures in a row, %d in all, %+v", p.s.Task.Failures, p.s.Task.TotalFailures, p.s.Task.LastError)
			}
			for _, e := range told[contract.Error](p) {
				if e.Category == bridge.CatTool {
					t.Errorf("error: %+v", e)
				}
			}
			p.folds()
		})
	}
}

// begun restarts the process of an agent that was stopped, in a turn that had begun.
func (p *play) begun(id string) {
	p.t.Helper()
	if key := RestartPrefix + RunOf(p.agent(id).AgentRef); p.agent(id).Status == AgentDown {
		p.do(input.Timer{Key: key})
	}
	a := p.agent(id)
	r := bridge.SpawnResult{Window: 200_000, Resumed: true}
	for _, m := range a.Turn {
		r.Deliveries = append(r.Deliveries, bridge.DeliveryStatus{MessageID: m, Status: bridge.DeliveryBegun})
	}
	p.do(input.Spawned{Agent: a.AgentRef, Result: r})
}

// TestAQuestionIsNoAlarm: the decider knows of the last failed tool call, but the run does not call
// the human because of it: the agent did not stop there, and waits for its answer.
func TestAQuestionIsNoAlarm(t *testing.T) {
	for _, decider := range []string{runconfig.DeciderSession, runconfig.DeciderStateless} {
		p, id := stumblesOnce(t, decider)
		if p.s.Task.Failures != 1 || p.s.Task.LastError == nil || p.agent(id).Standing != AgentWaiting {
			t.Errorf("%s: %d failures, %+v", decider, p.s.Task.Failures, p.s.Task.LastError)
		}
		if e := told[contract.Error](p); len(e)+len(p.s.Question.Recovery.Options) > 0 || p.s.Question.Recovery.Agent != "" {
			t.Errorf("%s: told %+v, offered of %q %v", decider, e, p.s.Question.Recovery.Agent, p.s.Question.Recovery.Options)
		}
		p.folds()
	}
}

// TestAnOfferEndsWithTheTrouble: recovery options cannot be chosen, and are not shown, once the failure was
// solved in another way.
func TestAnOfferEndsWithTheTrouble(t *testing.T) {
	for name, over := range map[string]func(p *play, id string){
		"it tries again":         func(p *play, id string) { p.verdict("arbiter", ruling("RETRY", "Again.", "to", id)) },
		"it goes on":             func(p *play, id string) { p.verdict("arbiter", ruling("CONTINUE", "Without it.", "to", id)) },
		"another is summoned":    func(p *play, id string) { p.verdict("arbiter", ruling("SELECT_MODE", "You.", "mode", "tester")) },
		"it is let go":           func(p *play, id string) { p.mustCommand(contract.Kill{ID: id}) },
		"the human instructs it": func(p *play, id string) { p.say("Leave it out.", contract.Note, id) },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, nil)
			id := p.spawn("work")
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.breaksOff(id)
			if !slices.Contains(p.s.Question.Recovery.Options, "retry") {
				t.Fatalf("offered: %v", p.s.Question.Recovery.Options)
			}
			over(p, id)
			if len(p.s.Question.Recovery.Options) > 0 || p.s.Question.Recovery.Agent != "" {
				t.Errorf("still offered, of %s: %v", p.s.Question.Recovery.Agent, p.s.Question.Recovery.Options)
			}
			p.folds()
		})
	}
}

// TestAnUnreadMessageIsSentAgain: an interrupt came before the model had read a message that was proven to be
// delivered. It is sent again, in the turn of the message that stopped the first turn.
func TestAnUnreadMessageIsSentAgain(t *testing.T) {
	for _, stop := range []bool{false, true} {
		p := begin(t, nil)
		p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which colour?"))
		p.say("Green.")
		first := p.agent("arbiter").Turn[0]
		p.proven("arbiter")
		if stop {
			p.say("No, blue.", contract.Stop)
		} else {
			p.mustCommand(contract.Interrupt{})
		}
		p.out = nil
		p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnInterrupted, Unread: []string{first}})
		sends := effects[input.Send](p)
		if stop { // first the message that stopped the turn, and then, in the same turn, the older one
			if len(sends) != 2 || !strings.Contains(sends[0].Params.Content, "No, blue.") || sends[0].Params.Steer || !sends[1].Params.Steer {
				t.Fatalf("sent: %+v", sends)
			}
			p.contains("the older word", sends[1].Params.Content, "Sent before the message that you read last")
			sends = sends[1:]
		}
		if len(sends) != 1 || !strings.Contains(sends[0].Params.Content, "Green.") || sends[0].Params.MessageID == first || sends[0].Params.Steer != stop {
			t.Fatalf("stop %v: sent again: %+v", stop, sends)
		}
		if p.s.Question.Open != nil {
			t.Errorf("the human is asked: %+v", p.s.Question.Open)
		}
		p.contains("the notice", last[contract.Notice](p).Text, "sent again")
		if n := len(told[contract.Delivered](p)); n != 0 {
			t.Errorf("%d more are reported as delivered", n)
		}
		p.verdict("arbiter", ruling("CONTINUE", "So be it."))
		p.folds()
	}
}
