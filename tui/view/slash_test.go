package view

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestAccept: a command is added to the criteria, one is dropped by its number, and invalid input is
// reported.
func TestAccept(t *testing.T) {
	s := &supervisor.State{Task: supervisor.TaskState{Acceptance: supervisor.AcceptanceState{
		Criteria: []supervisor.Criterion{
			{Text: "It is fast.", Command: "make bench", By: contract.Human},
			{Text: "It is clean.", Command: "make lint", By: contract.Arbiter},
		},
		Results: []supervisor.AcceptanceResult{{Criterion: supervisor.Criterion{Text: "It is fast.", Command: "make bench"},
			Status: supervisor.AcceptanceFailed}},
	}}}
	for typed, want := range map[string]any{
		"/accept go test ./...": contract.SetAcceptance{Criteria: []contract.AcceptanceCriterion{
			{Text: "It is fast.", Command: "make bench"}, {Text: "go test ./...", Command: "go test ./..."},
			{Text: "It is clean.", Command: "make lint", By: "arbiter"},
		}},
		"/accept drop 1": contract.SetAcceptance{Criteria: []contract.AcceptanceCriterion{
			{Text: "It is clean.", Command: "make lint", By: "arbiter"},
		}},
		"/accept drop 3": "there is no criterion 3: 2 criteria are set",
		"/accept drop x": `"x" is not a number of a criterion: /accept lists them`,
	} {
		c, err := ParseSlash(typed)
		if err != nil {
			t.Fatalf("%s: %v", typed, err)
		}
		var got any
		got, is, err := CommandsFor(s, c)
		if err != nil {
			got = err.Error()
		}
		if diff := cmp.Diff(want, got); diff != "" || !is {
			t.Errorf("%s (-want +got):\n%s", typed, diff)
		}
	}
	if text := criteria(s); !strings.Contains(text,
		"1. It is fast. (make bench), set by the human: failed when it was last judged") {
		t.Errorf("listed as %q", text)
	}
	if len(s.Task.Acceptance.Criteria) != 2 {
		t.Error("the run's own criteria were written to")
	}
}

func TestOf(t *testing.T) {
	for typed, want := range map[string]contract.CommandBody{
		"/plan set\n- one\n* two\n\nthree": contract.SetPlan{Steps: []contract.Step{{Text: "one", Status: "pending"},
			{Text: "two", Status: "pending"}, {Text: "three", Status: "pending"}}},
		"/plan":                       nil,
		"/plan show":                  nil,
		"/stop":                       contract.Interrupt{},
		"/stop at once":               contract.Say{Text: "at once", Strength: contract.Stop},
		"/to orch-2 a word\nor two":   contract.Say{To: "orch-2", Text: "a word\nor two"},
		"/help":                       nil,
		"/note orch-2 a word\nor two": contract.Say{To: "orch-2", Text: "a word\nor two", Strength: contract.Note},
		"/steer orch-1 use make":      contract.Say{To: "orch-1", Text: "use make", Strength: contract.Steer},
		"/steer orch-1x use make":     contract.Say{Text: "orch-1x use make", Strength: contract.Steer},
		"/steer the orch-1 way":       contract.Say{Text: "the orch-1 way", Strength: contract.Steer},
		"/stop orch-1":                contract.Interrupt{ID: "orch-1"},
		"/stop arbiter wait":          contract.Say{To: "arbiter", Text: "wait", Strength: contract.Stop},
	} {
		c, err := ParseSlash(typed)
		if err != nil {
			t.Errorf("%q: %v", typed, err)
			continue
		}
		got, ok := of(c)
		if diff := cmp.Diff(want, got); diff != "" || ok != (want != nil) {
			t.Errorf("%q (-want +got):\n%s", typed, diff)
		}
	}
}

func TestPermit(t *testing.T) {
	request := &input.PermissionRequest{ID: "p",
		Params: bridge.PermissionParams{Tool: "Bash", Input: []byte(`{"command":"go test ./..."}`)}}
	for typed, want := range map[string]contract.Permit{
		"/allow":                        {Request: "p", Behavior: "allow", Scope: "once"},
		"/allow run":                    {Request: "p", Behavior: "allow", Scope: "run"},
		"/allow always Bash(go test *)": {Request: "p", Behavior: "allow", Scope: "always", Rule: "Bash(go test *)"},
		"/deny":                         {Request: "p", Behavior: "deny"},
		"/deny not today":               {Request: "p", Behavior: "deny", Message: "not today"},
	} {
		c := testkit.Must(ParseSlash(typed))(t)
		want.Action = request.Key() // of the request, whatever the answer
		if got, err := Permit(c, request); err != nil || got != want {
			t.Errorf("%q: %+v, %v", typed, got, err)
		}
	}
}

