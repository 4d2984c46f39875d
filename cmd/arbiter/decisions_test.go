package main

import (
	"bytes"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
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
)

// aRun is a run whose journal holds given inputs, in its own home.
type aRun struct {
	t  *testing.T
	id string
}

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
	const id = "0f3b8a52-6d1a-4a0e-9d43-2f1f6a1f0001"
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
			if err != nil {
				t.Fatal(err)
			}
		}
		s = after
	}
	ctx, cancel := context.WithTimeout(context.Background(), waitTimeout)
	defer cancel()
	testkit.OK(t, run.Finish(ctx, contract.StatusComplete))
	testkit.OK(t, run.Close())
	return aRun{t, id}
}

// arbiter runs a command in this process; it starts no other process.
func (r aRun) arbiter(want contract.Exit, args ...string) (stdout, stderr string) {
	return r.reading(want, "", args...)
}

func (r aRun) reading(want contract.Exit, stdin string, args ...string) (stdout, stderr string) {
	r.t.Helper()
	var out, errs bytes.Buffer
	code := run(append([]string{"arbiter"}, args...), strings.NewReader(stdin), &out, &errs)
	if code != int(want) {
		r.t.Errorf("arbiter %s: exit code %d, want %d\n%s%s", strings.Join(args, " "), code, want, out.String(),
			errs.String())
	}
	return out.String(), errs.String()
}

// aSelection is an input with a task; without a plan or a history the rules choose the planner.
func aSelection(task string) decider.SelectAgentInput {
	return decider.SelectAgentInput{
		Task: task, History: []decider.ExecutionSummary{},
		AvailableAgents: []decider.AgentDescription{
			{Name: "developer", DisplayName: "developer", WhenToUse: "to write code"},
			{Name: "planner", DisplayName: "planner", WhenToUse: "to plan"},
		},
		Constraints: decider.DecisionConstraints{MaxIterations: 50, IterationsRemaining: 50, MaxConsecutiveFailures: 3},
	}
}

func encoded(t *testing.T, v any) json.RawMessage {
	t.Helper()
	raw := testkit.Must(json.Marshal(v))(t)
	return raw
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
	if len(lines) != 5 {
		t.Fatalf("%d lines:\n%s", len(lines), out)
	}
	for i, want := range [][]string{
		{"NUMBER", "RECORD", "REASON"},
		{"1", "select", "model", "SELECT_MODE planner", "there is no plan"},
		{"2", "session", "SELECT_MODE developer"},
		{"3", "talk", "ADDRESS_HUMAN"},
		{"4", "evaluate", "failed", "no answer"},
	} {
		for _, word := range want {
			if !strings.Contains(lines[i], word) {
				t.Errorf("line %d lacks %q: %s", i, word, lines[i])
			}
		}
	}
	if strings.ContainsAny(out, "\x1b\x07") {
		t.Errorf("what a model wrote reaches the terminal: %q", out)
	}
	// Without an id, the latest run of this directory is used.
	if latest, _ := r.arbiter(contract.ExitComplete, "decide", "--explain"); latest != out {
		t.Errorf("the latest run:\n%s", latest)
	}
	raw, _ := r.arbiter(contract.ExitComplete, "decide", r.id, "--explain", "--json")
	var all []subcommands.Explanation
	if err := json.Unmarshal([]byte(raw), &all); err != nil || len(all) != 4 {
		t.Fatalf("%d decisions, %v:\n%s", len(all), err, raw)
	}
	if all[0].Decision.Prompt != "" || all[0].Decision.Mode != "planner" || all[3].Failed != "no answer" ||
		all[3].Decision != nil {
		t.Errorf("%s", raw)
	}
}

