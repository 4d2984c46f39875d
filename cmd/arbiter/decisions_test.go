package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// aRun is a run whose journal holds given inputs, in its own home.
type aRun struct {
	t  *testing.T
	id string
}

// weaving is the begin of such a run.
var weaving = input.Began{Options: runconfig.Options{Run: "0f3b8a52-6d1a-4a0e-9d43-2f1f6a1f0001", Delimiter: "d",
	Task: "Weave", HumanPresent: true}.WithDefaults()}

// newJournal writes the journal of such a run.
func newJournal(t *testing.T, inputs ...input.Body) aRun {
	t.Helper()
	home := t.TempDir()
	t.Setenv("HOME", home)
	t.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
	t.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
	t.Chdir(home)
	store := testkit.Must(journal.OpenStore(filepath.Join(home, "state", "arbiter")))(t)
	defer store.Close()
	id := weaving.Options.Run
	run := testkit.Must(store.Create(journal.Meta{Run: id, CWD: home, Began: time.Now()}, journal.Options{}))(t)
	at := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	var s supervisor.State
	var encoder supervisor.LogEncoder
	for i, f := range inputs {
		in := input.Input{At: at.Add(time.Duration(i) * time.Second), Body: f, From: s.Origin(f)}
		raw := testkit.Must(input.EncodeInput(in))(t)
		seq := testkit.Must(run.Append(journal.Input, raw))(t)
		after, effects := supervisor.Apply(s, in)
		for _, x := range supervisor.LogItems(&s, supervisor.Replayed{Input: in, Effects: effects}, &after) {
			line, err := encoder.Content(seq, in.At, x)
			if err == nil {
				err = run.AppendEvents(line)
			}
			testkit.OK(t, err)
		}
		s = after
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	testkit.OK(t, run.Sync(ctx), run.Update(ctx, func(m *journal.Meta) {
		m.Finished, m.Status = true, contract.StatusComplete
	}), run.Close())
	return aRun{t, id}
}

// arbiter runs a command in this process; it starts no other process.
func (r aRun) arbiter(want contract.Exit, args ...string) (stdout, stderr string) {
	return r.reading(want, "", args...)
}

func (r aRun) reading(want contract.Exit, stdin string, args ...string) (stdout, stderr string) {
	r.t.Helper()
	c := inProcess(stdin, args...).ended(r.t, args, want)
	return c.out, c.errs
}

// aSelection is an input with a task; without a plan or a history the rules choose the planner.
func aSelection(task string) decider.SelectAgentInput {
	return decider.SelectAgentInput{TaskInput: decider.TaskInput{
		Task: task, History: []decider.ExecutionSummary{},
		AvailableAgents: []decider.AgentDescription{
			{Name: "developer", DisplayName: "developer", WhenToUse: "to write code"},
			{Name: "planner", DisplayName: "planner", WhenToUse: "to plan"},
		},
		Constraints: decider.DecisionConstraints{MaxIterations: 50, IterationsRemaining: 50, MaxConsecutiveFailures: 3},
	}}
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	return testkit.Must(json.Marshal(v))(t)
}

// threeDecisions are one by a model, one by the Arbiter's session and one during a turn of talk.
func threeDecisions(t *testing.T) []input.Body {
	return []input.Body{
		input.Decided{
			Number: 1, Point: decider.PointSelect, Input: encoded(t, aSelection("Weave")),
			Decision: decider.Decision{
				Decision: "SELECT_MODE", Mode: "planner", Reason: "there is no plan", Message: "Plan it.",
				Source: decider.ByModel, Prompt: "the prompt \x1b[31mas it was", Answer: `{"decision":"SELECT_MODE"}`,
				Attempts: 2, Warnings: []string{"answer 1 could not be used: it says nothing"},
				Usage: decider.Usage{CostUSD: 0.0125},
			},
		},
		input.Decided{
			Number: 2, Point: decider.PointSelect, About: "orch-2", Input: encoded(t, aSelection("Weave on")),
			Decision: decider.Decision{Decision: "SELECT_MODE", Mode: "developer",
				Reason: "it \x1b]0;pwned\x07is small", Source: decider.BySession,
				Prompt: "from: orch-2\norch-2 is done"},
		},
		input.Decided{
			Number: 3, Point: decider.PointTalk,
			Decision: decider.Decision{Decision: "ADDRESS_HUMAN", Reason: "it asked", Source: decider.BySession},
		},
	}
}

// byRules is a decision made by rules.
func byRules(t *testing.T, task string) input.Decided {
	return input.Decided{Number: 1, Point: decider.PointSelect, Input: encoded(t, aSelection(task)),
		Decision: decider.Decision{Decision: "SELECT_MODE", Mode: "planner", Reason: "r", Source: decider.ByRules}}
}

func TestExplainListsDecisions(t *testing.T) {
	r := newJournal(t,
		append(threeDecisions(t), input.Decided{Number: 4, Point: decider.PointEvaluate, Failed: "no answer"})...)
	out, _ := r.arbiter(contract.ExitComplete, "decide", "--explain", r.id[:8])
	lines := strings.Split(strings.TrimSpace(out), "\n")
	testkit.Need(t, len(lines) == 5, "%d lines:\n%s", len(lines), out)
	for i, want := range [][]string{
		{"NUMBER", "RECORD", "REASON"},
		{"1", "select", "model", "SELECT_MODE planner", "there is no plan"},
		{"2", "session", "SELECT_MODE developer"},
		{"3", "talk", "ADDRESS_HUMAN"},
		{"4", "evaluate", "failed", "no answer"},
	} {
		testkit.Includes(t, fmt.Sprintf("line %d", i), lines[i], want...)
	}
	testkit.Check(t, !strings.ContainsAny(out, "\x1b\x07"), "what a model wrote reaches the terminal: %q", out)
	// Without an id, the latest run of this directory is used.
	testkit.Same(t, "the latest run", out, stdoutOf(r.arbiter(contract.ExitComplete, "decide", "--explain")))
	raw, _ := r.arbiter(contract.ExitComplete, "decide", r.id, "--explain", "--json")
	all := decodedAs[[]subcommands.Explanation](t, raw)
	testkit.Check(t, len(all) == 4 && all[0].Decision.Prompt == "" && all[0].Decision.Mode == "planner" &&
		all[3].Failed == "no answer" && all[3].Decision == nil, "%s", raw)
}

func TestExplainShowsOneWhole(t *testing.T) {
	deferred := input.Decided{Number: 3, Point: decider.PointTalk, Deferred: true} // a line, and no decision
	r := newJournal(t, append(threeDecisions(t), deferred)...)
	out, _ := r.arbiter(contract.ExitComplete, "decide", "--explain", r.id, "--number", "1")
	testkit.Includes(t, "", out, "1 (select)", "model, attempts: 2, $0.0125", "SELECT_MODE planner", "there is no plan",
		"Plan it.", "could not be used", `"task": "Weave"`, "prompt, as it was read", "the prompt", "as it was",
		"answer, as it was given")
	testkit.Excludes(t, "escapes, or a prompt beside the one that was read", out, "\x1b", "by the templates")
	screen := func() *clients.ScreenHost {
		return clients.NewScreen(command.Env{},
			settings.Choices{StateDir: filepath.Join(os.Getenv("XDG_STATE_HOME"), "arbiter")})
	}
	onScreen, err := screen().Explain(t.Context(), r.id, 1)
	testkit.Check(t, err == nil && onScreen+"\n" == out, "the screen shows, %v:\n%s\nexplained is:\n%s", err, onScreen,
		out)
	// A decision of the Arbiter's session was made from the messages that the Arbiter read; it has no prompt.
	out, _ = r.arbiter(contract.ExitComplete, "decide", "--number", "2", r.id)
	testkit.Includes(t, "", out, "about      orch-2", "messages, as the Arbiter read them", "orch-2 is done", "Weave on")
	testkit.Excludes(t, "the explanation shows a prompt that no model received", out, "by the templates")
	raw, _ := r.arbiter(contract.ExitComplete, "decide", "--number", "2", "--json", r.id)
	x := decodedAs[subcommands.Explanation](t, raw)
	testkit.Check(t, x.Rendered == nil && strings.Contains(x.Decision.Prompt, "orch-2 is done") && x.Record == 2, "%s",
		raw)
	// Talk has no input.
	out, _ = r.arbiter(contract.ExitComplete, "decide", "--number", "3", r.id)
	testkit.Excludes(t, "talk", out, "input:", "prompt")
	testkit.Includes(t, "", stderrOf(r.arbiter(contract.ExitUsage, "decide", "--number", "9", r.id)),
		"no decision 9: it has 3 ")
	// Rules read no prompt: the explanation says that the templates' prompt was not read for the decision.
	r = newJournal(t, input.Decided{Number: 1, Point: decider.PointSelect, Deferred: true}, byRules(t, "Weave"))
	_, err = screen().Explain(t.Context(), r.id, 9)
	testkit.Check(t, err != nil && strings.HasSuffix(err.Error(), "it has 1"), "%v", err)
	if out, _ = r.arbiter(contract.ExitComplete, "decide", "--number", "1", r.id); !strings.Contains(out,
		"prompt, by the templates found now (it was not read for this decision)") {
		t.Errorf("by rules:\n%s", out)
	}
}

func TestDecideIsCalledAsDocumented(t *testing.T) {
	r := newJournal(t, threeDecisions(t)...)
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"decide"}, "use --explain"},
		{[]string{"decide", r.id}, "use --explain"},
		{[]string{"decide", "--explain", "nowhere"}, "there is no run"},
		{[]string{"decide", "--explain", r.id, "and", "more"}, "give at most one RUN"},
		{[]string{"decide", "--explain", "--number", "0", r.id}, "decision numbers start at 1"},
		{[]string{"decide", "--number", "1", "--at", "2", r.id}, "exclude each other"},
		{[]string{"decide", "--at", "soon", r.id}, "or last"},
		{[]string{"decide", "--at", "99", r.id}, "no record 99"},
		{[]string{"decide", "--input", "-", "--explain"}, "exclude each other"},
		{[]string{"decide", "--template", "select"},
			`--template "select": use one of brief.md, evaluate.md, select.md, state.md`},
		{[]string{"decide", "--template", "../set.go"}, "use one of"},
		{[]string{"decide", "--template", ""}, "use one of"},
		{[]string{"decide", "--template", "select.md", "--number", "1"}, "takes no other flag"},
		{[]string{"decide", "--template", "select.md", "run"}, "takes no other flag"},
		{[]string{"decide", "--input", "."}, "not a regular file"},
		{[]string{"decide", "--input", "-", "--decider", "rules", "run"}, "takes no RUN"},
		{[]string{"replay", r.id, "--only", "1"}, "--decisions"},
		{[]string{"replay", r.id, "--json"}, "--decisions"},
		{[]string{"replay", r.id, "--decisions", "--pace", "1"}, "no --pace"},
		{[]string{"replay", r.id, "--decisions", "--only", "x"}, "use numbers"},
		{[]string{"replay", r.id, "--decisions", "--only", "7"}, "no decision 7"},
		{[]string{"replay", "--decisions", r.id, r.id}, "give at most one RUN"},
		{[]string{"replay", r.id, "--decisions", "--decider", "session"}, "works only inside a run"},
		{[]string{"replay", r.id, "--decisions", "--decider", "dice"}, "session, stateless, hybrid, rules"},
		{[]string{"replay", r.id, "--decisions", "--decider-effort", "some"}, "low, medium"},
		{[]string{"replay", r.id, "--decisions", "--decider-timeout", "1ms"}, "between 1s and 1h"},
	} {
		testkit.Includes(t, c.args, stderrOf(r.arbiter(contract.ExitUsage, c.args...)), c.want)
	}
}

