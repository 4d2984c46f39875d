package supervisor

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
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
			p.notSpawned("arbiter", bridge.CatStart, "exit code 1")
		}, "failed", contract.ExitEnvironment},
		{"the bridge dies, and dies", nil, func(p *play) { p.loseBridge() }, "failed", contract.ExitFailed},
		{"nobody reads", nil, func(p *play) { p.do(input.OutputLost{Message: "broken pipe"}) }, "cancelled",
			contract.ExitFailed},
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
		{"no task", func(o *runconfig.Options) { o.Task = "" }, func(p *play) { p.do(input.InputEnded{}) }, "failed",
			contract.ExitUsage},
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
			testkit.Check(t, r.Status == c.status && exit == c.exit, "status %s, exit %d; want %s, %d (%s)", r.Status,
				exit, c.status, c.exit, r.Summary)
			testkit.Empty(t, "after the end", p.do(input.Stopped{}))
		})
	}
}

func TestWithoutABridge(t *testing.T) {
	p := &play{t: t}
	p.do(input.NoBridge{Options: runconfig.Options{Run: testRun}, Category: bridge.CatClaudeMissing,
		Message: "no claude on PATH"})
	testkit.Same(t, "the first line is missing", 1, len(told[contract.Session](p)))
	e := last[contract.Error](p)
	testkit.Check(t, e.Category == bridge.CatClaudeMissing && len(e.RecoveryOptions) != 0, "error %+v", e)
	ends := effects[input.Finish](p)
	testkit.Check(t, len(ends) == 1 && ends[0].Exit == contract.ExitEnvironment, "ends %v", ends)

	// A run that the human stops before it began has not failed.
	p = &play{t: t}
	p.do(input.NoBridge{Options: runconfig.Options{Run: testRun, Task: "x"}, Message: "SIGTERM stopped the run",
		Signal: &input.Signal{Signal: "TERM"}})
	testkit.Empty(t, "failures", told[contract.Error](p))
	r, exit := p.finished()
	testkit.Check(t, r.Status == contract.StatusInterrupted && r.Summary == "stopped by SIGTERM" &&
		exit == contract.ExitTerminated, "%+v, %d", r, exit)
	testkit.Check(t, !p.s.Reached(), "it could be resumed")
}

func asked(p *play, id, request, behavior string) input.PermissionAsked {
	return input.PermissionAsked{
		Params: bridge.PermissionParams{AgentRef: p.agent(id).AgentRef, Request: request, Tool: "Bash",
			Input: json.RawMessage(`{"command":"make"}`)},
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
	ok, _ := p.command(contract.Permit{Request: "p2", Behavior: "allow", Scope: "run"})
	testkit.Check(t, ok && answer().Behavior == bridge.Allow, "a human's allow was not carried out")
	ok, _ = p.command(contract.Permit{Request: "p2", Behavior: "allow"})
	testkit.Check(t, !ok, "answered twice")
	p.do(asked(p, id, "p3", "ask"))
	testkit.Check(t, answer().Behavior == bridge.Allow && last[contract.Permission](p).By == "human",
		"what was allowed for the run was asked again")
	other := asked(p, id, "p4", "ask")
	other.Params.Input = json.RawMessage(`{"command":"make install"}`)
	p.do(other)
	testkit.Same(t, "a grant for the run covered another action", 1, len(p.s.Permission.Open))
	p.do(input.Timer{Key: input.TimerPrefix + "p4"})
	testkit.Check(t, answer().Behavior == bridge.Deny && last[contract.Permission](p).By == "timeout",
		"an unanswered request was not denied")
	p.do(asked(p, id, "p5", ""))
	testkit.Same(t, "doubt was not a deny", bridge.Deny, answer().Behavior)
	late := asked(p, id, "p6", "ask")
	late.Params.Input = json.RawMessage(`{"command":"make late"}`)
	p.do(late)
	p.command(contract.Cancel{})
	testkit.Check(t, answer().Behavior == bridge.Deny && last[contract.Permission](p).By == "shutdown",
		"an ending run left a request open")
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
		testkit.Check(t, got.Place != nil && *got.Place == tt.want && got.Deadline == deadline,
			"%s: %+v until %q, want %+v until %q", tt.name, got.Place, got.Deadline, tt.want, deadline)
	}
}