func TestExplainShowsOneWhole(t *testing.T) {
	r := newJournal(t, threeDecisions(t)...)
	out, _ := r.arbiter(contract.ExitComplete, "decide", "--explain", r.id, "--number", "1")
	for _, want := range []string{
		"1 (select)", "model, attempts: 2, $0.0125", "SELECT_MODE planner", "there is no plan", "Plan it.",
		"could not be used", `"task": "Weave"`, "prompt, as it was read", "the prompt", "as it was",
		"answer, as it was given",
	} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "\x1b") || strings.Contains(out, "by the templates") {
		t.Errorf("escapes, or a prompt beside the one that was read:\n%q", out)
	}
	onScreen, err := clients.NewScreen(command.Env{},
		settings.Choices{StateDir: filepath.Join(os.Getenv("XDG_STATE_HOME"), "arbiter")}).
		Explain(t.Context(), r.id, 1)
	if err != nil || onScreen+"\n" != out {
		t.Errorf("the screen shows, %v:\n%s\nexplained is:\n%s", err, onScreen, out)
	}
	// A decision of the Arbiter's session was made from the messages that the Arbiter read; it has no prompt.
	out, _ = r.arbiter(contract.ExitComplete, "decide", "--number", "2", r.id)
	for _, want := range []string{"about      orch-2", "messages, as the Arbiter read them", "orch-2 is done",
		"Weave on"} {
		if !strings.Contains(out, want) {
			t.Errorf("lacks %q:\n%s", want, out)
		}
	}
	if strings.Contains(out, "by the templates") {
		t.Errorf("the explanation shows a prompt that no model received:\n%s", out)
	}
	raw, _ := r.arbiter(contract.ExitComplete, "decide", "--number", "2", "--json", r.id)
	var x subcommands.Explanation
	if err := json.Unmarshal([]byte(raw), &x); err != nil || x.Rendered != nil ||
		!strings.Contains(x.Decision.Prompt, "orch-2 is done") || x.Record != 2 {
		t.Errorf("%v: %s", err, raw)
	}
	// Talk has no input.
	if out, _ = r.arbiter(contract.ExitComplete, "decide", "--number", "3", r.id); strings.Contains(out, "input:") ||
		strings.Contains(out, "prompt") {
		t.Errorf("talk:\n%s", out)
	}
	if _, errs := r.arbiter(contract.ExitUsage, "decide", "--number", "9", r.id); !strings.Contains(errs,
		"no decision 9") {
		t.Error(errs)
	}
	// Rules read no prompt: the explanation says that the templates' prompt was not read for the decision.
	r = newJournal(t, byRules(t, "Weave"))
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
		{[]string{"decide", "--input", "nowhere.json"}, "no such file"},
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
		if _, errs := r.arbiter(contract.ExitUsage, c.args...); !strings.Contains(errs, c.want) {
			t.Errorf("arbiter %s: %s", strings.Join(c.args, " "), errs)
		}
	}
}

func TestDecideOnAnInput(t *testing.T) {
	r := newJournal(t)
	in := string(encoded(t, aSelection("Weave")))
	out, _ := r.reading(contract.ExitComplete, in, "decide", "--input", "-", "--decider", "rules")
	if !strings.Contains(out, "SELECT_MODE planner") || !strings.Contains(out, "by         rules") {
		t.Error(out)
	}
	raw, _ := r.reading(contract.ExitComplete, `{"number":3,"input":`+in+`}`, "decide", "--input", "-", "--decider",
		"rules", "--json")
	var d decider.Decision
	if err := json.Unmarshal([]byte(raw), &d); err != nil || d.Mode != "planner" || d.Source != decider.ByRules {
		t.Errorf("%v: %s", err, raw)
	}
	evaluation := string(encoded(t, decider.EvaluateProgressInput{
		Task: "Weave", LastExecution: decider.ExecutionSummary{Agent: "developer", Status: decider.StatusFailure,
			Iteration: 1},
		AvailableAgents: aSelection("").AvailableAgents,
		Constraints: decider.DecisionConstraints{MaxIterations: 50, IterationsRemaining: 49, ConsecutiveFailures: 1,
			MaxConsecutiveFailures: 3},
	}))
	if out, _ := r.reading(contract.ExitComplete, evaluation, "decide", "--input", "-", "--decider",
		"rules"); !strings.Contains(out, "RETRY") {
		t.Error(out)
	}
	for raw, want := range map[string]string{
		"":                    "one JSON object",
		"[]":                  "one JSON object",
		`{"task":"x"}`:        "lastExecution",
		`{"input":7}`:         "one JSON object",
		in[:len(in)-1]:        "one JSON object",
		in + in:               "one JSON object",
		`{"tsk":"",` + in[1:]: "tsk",
		strings.Replace(in, `"maxIterations":50`, `"maxIterations":"50"`,
			1): "constraints.maxIterations: want a whole number, not a text",
		`7`:                       "one JSON object: want an object, not a number",
		`{"availableAgents":"x"}`: "availableAgents: want a list, not a text",
		// An incomplete input.
		`{"availableAgents":[]}`:                                                                    "the member task is missing or empty",
		`{"task":"x","availableAgents":[{"displayName":"x"}]}`:                                      "availableAgents[0].name is missing",
		`{"task":"x","availableAgents":[{"name":"a"},{"name":"a"}]}`:                                `there are two "a"`,
		`{"task":"x","availableAgents":[],"plan":{"steps":[],"currentStepIndex":7}}`:                "plan.currentStepIndex: 7, want 0 to 0",
		`{"task":"x","availableAgents":[],"plan":{"steps":[{"status":"done"}]}}`:                    `plan.steps[0].status: "done", want one of pending, in_progress`,
		`{"task":"x","availableAgents":[],"lastError":{"category":"bad luck"}}`:                     `lastError.category: "bad luck", want one of tool_failure`,
		`{"task":"x","availableAgents":[],"history":[{"agent":"a","status":"success","error":{}}]}`: `history[0].error.category: ""`,
		`{"task":"x","lastExecution":{}}`:                                                           "lastExecution.agent is missing",
		`{"task":"x","lastExecution":{"agent":"a","status":"well"}}`:                                `lastExecution.status: "well", want one of success, failure, timeout, cancelled`,
		`{"input":{"input":` + in +
			`}}`: "an input has the member",
	} {
		if _, errs := r.reading(contract.ExitUsage, raw, "decide", "--input", "-", "--decider",
			"rules"); !strings.Contains(errs, want) {
			t.Errorf("%.60q: %s", raw, errs)
		}
	}
	// No candidate: no decision.
	if _, errs := r.reading(contract.ExitFailed, `{"task":"x","availableAgents":[]}`, "decide", "--input", "-",
		"--decider", "rules"); !strings.Contains(errs, "no agent") {
		t.Error(errs)
	}
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
		if !strings.Contains(text.String(), "$0.2500") || strings.Contains(text.String(), " simulated") != rehearsal {
			t.Errorf("rehearsal %v:\n%s", rehearsal, text.String())
		}
	}
}

