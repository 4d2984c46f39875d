package main

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// hears waits for an event that a human sees: its name, and, after a blank, a part of its JSON.
func (s *script) hears(event string) {
	s.t.Helper()
	name, part, _ := strings.Cut(event, " ")
	s.see("the event "+event, func(l contract.Line) bool {
		raw, err := json.Marshal(l.Body)
		return err == nil && l.Body.EventName() == name && strings.Contains(string(raw), part)
	})
}

// TestMistakesCost: a mistake that a model repeats costs three requests, or four where the CLI itself asks again, or is
// none. The model, or the Arbiter in its place, reads what is wrong, and an event tells the human. Those that only the
// supervisor refuses or reads, such as A2, A20 and O4, are in its TestMistakes. O7, reports for ever, is in its
// TestReportsWithoutAChangePause.
func TestMistakesCost(t *testing.T) {
	t.Parallel()
	const (
		summons   = `{use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Do it.}}]}`
		document  = `accomplished: [a], remaining: [], key_context: k`
		done      = `verdict: {kind: done, message: m, handoff: {` + document + `}}`
		invalid   = "error no valid verdict"
		taken     = `decision "decision":"CONTINUE"`
		goesOn    = contract.ExitInterrupted // the run goes on until the test stops it
		unproven  = "no check and no acceptance criterion with a command proves the work"
		notWorked = "no Orchestrator has worked on the task"
	)
	for i, c := range []struct {
		name, role    string
		first, answer string // the step before, and the mistake
		requests      int    // of the mistaken, that step included
		reads         string // the mistaken, or the Arbiter after it
		event         string // that tells the human
		exit          contract.Exit
		real          bool // the stand-in does not imitate this
	}{
		{"A4 a text", "arbiter", "", `say: I shall think.`, 4, "end the turn by calling StructuredOutput", invalid,
			goesOn, false},
		{"A3 two verdicts", "arbiter", summons, `use: [{tool: StructuredOutput, input: {decision: RETRY, message: m, ` +
			`to: orch-9}}], verdict: {decision: CONTINUE, message: m}`, 2, "", taken, goesOn, true},
		{"A5 300 kB", "arbiter", "", `verdict: {decision: ADDRESS_HUMAN, message: "` + strings.Repeat("word ", 60_000) +
			`"}`, 1, "", "question word word", goesOn, false}, // the human reads it whole
		{"A7 an empty brief", "arbiter", `{use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: " "}}]}, ` +
			summons, `verdict: {decision: CONTINUE, message: m}`, 3, "An Orchestrator needs a brief",
			taken, goesOn, false},
		{"A7b no brief", "arbiter", `{use: [{tool: mcp__arbiter__spawn_orchestrator, input: {}}]}, ` + summons,
			`verdict: {decision: CONTINUE, message: m}`, 3, "prompt", taken, goesOn, true},
		{"A10 a call beside the verdict", "arbiter", "", `use: [{tool: mcp__arbiter__spawn_orchestrator, ` +
			`input: {prompt: Do it.}}], verdict: {decision: CONTINUE, message: m}`, 1, "", taken, goesOn, false},
		{"A11 asks where nobody is", "arbiter", "", `verdict: {decision: ADDRESS_HUMAN, message: Which colour?}`, 2,
			"No human is", `result "status":"needs_input"`, contract.ExitNeedsInput, false},
		{"A13 in a fence", "arbiter", summons, "say: \"```json\\n{\\\"decision\\\":\\\"CONTINUE\\\"," +
			"\\\"message\\\":\\\"m\\\"}\\n```\"", 3, "", taken, goesOn, false},
		{"A15 COMPLETE at once", "arbiter", "", `verdict: {decision: COMPLETE, message: m, summary: s}`, 2, notWorked,
			"result " + notWorked, contract.ExitComplete, false},
		{"A19 waits for nobody", "arbiter", "", `verdict: {decision: CONTINUE, message: m}`, 3, "none is at work", invalid,
			goesOn, false},
		{"A22 in one string", "arbiter", "", `verdict: {verdict: "{}"}`, 4, "must have required property 'decision'",
			invalid, goesOn, true},
		{"a wrong type", "arbiter", "", `verdict: {decision: CONTINUE, message: 1}`, 4,
			"Your verdict was refused: Output does not match required schema: /message: must be string", invalid, goesOn,
			true},
		{"O3 checks as texts", "orchestrator", "", `verdict: {kind: done, message: m, handoff: {` + document +
			`, proofs: [make]}}`, 4, "/handoff/proofs/0: must be object", invalid, goesOn, true},
		{"O5 no checks", "orchestrator", "", done, 1, unproven, "result " + unproven, contract.ExitComplete, false},
		{"O7 in a fence", "orchestrator", "", "say: \"```json\\n{\\\"kind\\\":\\\"done\\\",\\\"message\\\":\\\"m\\\"," +
			"\\\"handoff\\\":{\\\"accomplished\\\":[\\\"a\\\"],\\\"remaining\\\":[]," +
			"\\\"key_context\\\":\\\"k\\\"}}\\n```\"", 2, "kind: done",
			`handoff "from":"orch-1","to":"arbiter"`, contract.ExitComplete, false},
		{"O8 something remains", "orchestrator", "", `verdict: {kind: done, message: m, handoff: {accomplished: [a], ` +
			`remaining: [tests], key_context: k}}`, 1, "leaves open: tests", "result leaves open: tests",
			contract.ExitComplete, false},
		{"O6 asks by Claude's tool", "orchestrator", `{use: [{tool: AskUserQuestion, input: {questions: [{question: ` +
			`Which?, header: Q, multiSelect: false, options: [{label: a, description: a}, {label: b, description: b}]}]}}]}`,
			done, 2, "No such tool available: AskUserQuestion", "tool_use AskUserQuestion", contract.ExitComplete,
			true}, // the CLI is started without that tool
		{"O10 marks a step without a plan", "orchestrator",
			`{use: [{tool: mcp__arbiter__update_plan, input: {index: 1, status: done}}]}`, done, 2,
			"there is no plan in this run", "tool_call update_plan", contract.ExitComplete, false},
		{"O11 asks a predecessor", "orchestrator",
			`{use: [{tool: mcp__arbiter__ask_predecessor, input: {question: Where?}}]}`, done, 2,
			"You have no predecessor", "tool_call ask_predecessor", contract.ExitComplete, false},
	} {
		for _, p := range players(t) {
			t.Run(c.role+", "+c.name+"/"+p.name, func(t *testing.T) {
				if c.real {
					p.inside(t)
				}
				if p.long(t); i%3 != 0 {
					testkit.Long(t)
				}
				t.Parallel()
				args, last := []string{"--allow", "Bash(sleep *)", "--task", "Do it"}, "ADDRESS_HUMAN, message: What now?"
				if c.exit != goesOn {
					args, last = append(args, "--no-input"), "COMPLETE, message: It is done., summary: s"
				}
				s, model := hired(t, p, `name: mistaken
actors:
  - {name: mistaken, match: {role: `+c.role+`}, steps: [`+c.first+`], otherwise: {`+c.answer+`}}
  - {name: other, match: {role: orchestrator}, otherwise: {use: [{tool: Bash, input: {command: sleep 60, description: Wait}}]}}
  - name: arbiter
    match: {role: arbiter}
    steps:
      - `+summons+`
      - verdict: {decision: CONTINUE, message: Patience.}
      - {expect: "It gave no valid verdict|kind: done", verdict: {decision: `+last+`}}
`, nil, args...)
				s.hears(c.event)
				if c.exit != goesOn {
					s.finish(c.exit)
				}
				had, read := 0, ""
				for _, q := range model.Requests() {
					if q.Actor == "mistaken" {
						had++
					}
					if q.Actor != "other" {
						read += q.Incoming + "\n"
					}
				}
				testkit.Check(t, had == c.requests && strings.Contains(read, c.reads),
					"%d requests, want %d that tell %q:\n%.5000s", had, c.requests, c.reads, read)
				categories := testkit.Each(collect[contract.Error](s),
					func(e contract.Error) bridge.Category { return e.Category })
				testkit.Check(t,
					(c.event != invalid || slices.Equal(categories, []bridge.Category{bridge.CatVerdict})) &&
						(c.event == invalid || len(categories) == 0), "errors %q", categories)
				if c.exit == goesOn {
					s.mustSignal(syscall.SIGINT)
					s.finish(goesOn)
				}
			})
		}
	}
}

