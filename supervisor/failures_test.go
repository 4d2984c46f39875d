package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// stumblesOnce spawns a developer, by the Arbiter or by the rules, whose tool fails.
func stumblesOnce(t *testing.T, name string) (p *play, id string) {
	t.Helper()
	p, id = worksOnce(t, name)
	p.stumble(id)
	return p, id
}

// worksOnce spawns a developer, by the Arbiter or by another decider.
func worksOnce(t *testing.T, name string) (p *play, id string) {
	t.Helper()
	p = begin(t, func(o *runconfig.Options) { o.Decider = name })
	if name == runconfig.DeciderSession {
		p.verdict("arbiter", ruling("SELECT_MODE", "Build it.", "mode", "developer"))
	} else {
		q := effects[input.Decide](p)[0].Question
		q.Decision = decider.Decision{Decision: "SELECT_MODE", Mode: "developer", Reason: "r", Source: decider.ByModel}
		p.do(input.Decided(q))
	}
	return p, p.working()
}

// TestAFailedExecutionIsAPointOfDecision: every decider decides about it with an input that reports the
// failure.
func TestAFailedExecutionIsAPointOfDecision(t *testing.T) {
	told := func(t *testing.T, f input.Decided, about string) {
		t.Helper()
		var in decider.SelectAgentInput
		testkit.OK(t, json.Unmarshal(f.Input, &in))
		e := in.LastError
		testkit.Check(t, f.Point == decider.PointSelect && f.About == about && e != nil && e.Tool == "Bash" &&
			e.Category == decider.ToolFailure && e.Attempted == "npm install jsonwebtoken" &&
			len(e.RecoveryOptions) != 0, "decided at %s about %s on %+v", f.Point, f.About, e)
	}
	t.Run("session", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderSession)
		p.contains("what the Arbiter reads", p.lastSent("arbiter"), "It does not install.", "npm install jsonwebtoken",
			"retry:")
		p.verdict("arbiter", ruling("RETRY", "Mend it first.", "to", id))
		told(t, input.Decided(lastEffect[input.Note](p).Decision), id)
		d := last[contract.Decision](p)
		testkit.Check(t, d.Point == "select" && d.To == id, "decision %+v", d)
	})
	t.Run("another decider", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderStateless)
		testkit.Same(t, "the Arbiter was asked", AgentReady, p.agent("arbiter").Status)
		told(t, p.decides(decider.Rules{}), id)
		d := last[contract.Decision](p)
		testkit.Check(t, d.Decision == "RETRY" && d.To == id && d.Source == "rules", "decision %+v", d)
		p.contains("the retry", p.lastSent(id), "kind: answer", "exit code 1") // not about a process that ended
		p.verdict(id, report("done", "it installs", true))
		p.decides(decider.Rules{})
	})
	t.Run("another agent", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderStateless)
		q := effects[input.Decide](p)[1].Question
		q.Decision = decider.Decision{Decision: "SELECT_MODE", Mode: "reviewer", Reason: "r", Source: decider.ByModel}
		p.do(input.Decided(q))
		a := p.agent(id)
		testkit.Check(t, !a.Alive(), "who failed is %s and %s", a.Status, a.Standing)
		testkit.Same(t, "a works", "reviewer", p.agent(p.working()).Mode)
	})
	t.Run("the Arbiter is down", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderSession)
		p.crash("arbiter", 5)
		d := last[contract.Decision](p)
		testkit.Check(t, d.Decision == "RETRY" && d.To == id && d.Source == "fallback" &&
			strings.Contains(strings.Join(d.Warnings, " "), "parked"), "decision %+v", d)
	})
	t.Run("the Arbiter rules nothing", func(t *testing.T) {
		p, id := stumblesOnce(t, runconfig.DeciderSession)
		p.rambles("arbiter", "hm")
		d := last[contract.Decision](p)
		testkit.Check(t, d.Decision == "RETRY" && d.To == id && d.Source == "fallback", "decision %+v", d)
	})
}