// write writes a file, creates its directories, and returns its path.
func write(t *testing.T, text string, path ...string) string {
	t.Helper()
	file := filepath.Join(path...)
	testkit.OK(t, os.MkdirAll(filepath.Dir(file), 0o700))
	testkit.OK(t, os.WriteFile(file, []byte(text), 0o600))
	return file
}

func TestTemplatesOverrideEachOther(t *testing.T) {
	r := newJournal(t, byRules(t, "Weave on"))
	prompt := func(args ...string) string {
		out, _ := r.arbiter(contract.ExitComplete, append([]string{"decide", "--number", "1", r.id}, args...)...)
		_, after, _ := strings.Cut(out, "\nprompt, by the templates found now (it was not read for this decision):\n")
		return strings.TrimSpace(after)
	}
	builtin := prompt()
	if !strings.Contains(builtin, "Weave on") {
		t.Fatal(builtin)
	}
	write(t, "The user's: {{.Task}}", "config", "arbiter", "prompts", "select.md")
	write(t, "The workspace's: {{.Task}}", ".arbiter", "prompts", "select.md")
	write(t, "no template: it has another name", ".arbiter", "prompts", "notes.txt")
	testkit.Same(t, "in a workspace that is not trusted", "The user's: Weave on", prompt())
	testkit.Same(t, "in a trusted one", "The workspace's: Weave on", prompt("--trust"))
}

// TestTemplatesThatCannotBeUsed: faulty templates are reported before anything starts, with file and line.
func TestTemplatesThatCannotBeUsed(t *testing.T) {
	for _, c := range []struct {
		name string
		make func(t *testing.T, dir string)
		want []string
	}{
		{"syntax", func(t *testing.T, dir string) { write(t, "fine\n{{.Task", dir, "select.md") },
			[]string{"select.md", ":2"}},
		{"no such member", func(t *testing.T, dir string) { write(t, "one\ntwo\n{{.Tusk}}", dir, "evaluate.md") },
			[]string{"evaluate.md", ":3", "Tusk"}},
		{"unknown name", func(t *testing.T, dir string) { write(t, "x", dir, "selekt.md") },
			[]string{"selekt.md", "brief.md, evaluate.md, select.md, state.md"}},
		{"too large", func(t *testing.T, dir string) {
			write(t, strings.Repeat("x", settings.MaxTemplate+1), dir, "select.md")
		}, []string{"select.md", "65536 bytes"}},
		{"no text", func(t *testing.T, dir string) { write(t, "Schl\xfcssel {{.Task}}", dir, "select.md") },
			[]string{"select.md", "not UTF-8"}},
		{"empty", func(t *testing.T, dir string) { write(t, "", dir, "select.md") },
			[]string{"select.md", "renders nothing"}},
		{"a directory", func(t *testing.T, dir string) { write(t, "x", dir, "select.md", "inside") },
			[]string{"select.md", "not a regular file"}},
		{"a pipe", func(t *testing.T, dir string) {
			testkit.OK(t, os.MkdirAll(dir, 0o700))
			testkit.OK(t, syscall.Mkfifo(filepath.Join(dir, "select.md"), 0o600))
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
				if !strings.Contains(ofDecide, want) || !strings.Contains(ofRun, want) {
					t.Errorf("lacks %q:\n%s\n%s", want, ofDecide, ofRun)
				}
			}
		})
	}
}

// TestBuiltInTemplatesCanBeReplacedByThemselves: the output of --template can be used as a template.
func TestBuiltInTemplatesCanBeReplacedByThemselves(t *testing.T) {
	r := newJournal(t)
	for _, name := range decider.PromptNames() {
		text, _ := r.arbiter(contract.ExitComplete, "decide", "--template", name)
		write(t, text, ".arbiter", "prompts", name)
	}
	r.reading(contract.ExitComplete, string(encoded(t, aSelection("x"))), "decide", "--trust", "--input", "-",
		"--decider", "rules")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"select"}, `--template "select": use one of brief.md, evaluate.md, select.md, state.md`},
		{[]string{"arbiter.md"}, "use one of"},
		{[]string{"../set.go"}, "use one of"},
		{[]string{""}, "use one of"},
		{[]string{"select.md", "--number", "1"}, "takes no other flag"},
		{[]string{"select.md", "run"}, "takes no other flag"},
	} {
		if _, errs := r.arbiter(contract.ExitUsage,
			append([]string{"decide", "--template"}, c.args...)...); !strings.Contains(errs, c.want) {
			t.Errorf("%q: %s", c.args, errs)
		}
	}
}