// TestSlashAnswers: answers that are read from a state are correct, and safe to show.
func TestSlashAnswers(t *testing.T) {
	s := &supervisor.State{Task: supervisor.TaskState{Text: "weave\x1b[2J"}, Budget: supervisor.BudgetState{CostUSD: 1.25},
		Permission: input.PermissionState{Actions: []string{"a"}}}
	s.Options.Permissions, s.Options.Allow, s.Options.MaxCostUSD, s.Options.ContextWarn,
		s.Options.ContextCritical = "ask", []string{"Bash(\x1b]0;x\agit *)"}, 2, 70, 85
	s.Agents = []*supervisor.Agent{
		{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter"}, Role: supervisor.RoleArbiter},
			AgentSpending: supervisor.AgentSpending{CostUSD: 0.25}},
		{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1"}, Role: supervisor.RoleOrchestrator,
			Name: "Orchestrator I"}, AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentEnded},
			AgentSpending: supervisor.AgentSpending{CostUSD: 1}},
		{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-2"}, Role: supervisor.RoleOrchestrator,
			Name: "Orchestrator II"}, AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy},
			AgentContext: supervisor.AgentContext{Context: bridge.Context{Tokens: 50_000, Window: 200_000, Pct: 25,
				TurnsLeft: 9}}},
	}
	for text, want := range map[string][]string{
		contextSlash(s, ""): {"The Arbiter** nothing is known yet", "50000 of 200000 tokens, 25.0 %, about 9 turns",
			"70 %", "85 %"},
		contextSlash(s, "orch-1"): {"Orchestrator I"},
		contextSlash(nil, ""):     {"no such agent"},
		costSlash(s):              {"$1.2500", "$2.00 at most", "| Orchestrator I | $1.0000 |"},
		costSlash(nil):            {"Nothing yet"},
		permissions(s):            {"**ask**", "`Bash(git *)`", "1 action."},
		permissions(nil):          {"no run"},
		taskText(s):               {"weave"},
		taskText(nil):             {"no task"},
		SlashName(nil, "orch-7"):  {"Orchestrator VII"},
		SlashName(s, "human"):     {"You"},
	} {
		for _, w := range want {
			if !strings.Contains(text, w) {
				t.Errorf("%q lacks %q", text, w)
			}
		}
		if strings.ContainsAny(text, "\x1b\a") {
			t.Errorf("unsafe: %q", text)
		}
	}
	if strings.Contains(contextSlash(s, ""), "Orchestrator I**") {
		t.Error("one that is gone is told of")
	}
}

// laidSlash parses a plan in short form: "*build:tester" is an active step for the tester.
func laidSlash(short string) []contract.Step {
	plan := []contract.Step{}
	status := map[byte]string{'*': "active", '+': "done", '-': "skipped", '!': "failed"}
	for s := range strings.FieldsSeq(short) {
		step := contract.Step{Status: contract.StepPending}
		if st := status[s[0]]; st != "" {
			step.Status, s = st, s[1:]
		}
		step.Text, step.Mode, _ = strings.Cut(s, ":")
		plan = append(plan, step)
	}
	return plan
}