// TestAHumanRulesOnAFailure: if a human rules before the decider has, the decider is not asked again.
func TestAHumanRulesOnAFailure(t *testing.T) {
	p, id := worksOnce(t, runconfig.DeciderStateless)
	p.breaksOff(id)
	asked := effects[input.Decide](p)
	p.mustCommand(contract.Choose{Option: "retry"})
	late := asked[len(asked)-1].Question
	late.Decision = decider.Decision{Decision: "SELECT_MODE", Mode: "reviewer", Reason: "r", Source: decider.ByModel}
	p.do(input.Decided(late))
	n := len(effects[input.Decide](p))
	testkit.Check(t, n == len(asked) && p.s.Rulings.DeciderRequest == nil && p.working() == id && len(p.s.Agents) == 2,
		"%d questions of %d, %s works", n, len(asked), p.working())
	p.verdict(id, report("done", "it installs", true))
	p.decides(decider.Rules{})
}

// TestTheRulesTakeOverAtAFailure: the rules rule on a failure that the Arbiter had already read about.
func TestTheRulesTakeOverAtAFailure(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.HumanPresent = false })
	babbles := func() { p.rambles("arbiter", "hm") }
	babbles()
	p.verdict(p.working(), report("handoff", "a plan", true))
	babbles()
	id := p.working()
	p.stumble(id)
	babbles()
	d := last[contract.Decision](p)
	testkit.Check(t, p.s.Rulings.FallbackReason != "" && d.Decision == "RETRY" && d.To == id && d.Point == "select",
		"fallback mode %q, decision %+v", p.s.Rulings.FallbackReason, d)
	for n := 0; p.s.Ending == nil && n < 8; n++ {
		p.verdict(p.working(), report("done", "it is done", true))
	}
	r, _ := p.finished()
	p.contains("the result", r.Summary, "The rules led here", "no valid verdict 4 times")
}

// TestSeveralAreJudgedTogether: the results of several agents are one question, asked once no agent works
// any more, with one answer.
func TestSeveralAreJudgedTogether(t *testing.T) {
	for _, name := range []string{runconfig.DeciderStateless, runconfig.DeciderSession} {
		p, one, two := twoWork(t, nil)
		if name == runconfig.DeciderSession {
			p.crash("arbiter", 5) // the rules decide at once
		} else {
			p.s.Options.Decider = name
		}
		p.verdict(one, report("done", "this is done", true))
		testkit.Need(t, p.s.Rulings.DeciderRequest == nil && p.s.Rulings.Decisions == 1, "%s: judged while %s works",
			name, two)
		p.verdict(two, report("done", "that is done", true))
		if name == runconfig.DeciderStateless {
			p.decides(decider.Rules{})
		}
		p.settles()
		if n := len(p.s.Agents); n != 4 || p.agent("orch-3").Mode != "tester" || p.s.Rulings.DeciderRequest != nil ||
			p.s.Rulings.Decisions != 2 {
			t.Errorf("%s: %d agents, %d decisions, %+v is asked", name, n, p.s.Rulings.Decisions, p.s.Rulings.DeciderRequest)
		}
	}
}