func TestDecideOnAnInput(t *testing.T) {
	r := newJournal(t)
	in := string(encoded(t, aSelection("Weave")))
	inProcess(in, "decide", "--input", "-", "--decider", "rules").ended(t, "a selection", contract.ExitComplete,
		"SELECT_MODE planner", "by         rules")
	raw, _ := r.reading(contract.ExitComplete, `{"number":3,"input":`+in+`}`, "decide", "--input", "-", "--decider",
		"rules", "--json")
	d := decodedAs[decider.Decision](t, raw)
	testkit.Check(t, d.Mode == "planner" && d.Source == decider.ByRules, "%s", raw)
	evaluation := string(encoded(t, decider.EvaluateProgressInput{
		LastExecution: decider.ExecutionSummary{Agent: "developer", Status: decider.StatusFailure, Iteration: 1},
		TaskInput: decider.TaskInput{Task: "Weave", AvailableAgents: aSelection("").AvailableAgents,
			Constraints: decider.DecisionConstraints{MaxIterations: 50, IterationsRemaining: 49, ConsecutiveFailures: 1,
				MaxConsecutiveFailures: 3}},
	}))
	inProcess(evaluation, "decide", "--input", "-", "--decider", "rules").ended(t, "an evaluation",
		contract.ExitComplete, "RETRY")
	const among, selects = `{"task":"x",`, `{"task":"x","availableAgents":[],`
	for raw, want := range map[string]string{
		"":                                     "one JSON object",
		"[]":                                   "one JSON object",
		`{"task":"x"}`:                         "lastExecution",
		`{"input":7}`:                          "one JSON object",
		in[:len(in)-1]:                         "one JSON object",
		in + in:                                "one JSON object",
		`{"tsk":"",` + in[1:]:                  "tsk",
		strings.Replace(in, `:50`, `:"50"`, 1): "constraints.maxIterations: want a whole number, not a text",
		`7`:                                    "one JSON object: want an object, not a number",
		`{"availableAgents":"x"}`:              "availableAgents: want a list, not a text",
		`{"availableAgents":[]}`:               "the member task is missing or empty",
		`{"input":{"input":` + in + `}}`:       "an input has the member",
		among + `"availableAgents":[{"displayName":"x"}]}`:       "availableAgents[0].name is missing",
		among + `"availableAgents":[{"name":"a"},{"name":"a"}]}`: `there are two "a"`,
		selects + `"plan":{"steps":[],"currentStepIndex":7}}`:    "plan.currentStepIndex: 7, want 0 to 0",
		selects + `"plan":{"steps":[{"status":"done"}]}}`: `plan.steps[0].status: "done", want one of pending, ` +
			`in_progress`,
		selects + `"lastError":{"category":"bad luck"}}`: `lastError.category: "bad luck", want one of ` +
			`tool_failure`,
		selects + `"history":[{"agent":"a","status":"success","error":{}}]}`: `history[0].error.category: ""`,
		among + `"lastExecution":{}}`:                                        "lastExecution.agent is missing",
		among + `"lastExecution":{"agent":"a","status":"well"}}`: `lastExecution.status: "well", want one of ` +
			`success, failure, timeout, cancelled`,
	} {
		inProcess(raw, "decide", "--input", "-", "--decider", "rules").ended(t, raw, contract.ExitUsage, want)
	}
	// No candidate: no decision.
	inProcess(`{"task":"x","availableAgents":[]}`, "decide", "--input", "-", "--decider", "rules").ended(t,
		"no candidate", contract.ExitFailed, "no agent")
}