// TestDraftFollows: changes by the user and by the run to different things are all in the merged plan; if
// both changed the same thing, the user's version wins, and that is reported.
func TestDraftFollows(t *testing.T) {
	for name, tt := range map[string]struct {
		base   string
		mine   func(d *Draft)
		theirs string
		want   string
		clash  string // of what; empty: none
	}{
		"untouched": {"read build", func(*Draft) {}, "+read *build", "+read *build", ""},
		"other steps": {"*read build", func(d *Draft) { d.Mark(1, "skipped") }, "+read build", "+read -build",
			""},
		"other fields": {"read build", func(d *Draft) { d.SetMode(1, "tester") }, "read *build",
			"read *build:tester", ""},
		"the same": {"read build", func(d *Draft) { d.Mark(0, "done") }, "+read *build", "+read *build", ""},
		"one field": {"read build", func(d *Draft) { d.Mark(1, "skipped") }, "+read +build", "+read -build",
			"build"},
		"my text, their mark": {"read build", func(d *Draft) { d.SetText(1, "forge") }, "read *build", "read *forge",
			""},
		"both texts": {"read build", func(d *Draft) { d.SetText(1, "forge") }, "read cast", "read forge",
			"text"},
		"mine is added": {"read build", func(d *Draft) { d.Add(1, "plan") }, "+read build", "+read plan build",
			""},
		"theirs is added": {"read build", func(d *Draft) { d.Mark(0, "done") }, "read think build ship",
			"+read think build ship", ""},
		"both add":     {"read", func(d *Draft) { d.Add(1, "mine") }, "read theirs", "read theirs mine", ""},
		"both add one": {"read", func(d *Draft) { d.Add(1, "ship") }, "read *ship", "read *ship", ""},
		"mine is moved": {"read build ship", func(d *Draft) { d.Move(2, -2) }, "+read build ship",
			"ship +read build", ""},
		"mine is deleted": {"read build ship", func(d *Draft) { d.Delete(1) }, "+read build ship", "+read ship",
			""},
		"deleted, and done": {"read build ship", func(d *Draft) { d.Delete(1) }, "read +build ship", "read ship",
			"build"},
		"theirs is gone": {"read build ship", func(d *Draft) { d.Mark(0, "done") }, "read ship", "+read ship", ""},
		"gone, but changed": {"read build ship", func(d *Draft) { d.SetMode(1, "tester") }, "read ship",
			"read build:tester ship", "build"},
		"another plan":        {"read build", func(d *Draft) { d.Mark(0, "done") }, "a b c", "a b c +read", "read"},
		"emptied":             {"read build", func(d *Draft) { d.Mark(0, "done") }, "", "+read", "read"},
		"twice the same text": {"go go", func(d *Draft) { d.Mark(1, "skipped") }, "+go go", "+go -go", ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := NewDraft(laidSlash(tt.base))
			tt.mine(d)
			d.Follow(laidSlash(tt.theirs))
			testkit.Same(t, "merged", laidSlash(tt.want), d.Steps())
			clashes := strings.Join(d.Clashes(), "\n")
			if tt.clash == "" != (clashes == "") || !strings.Contains(clashes, tt.clash) {
				t.Errorf("clashes %q, want of %q", clashes, tt.clash)
			}
			if d.Follow(laidSlash(tt.theirs)) {
				t.Error("what is merged is merged again")
			}
			if changed := tt.want != tt.theirs; d.Changed() != changed {
				t.Errorf("changed: %v", !changed)
			}
		})
	}
}

// TestDraftLosesNothing: whatever both do, a step that one of them added or changed and the other left
// alone is in the merged plan, exactly once.
func TestDraftLosesNothing(t *testing.T) {
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 6))
		base := laidSlash("a b c d e")[:r.IntN(6)]
		d, theirs := NewDraft(base), slices.Clone(base)
		added := func(who string) string { return who + string(rune('A'+r.IntN(20))) }
		var mine []string
		for range 1 + r.IntN(4) {
			switch n := d.Len(); {
			case n == 0 || r.IntN(3) == 0:
				text := added("m")
				mine = append(mine, text)
				d.Add(r.IntN(n+1), text)
			case r.IntN(2) == 0:
				d.Move(r.IntN(n), r.IntN(5)-2)
			default:
				d.Mark(r.IntN(n), "done")
			}
		}
		var other []string
		for range r.IntN(4) {
			text := added("t")
			if slices.Contains(other, text) {
				continue
			}
			other = append(other, text)
			theirs = slices.Insert(theirs, r.IntN(len(theirs)+1), contract.Step{Text: text, Status: "pending"})
		}
		before := d.Steps()
		d.Follow(theirs)
		got := d.Steps()
		if want := len(before) + len(other); len(got) != want {
			t.Fatalf("seed %d: %d steps, want %d: %v", seed, len(got), want, got)
		}
		for _, s := range before {
			if !slices.Contains(got, s) {
				t.Fatalf("seed %d: %v is lost: %v", seed, s, got)
			}
		}
		for _, text := range slices.Concat(mine, other) {
			if !slices.ContainsFunc(got, func(s contract.Step) bool { return s.Text == text }) {
				t.Fatalf("seed %d: %q is lost: %v", seed, text, got)
			}
		}
		if len(d.Clashes()) > 0 {
			t.Fatalf("seed %d: %v", seed, d.Clashes())
		}
	}
}