// stoppedTool is the CLI's report about a tool call that an interrupt ended.
func stoppedTool() *bridge.FailedTool {
	return &bridge.FailedTool{Tool: "Bash", Attempted: "make", Command: "make",
		Message: "The user doesn't want to proceed with this tool use. The tool use was rejected."}
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
			p.comes("arbiter", bridge.SpawnResult{Resumed: true})
			p.comes(id, p.remembers(id, bridge.DeliveryBegun))
		},
		"takeover": func(p *play, id string) {
			p.mustCommand(contract.Attach{ID: id})
			interrupted := interrupted
			interrupted.MessageIDs = p.agent(id).Turn
			p.happen(id, interrupted)
			p.ends(id)
			p.mustCommand(contract.Detach{ID: id})
			p.comes(id, p.remembers(id, bridge.DeliveryBegun))
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, id := oneWorks(t, func(o *runconfig.Options) { o.MaxFailures = 3 })
			for n := range 3 {
				p.proven(id)
				stop(p, id)
				p.settles()
				if n < 2 {
					p.verdict(id, report("question", "How shall I go on?", true))
				} else {
					p.rambles(id, "I was stopped.") // nor if it says nothing
				}
				p.settles()
				for p.agent("arbiter").Status == AgentBusy {
					p.verdict("arbiter", ruling("RETRY", "Go on.", "to", id))
					p.settles()
				}
				p.goesOn("the run ended")
			}
			testkit.Check(t, p.s.Task.Failures+p.s.Task.TotalFailures <= 0 && p.s.Task.LastError == nil,
				"%d failures in a row, %d in all, %+v", p.s.Task.Failures, p.s.Task.TotalFailures, p.s.Task.LastError)
			for _, e := range told[contract.Error](p) {
				testkit.Check(t, e.Category != bridge.CatTool, "error: %+v", e)
			}
		})
	}
}

// TestAQuestionIsNoAlarm: the decider knows of the last failed tool call, but the run does not call
// the human because of it: the agent did not stop there, and waits for its answer.
func TestAQuestionIsNoAlarm(t *testing.T) {
	for _, decider := range []string{runconfig.DeciderSession, runconfig.DeciderStateless} {
		p, id := stumblesOnce(t, decider)
		testkit.Check(t, p.s.Task.Failures == 1 && p.s.Task.LastError != nil && p.agent(id).Standing == AgentWaiting,
			"%s: %d failures, %+v", decider, p.s.Task.Failures, p.s.Task.LastError)
		if e := told[contract.Error](p); len(e)+len(p.s.Question.Recovery.Options) > 0 || p.s.Question.Recovery.Agent != "" {
			t.Errorf("%s: told %+v, offered of %q %v", decider, e, p.s.Question.Recovery.Agent, p.s.Question.Recovery.Options)
		}
	}
}

// TestAnOfferEndsWithTheTrouble: recovery options cannot be chosen, and are not shown, once the failure was
// solved in another way.
func TestAnOfferEndsWithTheTrouble(t *testing.T) {
	for name, over := range map[string]func(p *play, id string){
		"it tries again": func(p *play, id string) { p.verdict("arbiter", ruling("RETRY", "Again.", "to", id)) },
		"it goes on":     func(p *play, id string) { p.verdict("arbiter", ruling("CONTINUE", "Go on.", "to", id)) },
		"another is summoned": func(p *play, _ string) {
			p.verdict("arbiter", ruling("SELECT_MODE", "You.", "mode", "tester"))
		},
		"a successor is summoned": func(p *play, id string) {
			p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":"go on","successor_of":%q}`, id))
		},
		"it does not come back": func(p *play, id string) {
			p.crash(id, 5)
			p.stopped()
			p.resume("")
			testkit.Empty(t, "what waits", InboxOf(&p.s))
		},
		"its next turn is done": func(p *play, id string) { // which nobody had to ask for
			offered := p.s.Question.Recovery
			p.say("Leave it out.", contract.Note, id)
			p.s.Question.Recovery = offered
			p.verdict(id, report("progress", "It builds.", false))
		},
		"the task is reset": func(p *play, id string) {
			p.crash(id, 5)
			p.mustCommand(contract.Reset{})
		},
		"the step is skipped": func(p *play, _ string) {
			p.mustCommand(contract.SetPlan{Steps: []contract.Step{{Text: "one", Status: contract.StepPending}}})
			p.mustCommand(contract.SkipStep{})
		},
		"it is retried":          func(p *play, _ string) { p.mustCommand(contract.RetryLast{}) },
		"the human summons":      func(p *play, _ string) { p.mustCommand(contract.ForceAgent{Mode: "tester"}) },
		"it is let go":           func(p *play, id string) { p.mustCommand(contract.Kill{ID: id}) },
		"the human instructs it": func(p *play, id string) { p.say("Leave it out.", contract.Note, id) },
	} {
		t.Run(name, func(t *testing.T) {
			p, id := oneWorks(t, nil)
			p.breaksOff(id)
			testkit.Need(t, slices.Contains(p.s.Question.Recovery.Options, "retry"), "offered: %v",
				p.s.Question.Recovery.Options)
			over(p, id)
			testkit.Check(t, len(p.s.Question.Recovery.Options) == 0 && p.s.Question.Recovery.Agent == "",
				"still offered, of %s: %v", p.s.Question.Recovery.Agent, p.s.Question.Recovery.Options)
		})
	}
}