// TestExplainedCostOfARehearsal: the explanation marks the cost of a rehearsal as simulated.
func TestExplainedCostOfARehearsal(t *testing.T) {
	for _, rehearsal := range []bool{false, true} {
		var d runstore.Decision
		d.Number = 1
		d.Decision = decider.Decision{Decision: decider.Complete, Source: decider.ByModel,
			Usage: decider.Usage{CostUSD: 0.25}}
		var text bytes.Buffer
		subcommands.WriteExplanation(&text, subcommands.ExplainDecision("run", rehearsal, d, nil))
		testkit.Check(t, strings.Contains(text.String(), "$0.2500") &&
			strings.Contains(text.String(), " simulated") == rehearsal, "rehearsal %v:\n%s", rehearsal, text.String())
	}
}

// write writes a file, creates its directories, and returns its path.
func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o700), os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestTemplatesOverrideEachOther(t *testing.T) {
	r := newJournal(t, byRules(t, "Weave on"))
	prompt := func(args ...string) string {
		out, _ := r.arbiter(contract.ExitComplete, append([]string{"decide", "--number", "1", r.id}, args...)...)
		_, after, _ := strings.Cut(out, "\nprompt, by the templates found now (it was not read for this decision):\n")
		return strings.TrimSpace(after)
	}
	testkit.Includes(t, "", prompt(), "Weave on")
	write(t, "The user's: {{.Task}}", "config", "arbiter", "prompts", "select.md")
	write(t, "The workspace's: {{.Task}}", ".arbiter", "prompts", "select.md")
	write(t, "no template: it has another name", ".arbiter", "prompts", "notes.txt")
	testkit.Same(t, "in a workspace that is not trusted", "The user's: Weave on", prompt())
	testkit.Same(t, "in a trusted one", "The workspace's: Weave on", prompt("--trust"))
}