// TestAnOrchestratorThatDoesNotStart: the Arbiter decides about it, because the Arbiter's own process shows
// that the environment works. Only a lost login, or a missing claude, affects all agents, but not those of a make.
func TestAnOrchestratorThatDoesNotStart(t *testing.T) {
	for category, ends := range map[bridge.Category]bool{
		bridge.CatStart: false, bridge.CatTimeout: false, bridge.CatAuth: true, bridge.CatClaudeMissing: true,
		bridge.CatSandbox: true, bridge.CatCredit: true,
	} {
		for _, make := range []string{"", `,"make":"other"`} {
			p := othersToo(t)
			p.s.HumanPresent = false
			id, _ := p.summon(make)
			p.notSpawned(id, category, "exit code 1")
			testkit.Same(t, fmt.Sprintf("%s%s ended the run", category, make), ends && make == "", p.s.Ending != nil)
			if p.s.Ending == nil {
				p.verdict("arbiter", ruling("CONTINUE", "Patience."))
				p.contains("the Arbiter", p.lastSent("arbiter"), "Orchestrator I (orch-1) is gone", "could not start")
			}
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
				ended := p.s.Ending != nil
				testkit.Need(t, ended != human, "the run ends: %v", ended)
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
		p.notSpawned("orch-1", bridge.CatClaudeMissing, "no such file")
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
		{"arbiter", "spawn_orchestrator", `{"prompt":"p","successor_of":"orch-7"}`,
			"successor_of names no Orchestrator: \"orch-7\""},
		{"arbiter", "spawn_orchestrator", `{"prompt":3}`, "schema"},
		{"arbiter", "release_orchestrator", `{"id":"orch-7","reason":"r"}`, "orch-7"},
		{"arbiter", "set_plan", `{"steps":[{"text":"a","status":"great"}]}`, "great"},
		{id, "update_plan", `{"index":4,"status":"done"}`, "there is no plan in this run"},
		{id, "report_progress", `{"message":""}`, "empty"},
		{id, "ask_predecessor", `{"question":"q"}`, "You have no predecessor"},
	} {
		a := p.call(c.agent, c.tool, c.input)
		testkit.Check(t, a.IsError && strings.Contains(a.Text, c.want), "%s %s: %+v", c.tool, c.input, a)
	}
	a := p.call("arbiter", "set_plan", `{"steps":[{"text":"one"},{"text":"two"}]}`)
	testkit.Check(t, !a.IsError, "set_plan: %s", a.Text)
	a = p.call(id, "update_plan", `{"index":1,"status":"done"}`)
	testkit.Check(t, !a.IsError && p.s.Task.Plan[0].Status == "done" && p.s.Task.Plan[0].Agent == id,
		"update_plan: %s %v", a.Text, p.s.Task.Plan)
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
	k := effects[input.Kill](p)
	testkit.Check(t, len(k) == 1 && k[0].Now, "kills %v", k)
	p.happen("orch-1", bridge.Done{Exit: bridge.Exit{Expected: true}})
	if d := last[contract.Done](p); d.Reason != "killed by the human" || p.s.Lifecycle.Crashes != 0 {
		t.Errorf("done %+v, crashes %d", d, p.s.Lifecycle.Crashes)
	}
}

func TestACommandThatEndsTheRunIsAnswered(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxIterations = 1 })
	p.spawn("work")
	p.refuses(contract.ForceAgent{Mode: "planner"}, "--max-iterations")
	p.goesOn("a word of the human's ends the run")
	p.s.Question.Recovery.Options = []string{"abort"}
	p.mustCommand(contract.Choose{Option: "abort"})
	testkit.Check(t, p.s.Ending != nil && p.s.Ending.Status == contract.StatusCancelled, "ending %v", p.s.Ending)
}

// rolePrompts are the prompts of both roles in a run with hosts and directories of their own.
func rolePrompts(t *testing.T) (arbiter, orchestrator string) {
	t.Helper()
	p := begin(t, func(o *runconfig.Options) {
		o.Hosts = []runconfig.Host{{Name: "loom", Slots: 2}}
		o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "spindle"}}}
		o.Workspace = runconfig.Workspace{Root: "/w", Isolation: runconfig.IsolationWorktree}
	})
	a, _ := p.s.Agent(contract.Arbiter)
	arbiter = p.s.agentConfig(&a).SystemPrompt
	one := Agent{AgentIdentity: AgentIdentity{Role: RoleOrchestrator, Name: "Orchestrator I", Isolation: "worktree"}}
	one.ID = "orch-1"
	return arbiter, p.s.agentConfig(&one).AppendSystemPrompt
}

const (
	readsArbiter = "A: " // before a word that the Arbiter's prompt has
	readsOrch    = "O: " // before a word that the Orchestrator's prompt has
)