// TestAResumeEndsOffersAboutTheProgram: a resume starts the Arbiter and the bridges again, which ends what was offered
// about them. A choice about an Orchestrator stays.
func TestAResumeEndsOffersAboutTheProgram(t *testing.T) {
	for _, agent := range []string{contract.Arbiter, contract.Supervisor, "orch-1"} {
		p, _ := oneWorks(t, nil)
		p.s.Question.Recovery = QuestionRecovery{Options: []string{"retry"}, Agent: agent}
		p.stopped()
		p.resume("")
		testkit.Same(t, "offered about "+agent, agent == "orch-1", len(p.s.Question.Recovery.Options) > 0)
	}
}

// TestAnOfferOutlastsOtherErrors: an error about which nothing can be chosen takes no choice away.
func TestAnOfferOutlastsOtherErrors(t *testing.T) {
	p, id := oneWorks(t, nil)
	p.crash(id, 5)
	p.do(input.Configured{Agent: p.agent("arbiter").AgentRef, Model: "x", Failed: "no such model"})
	waits := InboxOf(&p.s)
	testkit.Need(t, len(waits) == 1, "waits: %+v", waits)
	p.contains("what waits", waits[0].Text, "is parked")
	p.mustCommand(contract.Choose{Option: "retry"})
	testkit.Same(t, id, AgentStarting, p.agent(id).Status)
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
			testkit.Need(t, len(sends) == 2 && strings.Contains(sends[0].Params.Content, "No, blue.") &&
				!sends[0].Params.Steer && sends[1].Params.Steer, "sent: %+v", sends)
			p.contains("the older word", sends[1].Params.Content, "Sent before the message that you read last")
			sends = sends[1:]
		}
		testkit.Need(t, len(sends) == 1 && strings.Contains(sends[0].Params.Content, "Green.") &&
			sends[0].Params.MessageID != first && sends[0].Params.Steer == stop, "stop %v: sent again: %+v", stop,
			sends)
		testkit.Check(t, p.s.Question.Open == nil, "the human is asked: %+v", p.s.Question.Open)
		p.contains("the notice", last[contract.Notice](p).Text, "sent again")
		testkit.Same(t, "more are reported as delivered", 0, len(told[contract.Delivered](p)))
		p.verdict("arbiter", ruling("CONTINUE", "So be it."))
	}
}

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
	a := p.agent(id)
	testkit.Need(p.t, a.SessionID == session && a.Status == AgentBusy, "after one refusal %s is %s", id, a.Status)
	p.contains("tried once more", p.lastSent(id), brokenWay)
	p.refusedFor(id, c)
	p.ended(id)
	p.comes(id, bridge.SpawnResult{})
	testkit.Need(p.t, p.agent(id).SessionID != session, "%s is on the session again that was refused", id)
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
				testkit.Same(t, id, AgentParked, p.agent(id).Status)
				testkit.Same(t, "the rules go on over the human who is there", "", p.s.Rulings.FallbackReason)
				if role == RoleArbiter {
					p.contains("the question", last[contract.Question](p).Text, "retry", "cancel")
				}
			})
		}
	}
}