// TestTemplatesThatCannotBeUsed: faulty templates are reported before anything starts, with file and line. More faults
// of their text are in the decider's TestBadTemplatesAreReported.
func TestTemplatesThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want []string
	}{
		{"no such member", func(t *testing.T, dir string) { write(t, "one\ntwo\n{{.Tusk}}", dir, "evaluate.md") },
			[]string{"evaluate.md", ":3", "Tusk"}},
		{"too large", func(t *testing.T, dir string) {
			write(t, strings.Repeat("x", settings.MaxTemplate+1), dir, "select.md")
		}, []string{"select.md", "65536 bytes"}},
		{"a directory", func(t *testing.T, dir string) { write(t, "x", dir, "select.md", "inside") },
			[]string{"select.md", "not a regular file"}},
		{"a pipe", func(t *testing.T, dir string) {
			testkit.OK(t, os.MkdirAll(dir, 0o700), syscall.Mkfifo(filepath.Join(dir, "select.md"), 0o600))
		}, []string{"select.md", "not a regular file"}},
		{"a link", func(t *testing.T, dir string) {
			target := write(t, "{{.Task}}", filepath.Dir(dir), "elsewhere.md")
			write(t, "", dir, "notes.txt")
			testkit.OK(t, os.Symlink(target, filepath.Join(dir, "select.md")))
		}, []string{"select.md", "a link"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newJournal(t)
			c.make(t, filepath.Join(".arbiter", "prompts"))
			_, ofDecide := r.reading(contract.ExitUsage, string(encoded(t, aSelection("x"))), "decide", "--trust",
				"--input", "-", "--decider", "rules")
			here := testkit.Must(os.Getwd())(t)
			s := prepare(t, nil)
			s.cmd.Dir = here
			_, ofRun := s.output(int(contract.ExitUsage), "--json", "--stand-in", "--trust", "--no-input", "--task",
				"Weave")
			for _, want := range c.want {
				testkit.Includes(t, "lacks", ofDecide, want)
				testkit.Includes(t, "lacks", ofRun, want)
			}
		})
	}
}