// eventsInPrompts says for each event by which word the role that it concerns knows it.
var eventsInPrompts = map[string]string{
	"acceptance": "A: set_acceptance", "check": "A: PASSED, FAILED, UNRUN", "context_warning": "O: [arbiter: context]",
	"cost": "A: cost", "budget": "A: limits", "fuse": "A: `fuse_usd`", "quota": "A: limits", "decision": "A: decision",
	"handoff": "A: `handoff`", "host": "A: `host`", "merge": "A: merge", "message": "A: envelopes",
	"notice": "A: `notice`", "plan": "A: `set_plan`", "question": "A: The question stays open",
	"quiet": "A: silent or gone", "done": "A: silent or gone", "permission_request": "A: permission requests",
	"permission": "O: denied", "spawn": "A: `spawn_orchestrator`", "tool_call": "A: tools of the server `arbiter`",
	"subagent_start": "O: Agent tool", "compact": "O: summaries", "overlap": "A: different files",
	"retry": "A: `retry`", "result": "A: `summary`", "error": "A: When something fails", "forecast": "A: will cost",
	"changes": "A: the changed files",
}

// eventsForNobody are the events of which no role needs to know, by the reason.
var eventsForNobody = map[string][]string{
	"a frontend shows what an agent says or does; the agent knows it": {"assistant", "delta", "tool_use", "tool_result",
		"turn", "delivered", "subagent_progress", "subagent_stop"},
	"an answer to a human's command": {"accepted", "rejected", "settled", "withdrawn"},
	"a human stops or takes over an agent, which reads a message about it afterwards": {"halted", "takeover"},
	"the supervisor acts on it without asking":                                        {"restart", "context"},
	"a record of the run for frontends":                                               {"session", "state", "workspace"},
}

// settingsInPrompts says the same for each setting of a run.
var settingsInPrompts = map[string]string{
	"Delimiter": "O: {delimiter}", "CWD": "O: at the workspace (/", "Task": "A: `task`", "Lessons": "A: \"memory\"",
	"Memory": "A: `lessons`", "Accept": "A: human's criteria", "MaxOrchestrators": "A: At most 4 may live",
	"MaxFailures": "A: three failures", "MaxCostUSD": "A: limit", "MaxCostPerAgent": "O: `relief`", "Timeout": "A: limit",
	"ContextWarn": "O: 70 %", "ContextCritical": "O: 85 %", "ContextStop": "O: only read and commit",
	"CheckTimeout": "O: It takes seconds", "Modes": "A: # Modes", "Makes": "A: spindle", "Decider": "A: decision",
	"Hosts": "A: loom", "Pools": "A: loom", "HereToo": "A: here", "HumanPresent": "A: no human is present",
	"Workspace": "O: worktree", "Permissions": "A: permission requests", "Deny": "O: denied",
	"MaxIterations": "A: limits", "MaxTotalFailures": "A: limits", "MaxExchanges": "A: limits",
	"MaxCostPerDay": "A: limits", "FuseUSD": "A: `fuse_usd`", "QuotaReserve": "A: limits",
	"QuietAfter":    "A: silent or gone",
	"ContextTokens": "O: Your\n  conversation is limited", "ContextTokensFor": "O: conversation is limited",
	"MaxSubagents": "O: limits how many subagents", "MaxSubagentsTotal": "O: limits how many subagents",
	"MaxSubagentsPerHour": "O: limits how many subagents", "Expected": "A: will cost",
}

// settingsForNobody are the settings of which no role needs to know, by the reason.
var settingsForNobody = map[string][]string{
	"chosen before a session begins, and fixed for it": {"Model", "ArbiterModel", "DefaultMake", "ArbiterMake", "Claude",
		"Env", "ArbiterEnv", "Templates", "Partial"},
	"what it allows needs no thought, and what it denies says so": {"Allow", "Ask", "Sandbox", "SandboxReason",
		"ScratchChecks", "Trusted", "TrustHash", "PermissionWait"},
	"of a decider, which is no session": {"DeciderModel", "DeciderEffort", "DeciderTimeout", "DecisionCache", "Provider",
		"Performance"},
	"the supervisor alone keeps this time or size": {"RetryBase", "StartTimeout", "MaxWait", "WatchEvery", "MaxMemory",
		"MaxOutput", "Lease", "Cores"},
	"names the run or its origin":                           {"Run", "Version", "Log", "ForkedFrom"},
	"of a rehearsal, where no model reads, only its script": {"Rehearsal", "Scenario", "Script", "StandIn"},
}