// TestWhatTheRefusedSessionHadIsGivenAgain: no model has answered it, so it is not only quoted.
func TestWhatTheRefusedSessionHadIsGivenAgain(t *testing.T) {
	p, id, _ := openTurn(t, RoleOrchestrator)
	p.command(contract.Say{Text: "Use port 8080."})
	p.contains("the Arbiter was sent", p.lastSent("arbiter"), "Use port 8080.")
	p.afresh("arbiter", bridge.CatInvalidRequest)
	p.contains("the record, and what nobody answered", p.lastSent("arbiter"), "history is lost", "| end⟧\n",
		"Use port 8080.", "from: human")
	p.call(id, "report_progress", `{"message":"half way"}`)
	p.dies("arbiter")
	p.comes("arbiter", bridge.SpawnResult{Resumed: false})
	testkit.Same(t, "records after another death", 1, strings.Count(p.lastSent("arbiter"), "history is lost"))
	p.contains("what nobody answered", p.lastSent("arbiter"), "Use port 8080.", "from: human")
	p.proven("arbiter")
	p.speaks("arbiter")
	now := testkit.Only(told[contract.Delivered](p), func(d contract.Delivered) bool { return d.From == contract.Human })
	testkit.Same(t, "deliveries announced of what the human said", 2, len(now)) // with the task
	p.verdict("arbiter", ruling("CONTINUE", "It is passed on."))
	p.works(id, nil, "true")
	p.say("And?")
	p.contains("what it had said meanwhile", p.lastSent("arbiter"), "And?", "half way")
	p.verdict("arbiter", ruling("CONTINUE", "Good."))
	testkit.Empty(t, "the work log", p.s.Conversation.WorkLog)
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
	testkit.Same(t, fmt.Sprintf("after %d sessions it", most), AgentParked, p.agent(id).Status)
}

// TestAHookThatRefusesTheMessage: nobody has read the message, so it waits, and a human puts the hook right.
func TestAHookThatRefusesTheMessage(t *testing.T) {
	for _, role := range []Role{RoleArbiter, RoleOrchestrator} {
		t.Run(string(role), func(t *testing.T) {
			p, id, _ := openTurn(t, role)
			a := p.agent(id)
			p.happen(id, bridge.Turn{MessageIDs: a.Turn, Unread: a.Turn, Outcome: bridge.TurnFailed,
				Category: bridge.CatHook, Error: "UserPromptSubmit operation blocked by hook: no tickets in prompts"})
			p.ended(id)
			testkit.Same(t, id, AgentParked, p.agent(id).Status)
			e := last[contract.Error](p)
			testkit.Check(t, e.Category == bridge.CatHook && strings.Contains(e.Message, "no tickets in prompts"),
				"error %+v", e)
			if role == RoleOrchestrator {
				return
			}
			testkit.Same(t, "the rules go on over the human who is there", "", p.s.Rulings.FallbackReason)
			p.mustCommand(contract.Choose{Option: "retry"})
			n := len(p.sends(id))
			p.comes(id, bridge.SpawnResult{Resumed: true})
			testkit.Check(t, len(p.sends(id)) != n, "the message is not sent again")
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
	kept := effects[input.KeepWindow](p)
	testkit.Check(t, len(kept) == 1 && kept[0] == (input.KeepWindow{Model: "far-model", Tokens: 131_072}),
		"kept for later runs: %+v", kept)
	next := p.spawn("go on")
	caps := p.spawns(next)[0].Config.ContextCaps
	testkit.Check(t, caps["far-model"] == 131_072 && len(caps) == 1, "the next agent's limits are %v", caps)
	testkit.Same(t, "the state before has changed", 0, len(before.Options.ContextTokensFor))
	tooLong.Window = 200_000 // larger than what is known
	p.turn(next, tooLong)
	testkit.Same(t, "tokens", 131_072, p.s.Options.ContextTokensFor["far-model"])
}