// TestHosts: the list shows the state of each host, its agents, and how a parked one is retried.
func TestHosts(t *testing.T) {
	if text := hosts(&supervisor.State{}); !strings.Contains(text, "this machine") {
		t.Errorf("without hosts: %q", text)
	}
	s := &supervisor.State{}
	s.Options.Hosts = []runconfig.Host{{Name: "box", Slots: 2}, {Name: "gpu", Slots: 1}, {Name: "spare", Slots: 4}}
	s.Lifecycle.Bridges = []supervisor.Bridge{{Up: true}, {Host: "box", Up: true, Status: supervisor.StatusUp},
		{Host: "gpu", Status: supervisor.StatusDown, Parked: true, Reason: "Permission denied\x1b[2J (publickey)"}}
	a := &supervisor.Agent{}
	a.ID, a.Name, a.Role, a.Host = "orch-1", "Orchestrator I", supervisor.RoleOrchestrator, "box"
	s.Agents = []*supervisor.Agent{a}
	text := hosts(s)
	for _, want := range []string{"| box | up | Orchestrator I @box | 2 |", "| gpu | parked: Permission denied",
		"| spare | not used yet |  | 4 |", "`/choose retry host gpu`"} {
		if !strings.Contains(text, want) {
			t.Errorf("it does not say %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("%q", text)
	}
}

func TestAmend(t *testing.T) {
	s := &supervisor.State{Task: supervisor.TaskState{Plan: laidSlash("+read *build ship:tester")}}
	s.Options.Modes = []agents.Agent{{Name: "tester"}, {Name: "weaver"}}
	for typed, want := range map[string]string{
		"/plan add prove":       "+read *build ship:tester prove",
		"/plan 2 done":          "+read +build ship:tester",
		"/plan 2 skip":          "+read -build ship:tester",
		"/plan 2 FAIL":          "+read !build ship:tester",
		"/plan 3 start":         "+read *build *ship:tester",
		"/plan 1 pending":       "read *build ship:tester",
		"/plan 3 up":            "+read ship:tester *build",
		"/plan 1 down":          "*build +read ship:tester",
		"/plan 3 down":          "+read *build ship:tester",
		"/plan 2 delete":        "+read ship:tester",
		"/plan 2 text forge":    "+read *forge ship:tester",
		"/plan 2 mode weaver":   "+read *build:weaver ship:tester",
		"/plan 3 mode":          "+read *build ship",
		"/plan 4 done":          "error: there is no step 4",
		"/plan 2 dance":         `error: step 2: "dance" is none of done`,
		"/plan 2 done now":      `error: step 2: "done now" is none of done`,
		"/plan 2 text":          "error: step 2: its new text is missing",
		"/plan 2 mode wizard":   `error: step 2: there is no mode "wizard"; modes: tester, weaver`,
		"/plan 999999999999999": "",
	} {
		c, err := ParseSlash(typed)
		if err != nil {
			if want != "" {
				t.Errorf("%s: %v", typed, err)
			}
			continue
		}
		got, err := amended(s, c)
		if problem, ok := strings.CutPrefix(want, "error: "); ok {
			if err == nil || !strings.HasPrefix(err.Error(), problem) {
				t.Errorf("%s: error %v, want %q", typed, err, problem)
			}
			continue
		}
		if diff := cmp.Diff(contract.SetPlan{Steps: laidSlash(want)}, got); diff != "" || err != nil {
			t.Errorf("%s (-want +got), %v:\n%s", typed, err, diff)
		}
	}
	testkit.Same(t, "the run's own plan was changed", laidSlash("+read *build ship:tester"), s.Task.Plan)
	if _, err := amended(nil, EditorCommand{Name: "plan", Args: []string{"add", "x"}}); err == nil {
		t.Error("a plan was made of no run")
	}
}

func TestAgents(t *testing.T) {
	s := &supervisor.State{}
	s.Options.Modes = []agents.Agent{
		{Name: "weaver", Description: "# Use it\nto weave\x1b[2J", Tools: []string{"Read", "Ed`it"},
			DisallowedTools: []string{"Bash"}, Source: "/p/.arbiter/agents/weaver.md", Model: "haiku",
			Limits: agents.Limits{MaxTurns: 9, MaxCostUSD: 2}},
		{Name: "idler", Description: "never", Tools: []string{}},
	}
	s.Task.History = s.Task.History.Add(decider.DecisionExecution{Agent: "idler", Status: decider.StatusSuccess,
		CompletedAt: time.Date(2026, 3, 1, 12, 0, 0, 0, time.Local)})
	text := SlashAgents(s)
	for _, want := range []string{"## weaver", `\# Use it`, "tools: `Read`, `Ed'it`, but not `Bash`", "model: `haiku`",
		"limits: 9 turns, $2.00", "from: `/p/.arbiter/agents/weaver.md`", "tools: none", "model: `the run's`",
		"from: `built-in`", "last success 2026-03-01 12:00:00"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in:\n%s", want, text)
		}
	}
	if strings.Contains(text, "\x1b") {
		t.Errorf("unsafe: %q", text)
	}
	if text = SlashAgents(nil); !strings.Contains(text, "## developer") {
		t.Errorf("without a run there are no built-in ones:\n%s", text)
	}
}
