package supervisor

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

func TestHowRunsEnd(t *testing.T) {
	for _, c := range []struct {
		name   string
		change func(*runconfig.Options)
		act    func(p *play)
		status string
		exit   contract.Exit
	}{
		{"cancel", nil, func(p *play) { p.command(contract.Cancel{}) }, "cancelled", contract.ExitFailed},
		{"SIGINT", nil, func(p *play) { p.do(input.Signal{Signal: "INT"}) }, "interrupted", contract.ExitInterrupted},
		{"SIGTERM", nil, func(p *play) { p.do(input.Signal{Signal: "TERM"}) }, "interrupted", contract.ExitTerminated},
		{"not logged in", nil, func(p *play) {
			p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatAuth, Error: "Not logged in"})
		}, "failed", contract.ExitEnvironment},
		{"no credit left", nil, func(p *play) {
			p.turn("arbiter", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatCredit, Error: "low credit"})
		}, "failed", contract.ExitEnvironment},
		{"an Orchestrator has no credit left", nil, func(p *play) {
			p.spawn("work")
			p.turn("orch-1", bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatCredit, Error: "low credit"})
		}, "failed", contract.ExitEnvironment},
		{"bad request", untasked, func(p *play) {
			p.say("Build it")
			p.do(input.InputEnded{})
			p.afresh("arbiter", bridge.CatInvalidRequest)
			p.refusedFor("arbiter", bridge.CatInvalidRequest)
			p.refusedFor("arbiter", bridge.CatInvalidRequest)
			p.ended("arbiter")
		}, "failed", contract.ExitFailed},
		{"the Arbiter's process dies, and dies", untasked, func(p *play) {
			p.say("Build it")
			p.do(input.InputEnded{})
			p.crash("arbiter", 5)
		}, "failed", contract.ExitFailed},
		{"the Arbiter does not start", nil, func(p *play) {
			a := p.agent("arbiter")
			a.Status = AgentStarting
			p.s.Agents = []*Agent{&a}
			p.do(input.NotSpawned{Agent: p.agent("arbiter").AgentRef, Category: bridge.CatStart, Message: "exit code 1"})
		}, "failed", contract.ExitEnvironment},
		{"the bridge dies, and dies", nil, func(p *play) { p.loseBridge() }, "failed", contract.ExitFailed},
		{"nobody reads", nil, func(p *play) { p.do(input.OutputLost{Message: "broken pipe"}) }, "cancelled", contract.ExitFailed},
		{"time", func(o *runconfig.Options) { o.Timeout = 1 }, func(p *play) { p.do(input.Timer{Key: timeoutKey}) },
			"limit", contract.ExitLimit},
		{"cost", func(o *runconfig.Options) { o.MaxCostUSD, o.HumanPresent = 1, false }, func(p *play) {
			p.turn("arbiter", bridge.Turn{CostUSD: 1.5, Verdict: json.RawMessage(`{}`)})
		}, "limit", contract.ExitLimit},
		{"iterations", func(o *runconfig.Options) { o.MaxIterations = 1 }, func(p *play) {
			p.spawn("one")
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"two"}`)
		}, "limit", contract.ExitLimit},
		{"failures", func(o *runconfig.Options) { o.MaxFailures = 2 }, func(p *play) {
			for range 2 {
				p.crash(p.spawn("work"), 5)
			}
		}, "failed", contract.ExitFailed},
		{"no task", func(o *runconfig.Options) { o.Task = "" }, func(p *play) { p.do(input.InputEnded{}) }, "failed", contract.ExitUsage},
		{"nobody to answer, twice", func(o *runconfig.Options) { o.HumanPresent = false }, func(p *play) {
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which?"))
			p.contains("the first time", p.lastSent("arbiter"), "No human is present")
			p.verdict("arbiter", ruling("ADDRESS_HUMAN", "But which?"))
		}, "needs_input", contract.ExitNeedsInput},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := begin(t, c.change)
			c.act(p)
			r, exit := p.finished()
			if r.Status != c.status || exit != c.exit {
				t.Errorf("status %s, exit %d; want %s, %d (%s)", r.Status, exit, c.status, c.exit, r.Summary)
			}
			if out := p.do(input.Stopped{}); len(out) != 0 {
				t.Errorf("after the end: %v", out)
			}
		})
	}
}

func TestWithoutABridge(t *testing.T) {
	p := &play{t: t}
	p.do(input.NoBridge{Options: runconfig.Options{Run: testRun}, Category: bridge.CatClaudeMissing, Message: "no claude on PATH"})
	testkit.Same(t, "the first line is missing", 1, len(told[contract.Session](p)))
	if e := last[contract.Error](p); e.Category != bridge.CatClaudeMissing || len(e.RecoveryOptions) == 0 {
		t.Errorf("error %+v", e)
	}
	if e := effects[input.Finish](p); len(e) != 1 || e[0].Exit != contract.ExitEnvironment {
		t.Errorf("ends %v", e)
	}
}

func asked(p *play, id, request, behavior string) input.PermissionAsked {
	return input.PermissionAsked{
		Params:   bridge.PermissionParams{AgentRef: p.agent(id).AgentRef, Request: request, Tool: "Bash", Input: json.RawMessage(`{"command":"make"}`)},
		Behavior: behavior, By: "rule", Rule: "Bash(make)", Reason: "a rule",
	}
}

func TestPermissionAnswers(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	answer := func() bridge.PermissionResult {
		a := effects[input.PermissionRespond](p)
		return a[len(a)-1].Result
	}
	p.do(asked(p, id, "p1", "allow"))
	testkit.Same(t, "a rule's allow was not carried out", bridge.Allow, answer().Behavior)
	p.do(asked(p, id, "p2", "ask"))
	if ok, _ := p.command(contract.Permit{Request: "p2", Behavior: "allow", Scope: "run"}); !ok || answer().Behavior != bridge.Allow {
		t.Error("a human's allow was not carried out")
	}
	if ok, _ := p.command(contract.Permit{Request: "p2", Behavior: "allow"}); ok {
		t.Error("answered twice")
	}
	p.do(asked(p, id, "p3", "ask"))
	if answer().Behavior != bridge.Allow || last[contract.Permission](p).By != "human" {
		t.Error("what was allowed for the run was asked again")
	}
	other := asked(p, id, "p4", "ask")
	other.Params.Input = json.RawMessage(`{"command":"make install"}`)
	p.do(other)
	if len(p.s.Permission.Open) != 1 {
		t.Fatal("a grant for the run covered another action")
	}
	p.do(input.Timer{Key: input.TimerPrefix + "p4"})
	if answer().Behavior != bridge.Deny || last[contract.Permission](p).By != "timeout" {
		t.Error("an unanswered request was not denied")
	}
	p.do(asked(p, id, "p5", ""))
	testkit.Same(t, "doubt was not a deny", bridge.Deny, answer().Behavior)
	late := asked(p, id, "p6", "ask")
	late.Params.Input = json.RawMessage(`{"command":"make late"}`)
	p.do(late)
	p.command(contract.Cancel{})
	if answer().Behavior != bridge.Deny || last[contract.Permission](p).By != "shutdown" {
		t.Error("an ending run left a request open")
	}
	p.do(asked(p, id, "p7", "allow"))
	testkit.Same(t, "a tool was allowed while the run was ending", bridge.Deny, answer().Behavior)
}

// TestPlaceOfARequest: a request says where its call runs and until when it waits, which is for ever unless a limit was
// set.
func TestPlaceOfARequest(t *testing.T) {
	for _, tt := range []struct {
		name string
		with func(*runconfig.Options)
		want contract.CallPlace
		wait time.Duration
	}{
		{"in the workspace", func(*runconfig.Options) {}, contract.CallPlace{CWD: "/w"}, 0},
		{"in a work tree, for ten minutes", func(o *runconfig.Options) {
			o.PermissionWait = 10 * time.Minute
			o.Workspace = runconfig.Workspace{Root: "/w", Base: "b0", Own: "/own", Isolation: runconfig.IsolationWorktree}
		}, contract.CallPlace{CWD: "/own/orch-1", Own: true}, 10 * time.Minute},
		{"in a sandbox", func(o *runconfig.Options) { o.Sandbox = &bridge.SandboxConfig{} },
			contract.CallPlace{CWD: "/w", Sandboxed: true}, 0},
	} {
		p := begin(t, func(o *runconfig.Options) { o.CWD = "/w"; tt.with(o) })
		id := p.spawn("work")
		p.do(asked(p, id, "p1", "ask"))
		got, deadline := last[contract.PermissionRequest](p), ""
		if tt.wait > 0 {
			deadline = p.s.Permission.Open[0].At.Add(tt.wait).UTC().Format(time.RFC3339)
		}
		if got.Place == nil || *got.Place != tt.want || got.Deadline != deadline {
			t.Errorf("%s: %+v until %q, want %+v until %q", tt.name, got.Place, got.Deadline, tt.want, deadline)
		}
	}
}

// TestAnOrchestratorThatDoesNotStart: the Arbiter decides about it, because the Arbiter's own process shows
// that the environment works. Only a lost login, or a missing claude, affects all agents.
func TestAnOrchestratorThatDoesNotStart(t *testing.T) {
	for category, ends := range map[bridge.Category]bool{
		bridge.CatStart: false, bridge.CatTimeout: false, bridge.CatAuth: true, bridge.CatClaudeMissing: true,
	} {
		p := begin(t, func(o *runconfig.Options) { o.HumanPresent = false })
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
		p.do(input.NotSpawned{Agent: p.agent("orch-1").AgentRef, Category: category, Message: "exit code 1"})
		if got := p.s.Ending != nil; got != ends {
			t.Errorf("%s ended the run: %v", category, got)
		}
		if !ends {
			p.verdict("arbiter", ruling("CONTINUE", "Patience."))
			p.contains("the Arbiter", p.lastSent("arbiter"), "Orchestrator I (orch-1) is gone", "could not start")
		}
	}
}

// TestTheProgramIsReplacedByABrokenOne: the CLI that worked does not start any more. While a human is there, the run
// waits until the program is put right, and says how; the Arbiter continues then.
func TestTheProgramIsReplacedByABrokenOne(t *testing.T) {
	for _, category := range []bridge.Category{bridge.CatStart, bridge.CatClaudeMissing, bridge.CatUnsupported} {
		for _, human := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s, a human: %v", category, human), func(t *testing.T) {
				p := begin(t, func(o *runconfig.Options) { o.HumanPresent = human })
				p.proven("arbiter")
				p.dies("arbiter")
				p.restartDue("arbiter")
				broken := input.NotSpawned{Agent: p.agent("arbiter").AgentRef, Category: category, Message: "exec format error"}
				p.do(broken)
				if ended := p.s.Ending != nil; ended == human {
					t.Fatalf("the run ends: %v", ended)
				}
				e := last[contract.Error](p)
				p.contains("the error", e.Message+strings.Join(e.RecoveryOptions, ""), "exec format error", "claude")
				if !human {
					return
				}
				testkit.Same(t, "the Arbiter", AgentParked, p.agent("arbiter").Status)
				testkit.Same(t, "the rules go on", "", p.s.Rulings.FallbackReason)
				p.contains("the question", last[contract.Question](p).Text, "exec format error", "retry")
				p.mustCommand(contract.Choose{Option: "retry"})
				broken.Agent = p.agent("arbiter").AgentRef
				p.do(broken) // it is still broken
				p.goesOn("the second time the run ends")
				p.mustCommand(contract.Choose{Option: "retry"})
				p.comes("arbiter", p.remembers("arbiter", bridge.DeliverySeen))
				p.contains("what it reads", p.lastSent("arbiter"), "before you could answer")
			})
		}
	}
	t.Run("an Orchestrator", func(t *testing.T) {
		p := begin(t, nil)
		p.proven("arbiter")
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
		p.do(input.NotSpawned{Agent: p.agent("orch-1").AgentRef, Category: bridge.CatClaudeMissing, Message: "no such file"})
		p.goesOn("the run ends, although the Arbiter is there")
		p.verdict("arbiter", ruling("CONTINUE", "Patience."))
		p.contains("the Arbiter", p.lastSent("arbiter"), "orch-1) is gone", "no such file")
	})
}

func TestToolInputs(t *testing.T) {
	p := begin(t, nil)
	id := p.spawn("work")
	for _, c := range []struct{ agent, tool, input, want string }{
		{"arbiter", "spawn_orchestrator", `{"prompt":" "}`, "An Orchestrator needs a brief in `prompt`: the goal"},
		{"arbiter", "spawn_orchestrator", `{"prompt":"p","mode":"wizard"}`, "There is no mode \"wizard\". Modes: "},
		{"arbiter", "spawn_orchestrator", `{"prompt":"p","successor_of":"orch-7"}`, "successor_of names no Orchestrator: \"orch-7\""},
		{"arbiter", "spawn_orchestrator", `{"prompt":3}`, "schema"},
		{"arbiter", "release_orchestrator", `{"id":"orch-7","reason":"r"}`, "orch-7"},
		{"arbiter", "set_plan", `{"steps":[{"text":"a","status":"great"}]}`, "great"},
		{id, "update_plan", `{"index":4,"status":"done"}`, "there is no plan in this run"},
		{id, "report_progress", `{"message":""}`, "empty"},
		{id, "ask_predecessor", `{"question":"q"}`, "You have no predecessor"},
	} {
		if a := p.call(c.agent, c.tool, c.input); !a.IsError || !strings.Contains(a.Text, c.want) {
			t.Errorf("%s %s: %+v", c.tool, c.input, a)
		}
	}
	if a := p.call("arbiter", "set_plan", `{"steps":[{"text":"one"},{"text":"two"}]}`); a.IsError {
		t.Errorf("set_plan: %s", a.Text)
	}
	if a := p.call(id, "update_plan", `{"index":1,"status":"done"}`); a.IsError || p.s.Task.Plan[0].Status != "done" || p.s.Task.Plan[0].Agent != id {
		t.Errorf("update_plan: %s %v", a.Text, p.s.Task.Plan)
	}
	p.contains("status", p.call("arbiter", "status", `{}`).Text, "executing", "orch-1", "1. [done] one")
}

func TestCommands(t *testing.T) {
	p := begin(t, nil)
	refused, granted := p.refuses, p.mustCommand
	refused(contract.Say{Text: "x", To: "orch-1"}, "orch-1")
	refused(contract.Permit{Request: "p"}, "no permission request")
	refused(contract.Kill{ID: "arbiter"}, "cancel")
	refused(contract.SkipStep{}, "no step")
	refused(contract.RetryLast{}, "no living")
	refused(contract.ForceAgent{Mode: "wizard"}, "wizard")
	refused(contract.Choose{Option: "retry"}, "no such option")
	refused(contract.Malformed{Problem: "line 3 is not JSON"}, "line 3")
	granted(contract.SetPlan{Steps: []contract.Step{{Text: "one", Status: "pending"}}})
	granted(contract.SkipStep{})
	granted(contract.ForceAgent{Mode: "planner"})
	p.spawned("orch-1")
	p.contains("its brief", p.lastSent("orch-1"), "Build it", "from: human")
	refused(contract.RetryLast{}, "at work")
	granted(contract.Interrupt{ID: "orch-1"})
	p.turn("orch-1", bridge.Turn{Outcome: bridge.TurnInterrupted})
	granted(contract.RetryLast{})
	granted(contract.Kill{ID: "orch-1"})
	if k := effects[input.Kill](p); len(k) != 1 || !k[0].Now {
		t.Errorf("kills %v", k)
	}
	p.happen("orch-1", bridge.Done{Exit: bridge.Exit{Expected: true}})
	if d := last[contract.Done](p); d.Reason != "killed by the human" || p.s.Lifecycle.Crashes != 0 {
		t.Errorf("done %+v, crashes %d", d, p.s.Lifecycle.Crashes)
	}
}

func TestACommandThatEndsTheRunIsAnswered(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxIterations = 1 })
	p.spawn("work")
	if ok, why := p.command(contract.ForceAgent{Mode: "planner"}); ok || p.s.Ending != nil || !strings.Contains(why, "--max-iterations") {
		t.Errorf("accepted %v (%s), ending %v: a word of the human's must not end the run", ok, why, p.s.Ending)
	}
	p.command(contract.SetPlan{Steps: []contract.Step{{Text: "one", Status: contract.StepPending}}})
	p.s.Question.Recovery.Options = []string{"abort"}
	if ok, why := p.command(contract.Choose{Option: "abort"}); !ok || p.s.Ending == nil || p.s.Ending.Status != contract.StatusCancelled {
		t.Errorf("accepted %v (%s), ending %v", ok, why, p.s.Ending)
	}
}