// TestASuccessorIsHeld: a successor that works before the Arbiter has answered it is stopped, and reads why.
func TestASuccessorIsHeld(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, model := hired(t, p, playOf(
			orchestrator("successor", "Go on", []object{bash("printf ho > early.txt"),
				on("has not answered yet how you understood", bash("ls")), question("Half of it is there. I do the rest."),
				on("You may begin", bash("printf ho > late.txt")), done("All of it.")}),
			orchestrator("first", "", nil, handsOff("handoff", "Half of it.", []string{"b"})),
			arbiter(slices.Concat(summons("Do it."), []object{on("Half of it", spawns("Go on.")), patience,
				on("I do the rest", tells("orch-2", "You may begin.")), on("All of it", complete("s"))}))), nil,
			"--allow", "Bash(printf *)", "--allow", "Edit(**)", "--task", "Do it")
		s.hears(`permission "behavior":"deny"`)
		s.finish(contract.ExitComplete)
		s.files(map[string]bool{"early.txt": false, "late.txt": true})
		onScript(t, model)
	})
}

// TestPersonas: each way to work badly is noticed, the Arbiter reads of it, and an event tells the human, also if the
// Arbiter insists. None commits anything, and the files count. Those that are not here: a successor that ignores the
// document, in TestASuccessorIsHeld; no work, in TestMistakesCost; two that change one file in one directory, in
// TestARunRecordsItsChanges; liars whose checks fail, who ask again and again, or are silent, in the tests of the
// supervisor.
func TestPersonas(t *testing.T) {
	needSandbox(t)
	t.Parallel()
	writes := func(command string) string {
		return `{use: [{tool: Bash, input: {command: "` + command + `", description: Write}}]}`
	}
	done := func(files, check string) string {
		return `{verdict: {kind: done, message: All of it., handoff: {accomplished: [all], remaining: [], key_context: k, ` +
			`files: [` + files + `], proofs: [{claim: it is there, command: "` + check + `"}]}}}`
	}
	const (
		second = "test -s hello.txt"
		hello  = "printf hello > hello.txt"
		one    = `{use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Do it.}}]}, `
		two    = `{use: [&brief {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Do it.}}, *brief]}, `
		wait   = `{verdict: {decision: CONTINUE, message: Patience.}}`
	)
	for _, c := range []struct {
		name, worker string
		begins       string // steps of the Arbiter; empty: it summons one
		until        string // the Arbiter reads this and completes; empty: it is done
		args         []string
		tells        string // what the Arbiter reads about it
		events       []string
		files        int
		requests     int    // of the Arbiter
		story        string // in the log
		exit         contract.Exit
		long         bool // others resemble it: here, in TestMistakesCost, or in the supervisor's TestMistakes
	}{
		{name: "a liar", worker: writes(hello) + "," + done("hello.txt", "true"),
			tells: "already true before the work", events: []string{"result already true before the work"}, files: 1,
			requests: 4, story: "passed, " + verdict.AlreadyTrue + ": true"},
		{name: "an honest one", worker: writes(hello) + "," + done("hello.txt", second),
			tells: verdict.FailedAtFirst, events: []string{"check " + verdict.FailedAtFirst, "changes hello.txt"}, files: 1,
			requests: 3, story: "passed, " + verdict.FailedAtFirst + ": " + second},
		{name: "more files than asked for", worker: writes(hello+"; touch more1 more2 more3 more4") + "," +
			done("hello.txt", second), tells: "files have changed that no document lists: more1",
			events: []string{"result more1"}, files: 5, requests: 4, story: "more1"},
		{name: "a failing call again and again", worker: `{use: [{tool: Bash, input: {command: cat never, ` +
			`description: Look}}], repeat: 10},` + done("", second), tells: "the same call failed 10 times in a row",
			events: []string{"notice the same call failed 10 times in a row"}, requests: 4, exit: contract.ExitFailed},
		{name: "never hands off", worker: `{verdict: {kind: progress, message: Still at it.}, usage: {context: 150000}, ` +
			`repeat: forever}`, args: []string{"--context-tokens", "160000", "--context-critical", "90"},
			until: "is parked", tells: "did not hand off when it was told to",
			events:   []string{`context_warning "level":"critical"`, "notice was told to hand off 3 times", "error is parked"},
			requests: 4},
		{name: "leaves a conflict", begins: two + wait, args: []string{"--isolation", "worktree"}, until: "NOT merged",
			worker: writes("pwd > hello.txt") + "," + `{verdict: {kind: done, message: All of it., handoff: {accomplished: ` +
				`[all], remaining: [], key_context: k, files: [hello.txt]}}, repeat: forever}`,
			tells: "The work is NOT merged", events: []string{"overlap hello.txt", `merge "status":"conflict"`,
				"result is not merged"}, files: 1, requests: 5, long: true},
	} {
		for _, p := range players(t) {
			t.Run(c.name+"/"+p.name, func(t *testing.T) {
				if p.long(t); c.long {
					testkit.Long(t)
				}
				t.Parallel()
				repo := gittest.New(t, map[string]string{".gitignore": "", "old.txt": "old\n"})
				args := append([]string{"--sandbox", "on", "--allow", "Bash(*)", "--no-input", "--task", "Do it"},
					c.args...)
				s, model := hiredIn(t, p, `name: persona
actors:
  - name: worker
    match: {role: orchestrator}
    steps: [`+c.worker+`]
  - name: arbiter
    match: {role: arbiter}
    steps: [`+cmp.Or(c.begins, one+wait)+`]
    otherwise:
      - {expect: COMPLETE did not take effect, verdict: {decision: COMPLETE, message: It is done., summary: I insist.}}
      - {expect: '`+cmp.Or(c.until, "kind: done")+`', verdict: {decision: COMPLETE, message: It is done., summary: s}}
      - `+wait+`
`, repo.Path, args...)
				s.finish(c.exit)
				for _, event := range c.events {
					s.hears(event)
				}
				r, files := collect[contract.Result](s)[0], 0
				if r.Changes != nil {
					files = r.Changes.Files
				}
				testkit.Check(t, files == c.files, "open: %q, changes: %+v", r.Open, r.Changes)
				had, read := 0, false
				for _, q := range model.Requests() {
					if q.Actor == "arbiter" {
						had++
						read = read || strings.Contains(q.Incoming, c.tells)
					}
				}
				testkit.Check(t, had == c.requests && read && len(model.Problems()) == 0,
					"%d requests of the Arbiter, want %d; told: %v; %v", had, c.requests, read, model.Problems())
				story, _ := s.output(0, "logs", s.run())
				testkit.Includes(t, "the log does not say", story, c.story)
			})
		}
	}
}