// TestWorkflowByProviders: with every provider, the same task ends in the same way by the same decisions; these
// can be explained, and are the same when made again.
func TestWorkflowByProviders(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, provider := range settings.Providers {
		for _, p := range players(t) {
			t.Run(provider+"/"+p.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				asks := []string{"--decider-provider", provider, "--decider-max-tokens", "2000"}
				if provider != runconfig.ProviderClaude {
					asks = append(asks, "--decider-temperature", "0.3")
				}
				s := p.plays(t, "workflow", "Weave", append([]string{"--no-input", "--decider", "hybrid"}, asks...)...)
				r := s.finish(contract.ExitComplete)
				testkit.Same(t, "decisions", taskRulings("rules", "rules", "model", "rules", "rules", "model"), rulingsOf(s))
				testkit.Same(t, "states", taskMoves, moves(s))
				testkit.Check(t, sums(r, "The loom stands in loom.txt.") && r.Iterations == 4, "result %+v", r)
				model := map[string]string{decider.OpenAI: decider.OpenAIModel,
					decider.APIAnthropic: decider.AnthropicModel}[provider]
				out, _ := s.output(0, "decide", "--explain", s.run(), "--number", "3")
				testkit.Includes(t, "explained without", out, "by         model "+model, "\nprompt, as it was read:\n",
					"\nsystem prompt, as it was read:\nYou ", "# What you decide",
					"answer, as it was given:\n{\"decision\":\"RETRY\"")
				out, _ = s.output(0, slices.Concat([]string{"replay", s.run(), "--decisions", "--scenario", "workflow",
					"--decider", "stateless", "--only", "3,6"}, p.args, asks)...)
				testkit.Check(t, strings.HasPrefix(out, "stateless: 2 asked, 2 the same"), "%v", out)
			})
		}
	}
}

// TestProviderSettings: each wrong setting is refused with what to do. A key that is given in place of its
// variable's name is not repeated in the error.
func TestProviderSettings(t *testing.T) {
	t.Parallel()
	s := prepare(t, nil)
	const key = "sk-live-4711-looms-and-threads"
	for _, c := range []struct {
		args  []string
		exit  contract.Exit
		words string
	}{
		{[]string{"--decider-provider", "codex"}, contract.ExitUsage, "claude, openai or anthropic"},
		{[]string{"--decider-base-url", "http://127.0.0.1:1"}, contract.ExitUsage, "--decider-provider openai"},
		{[]string{"--decider-provider", "openai", "--decider-base-url", "http://127.0.0.1:1"}, contract.ExitUsage,
			"--decider-model"},
		{[]string{"--decider-provider", "openai", "--decider-base-url", "ftp://x"}, contract.ExitUsage, "https://"},
		{[]string{"--decider-provider", "openai", "--decider-base-url", "http://models.example/v1", "--decider-key-env",
			"LOOM"}, contract.ExitUsage, "without encryption"},
		{[]string{"--decider-provider", "openai", "--decider-key-env", key}, contract.ExitUsage, "OPENAI_API_KEY"},
		{[]string{"--decider-temperature", "0.3"}, contract.ExitUsage, "Claude Code has no switch"},
		{[]string{"--decider-provider", "openai", "--decider-temperature", "3"}, contract.ExitUsage, "between 0 and 2"},
		{[]string{"--decider-provider", "openai", "--decider-temperature", "NaN"}, contract.ExitUsage,
			"use a number"},
		{[]string{"--decider-max-tokens", "-1"}, contract.ExitUsage, "between 0 and"},
		{[]string{"--decider-provider", "openai"}, contract.ExitEnvironment, "OPENAI_API_KEY is not set"},
		{[]string{"--decider-provider", "anthropic", "--decider-key-env", "LOOM"}, contract.ExitEnvironment,
			"LOOM is not set"},
	} {
		for _, command := range [][]string{{"--json", "--no-input", "--task", "Weave"}, {"decide", "--input", "-"}} {
			if command[0] == "decide" && c.exit == contract.ExitEnvironment {
				continue // it reads its input first
			}
			out, errs := s.output(int(c.exit), append(command, c.args...)...)
			if command[0] == "decide" && !strings.Contains(errs, "input") && !strings.Contains(errs, c.words) ||
				command[0] != "decide" && !strings.Contains(errs, c.words) || strings.Contains(out+errs, key) {
				t.Errorf("%v %v: %s%s", command, c.args, out, errs)
			}
		}
	}
}