// TestPromptsNameEveryFeature: whatever a role can call, answer, receive or reach is named where that role reads. A new
// tool, kind, event or setting has no entry in the tables, and fails here until somebody decides who reads about it.
func TestPromptsNameEveryFeature(t *testing.T) {
	arbiter, orchestrator := rolePrompts(t)
	flat := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	arbiter, orchestrator = flat(arbiter), flat(orchestrator)
	named := func(what, word string) {
		t.Helper()
		text, rest := arbiter, strings.TrimPrefix(word, readsArbiter)
		if strings.HasPrefix(word, readsOrch) {
			text, rest = orchestrator, strings.TrimPrefix(word, readsOrch)
		}
		testkit.Includes(t, fmt.Sprintf("%s: no prompt has %q", what, word), text,
			flat(strings.ReplaceAll(rest, "{delimiter}", "7f3a9c")))
	}
	for _, tool := range slices.Concat(ArbiterTools(), OrchestratorTools()) {
		var schema struct{ Properties map[string]json.RawMessage }
		testkit.OK(t, json.Unmarshal(tool.InputSchema, &schema))
		for input, raw := range schema.Properties {
			testkit.Includes(t, fmt.Sprintf("%s: nothing is said of %s", tool.Name, input), string(raw),
				`"description"`)
		}
	}
	for _, tool := range ArbiterTools() {
		named("tool", readsArbiter+tool.Name)
	}
	for _, tool := range OrchestratorTools() {
		named("tool", readsOrch+tool.Name)
	}
	for _, d := range []string{verdict.AddressHuman, verdict.AddressOrchestrator, verdict.SelectMode, verdict.Continue,
		verdict.Retry, verdict.Complete, verdict.Handoff} {
		named("decision", readsArbiter+"`"+d+"`")
	}
	for _, k := range []string{verdict.KindIntroduction, verdict.KindQuestion, verdict.KindProgress, verdict.KindHandoff,
		verdict.KindDone} {
		named("kind", readsOrch+"`"+k+"`")
		named("kind", readsArbiter+"`"+k+"`")
	}
	for _, typ := range []reflect.Type{reflect.TypeFor[verdict.Document](), reflect.TypeFor[verdict.Orchestrator]()} {
		for i := range typ.NumField() {
			name, _, _ := strings.Cut(typ.Field(i).Tag.Get("json"), ",")
			switch name {
			case "steps": // of the planner's mode
			case "checks", "claims":
				named("field of the verdict", readsOrch+"`proofs`")
			default:
				named("field of the verdict", readsOrch+name)
			}
		}
	}
	for _, in := range []reflect.Type{reflect.TypeFor[SpawnInput](), reflect.TypeFor[verdict.Arbiter]()} {
		for i := range in.NumField() {
			if name, _, _ := strings.Cut(in.Field(i).Tag.Get("json"), ","); name != "prompt" {
				named("field", readsArbiter+name)
			}
		}
	}
	for kind, word := range messagesInPrompts(t) {
		named("message of kind "+kind, word)
	}
	checkTable(t, "event", contract.EventNames(), eventsInPrompts, eventsForNobody, named)
	checkTable(t, "setting", namesOfFields(reflect.TypeFor[runconfig.Options]()), settingsInPrompts,
		settingsForNobody, named)
}

func namesOfFields(typ reflect.Type) []string {
	return testkit.Each(reflect.VisibleFields(typ), func(f reflect.StructField) string { return f.Name })
}

// checkTable checks that each name is either in the table of words, which a prompt has, or among those for nobody.
func checkTable(t *testing.T, what string, names []string, table map[string]string, forNobody map[string][]string,
	named func(what, word string),
) {
	t.Helper()
	needless := slices.Concat(slices.Collect(maps.Values(forNobody))...)
	for _, name := range names {
		switch word, known := table[name]; {
		case known == slices.Contains(needless, name):
			t.Errorf("%s %s: say in one of the tables which prompt names it, or why no role needs it", what, name)
		case known:
			named(what+" "+name, word)
		}
	}
	for _, name := range slices.Concat(needless, slices.Collect(maps.Keys(table))) {
		testkit.Check(t, slices.Contains(names, name), "there is no %s %s", what, name)
	}
}

// messagesInPrompts are the kinds of messages that conversation.go defines, with who reads about them.
func messagesInPrompts(t *testing.T) map[string]string {
	t.Helper()
	source := testkit.Must(os.ReadFile("conversation.go"))(t)
	toHuman := []string{"report", "complete", "question"}
	toOrchestrators := []string{"brief", "instruction", "continue", "relief"}
	list := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\tKind\w+ += "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		switch kind := m[1]; {
		case slices.Contains(toHuman, kind):
		case slices.Contains(toOrchestrators, kind):
			list[kind] = readsOrch + "`" + kind + "`"
		default:
			list[kind] = readsArbiter + "`" + kind + "`"
		}
	}
	testkit.Need(t, len(list) >= 8, "conversation.go defines only %v", list)
	return list
}