// TestTheArbiterLooksUp: the Arbiter is offered the web beside the files, and uses it as the rules allow.
func TestTheArbiterLooksUp(t *testing.T) {
	t.Parallel()
	eachPlayer(t, func(t *testing.T, p player) {
		p.inside(t)
		s, model := hired(t, p, playOf(arbiter([]object{
			uses(call("WebFetch", object{"url": "http://127.0.0.1:1/", "prompt": "What is it?"}))}, complete("looked up"))),
			nil, "--allow", "WebFetch(domain:127.0.0.1)", "--task", "Look it up")
		s.finishes("looked up")
		tools := model.Requests()[0].Tools
		for _, want := range []string{"Read", "Grep", "Glob", "WebSearch", "WebFetch"} {
			testkit.Check(t, slices.Contains(tools, want), "the Arbiter has no %s: %q", want, tools)
		}
		for _, b := range collect[contract.Permission](s) {
			testkit.Check(t, b.Behavior == bridge.Allow, "denied: %+v", b)
		}
	})
}

// TestAFullContextOnlyReads: above --context-stop an Orchestrator may read and hand off, from the answer on that has
// filled its context. It reads why it may not write.
func TestAFullContextOnlyReads(t *testing.T) {
	t.Parallel()
	eachPlayerLong(t, func(t *testing.T, p player) {
		s, model := hired(t, p, playOf(
			orchestrator("worker", "Do it", []object{
				with(bash("printf x > early.txt"), "usage", object{"context": 20000}),
				with(bash("printf x > late.txt"), "usage", object{"context": 150000}),
				on("you can only read and commit", bash("cat early.txt"))},
				handsOff("handoff", "Half of it.", []string{"b"})),
			arbiter(summons("Do it."), on("Half of it", asksHuman("What now?")))),
			nil, "--allow", "Bash(printf *)", "--allow", "Edit(**)", "--context-tokens", "160000", "--context-critical",
			"90", "--context-stop", "92", "--task", "Do it")
		await[contract.Question](s, "the Arbiter's question", nil)
		s.files(map[string]bool{"early.txt": true, "late.txt": false})
		onScript(t, model)
		s.cancels()
	})
}