// TestProviderInTheConfiguration: the configuration's blocks for the decider, in its own form and in that of
// the decision record, and for agents.
func TestProviderInTheConfiguration(t *testing.T) {
	s := prepare(t, []string{"LOOM=tapestry-4711"})
	for name, c := range map[string]struct {
		text, args string
		exit       contract.Exit
		words      string // of stderr
	}{
		"a block": {"decider: {kind: hybrid, provider: openai, base_url: http://127.0.0.1:1/v1, key_env: LOOM2, " +
			"model: m, max_tokens: 9, temperature: 0.5, effort: low, timeout: 5s}", "", contract.ExitEnvironment,
			"LOOM2 is not set"},
		"an unknown key": {"decider:\n  base-url: x", "", contract.ExitUsage, ":2: decider: unknown key \"base-url\""},
		"a wrong value": {"decider: {max_tokens: many}", "", contract.ExitUsage,
			"decider.max_tokens: \"many\" is not"},
		"twice": {"decider: {model: a}\ndecider-model: b", "", contract.ExitUsage,
			":2: decider-model: given twice"},
		"a plain value": {"decider: oracle", "", contract.ExitUsage, "decider \"oracle\""},
		"the record's": {"arbiter: {provider: openai, model: m, maxTokens: 1024, temperature: 0.3}", "",
			contract.ExitEnvironment, "OPENAI_API_KEY is not set"},
		"another agent": {"provider:\n  default: opencode", "", contract.ExitUsage,
			":2: provider.default: there is no make \"opencode\": configure it under makes; there are claude"},
		"another arbiter": {"arbiter: {provider: codex}", "", contract.ExitUsage, "claude, openai or anthropic"},
		"this agent": {"provider: {default: claude}\narbiter: {provider: codex}", "", contract.ExitUsage,
			"\"codex\""},
		"no mapping": {"arbiter: opus", "", contract.ExitUsage, "arbiter"},
		// A key is not sent to an address that comes from another source.
		"a key for another address": {"decider: {provider: openai, key_env: LOOM, base_url: http://127.0.0.1:1/v1}",
			"--decider-provider anthropic", contract.ExitEnvironment, "ANTHROPIC_API_KEY is not set"},
	} {
		file := write(t, c.text+"\n", t.TempDir(), "config.yaml")
		args := append([]string{"--json", "--no-input", "--task", "Weave", "--config", file}, strings.Fields(c.args)...)
		testkit.Includes(t, name, stderrOf(s.output(int(c.exit), args...)), c.words)
	}
	t.Run("is played", func(t *testing.T) {
		s := prepare(t, nil, "--json", "--no-input", "--stand-in", "--scenario", "workflow", "--task", "Weave")
		dir := filepath.Join(s.cmd.Dir, ".config", "arbiter")
		testkit.OK(t, os.MkdirAll(dir, 0o700))
		write(t, "provider: {default: claude-code}\narbiter: {provider: claude, maxTokens: 1024, temperature: 0.3}\n"+
			"decider: rules\n", dir, "config.yaml")
		s.launch()
		s.finish(contract.ExitComplete)
		testkit.Includes(t, "", s.stderr.String(), "temperature of the configuration is not used")
	})
}
