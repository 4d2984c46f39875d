package view

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
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
		testkit.Need(t, err == nil, "%s: %v", typed, err)
		var got any
		got, is, err := CommandsFor(s, c)
		if err != nil {
			got = err.Error()
		}
		diff := cmp.Diff(want, got)
		testkit.Check(t, diff == "" && is, "%s (-want +got):\n%s", typed, diff)
	}
	testkit.Includes(t, "listed as", criteria(s),
		"1. It is fast. (make bench), set by the human: failed when it was last judged")
	testkit.Same(t, "the run's own criteria were written to", 2, len(s.Task.Acceptance.Criteria))
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
		got, ok, _ := CommandsFor(nil, c)
		diff := cmp.Diff(want, got)
		testkit.Check(t, diff == "" && ok == (want != nil), "%q (-want +got):\n%s", typed, diff)
	}
}

// TestAgentsByName: a command takes the name of an agent, as the screen shows it, in the place of its id.
func TestAgentsByName(t *testing.T) {
	a := &supervisor.Agent{}
	a.ID, a.Name, a.Role = "orch-2", "Orchestrator II", supervisor.RoleOrchestrator
	s := &supervisor.State{Roster: supervisor.Roster{Agents: []*supervisor.Agent{a}}}
	for typed, want := range map[string]contract.CommandBody{
		"/to orchestrator ii a word":  contract.Say{To: "orch-2", Text: "a word"},
		"/kill Orchestrator II":       contract.Kill{ID: "orch-2"},
		"/kill ORCH-2":                contract.Kill{ID: "orch-2"},
		"/kill Orchestrator III":      contract.Kill{ID: "Orchestrator III"},
		"/model opus Orchestrator II": contract.Configure{Model: "opus", ID: "orch-2"},
	} {
		got, _, _ := CommandsFor(s, Addressed(s, testkit.Must(ParseSlash(typed))(t)))
		testkit.Check(t, cmp.Equal(want, got), "%q: %+v", typed, got)
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
		got, err := Permit(c, request)
		testkit.Check(t, err == nil && got == want, "%q: %+v, %v", typed, got, err)
	}
}

// TestSlashAnswers: answers that are read from a state are correct, and safe to show.
func TestSlashAnswers(t *testing.T) {
	s := &supervisor.State{Task: supervisor.TaskState{Text: "weave\x1b[2J"}, Budget: supervisor.BudgetState{CostUSD: 1.25},
		Permission: input.PermissionState{Actions: []string{"a"}}}
	s.Options.Permissions, s.Options.Allow, s.Options.MaxCostUSD, s.Options.ContextWarn,
		s.Options.ContextCritical = "ask", []string{"Bash(\x1b]0;x\agit *)", "Bash(echo `id`)"}, 2, 70, 85
	s.Agents = []*supervisor.Agent{
		{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter"}, Role: supervisor.RoleArbiter},
			AgentSpending: supervisor.AgentSpending{CostUSD: 0.25}},
		{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1"}, Role: supervisor.RoleOrchestrator,
			Name: "Orchestrator I"}, AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentEnded},
			AgentSpending: supervisor.AgentSpending{CostUSD: 1}},
		{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-2"}, Role: supervisor.RoleOrchestrator,
			Name: "Orchestrator II"}, AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy},
			AgentSpending: supervisor.AgentSpending{CostUnknown: true},
			AgentContext: supervisor.AgentContext{Context: bridge.Context{Tokens: 50_000, Window: 200_000, Pct: 25,
				TurnsLeft: 9}}},
	}
	for text, want := range map[string][]string{
		contextSlash(s, ""): {"The Arbiter** nothing is known yet", "50000 of 200000 tokens, 25.0 %, about 9 turns",
			"70 %", "85 %"},
		contextSlash(s, "orch-1"): {"Orchestrator I"},
		contextSlash(nil, ""):     {"no such agent"},
		costSlash(s): {"**$1.2500** + ? in all, of $2.00 at most", "| Orchestrator I | $1.0000 |",
			"$0.0000 + ?"},
		costSlash(nil):                     {"Nothing yet"},
		permissions(s):                     {"**ask**", "`Bash(git *)`", "`` Bash(echo `id`) ``", "1 action."},
		permissions(nil):                   {"no run"},
		SlashAnswers["task"].Text(s, ""):   {"weave"},
		SlashAnswers["task"].Text(nil, ""): {"no task"},
		SlashName(nil, "orch-7"):           {"Orchestrator VII"},
		SlashName(s, "human"):              {"You"},
	} {
		testkit.Includes(t, "", text, want...)
		testkit.Check(t, !strings.ContainsAny(text, "\x1b\a"), "unsafe: %q", text)
	}
	testkit.Excludes(t, "one that is gone is listed", contextSlash(s, ""), "Orchestrator I**")
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
			testkit.Check(t, tt.clash == "" == (clashes == "") && strings.Contains(clashes, tt.clash),
				"clashes %q, want of %q", clashes, tt.clash)
			testkit.Same(t, "what is merged is merged again", false, d.Follow(laidSlash(tt.theirs)))
			changed := tt.want != tt.theirs
			testkit.Check(t, d.Changed() == changed, "changed: %v", !changed)
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
		want := len(before) + len(other)
		testkit.Need(t, len(got) == want, "seed %d: %d steps, want %d: %v", seed, len(got), want, got)
		for _, s := range before {
			testkit.Need(t, slices.Contains(got, s), "seed %d: %v is lost: %v", seed, s, got)
		}
		for _, text := range slices.Concat(mine, other) {
			testkit.Need(t, slices.ContainsFunc(got, func(s contract.Step) bool { return s.Text == text }),
				"seed %d: %q is lost: %v", seed, text, got)
		}
		testkit.Need(t, len(d.Clashes()) == 0, "seed %d: %v", seed, d.Clashes())
	}
}

// TestHosts: the list shows the state of each host, its agents, and how a parked one is retried.
func TestHosts(t *testing.T) {
	testkit.Includes(t, "without hosts", hosts(&supervisor.State{}), "this machine")
	s := &supervisor.State{}
	s.Options.Hosts = []runconfig.Host{{Name: "box", Slots: 2}, {Name: "gpu", Slots: 1}, {Name: "spare", Slots: 4}}
	s.Lifecycle.Bridges = []supervisor.Bridge{{Up: true}, {Host: "box", Up: true, Status: supervisor.StatusUp},
		{Host: "gpu", Status: supervisor.StatusDown, Parked: true, Reason: "Permission denied\x1b[2J (publickey)"}}
	a := &supervisor.Agent{}
	a.ID, a.Name, a.Role, a.Host = "orch-1", "Orchestrator I", supervisor.RoleOrchestrator, "box"
	s.Agents = []*supervisor.Agent{a}
	text := hosts(s)
	testkit.Includes(t, "it does not say", text, "| box | up | Orchestrator I @box | 2 |",
		"| gpu | parked: Permission denied",
		"| spare | not used yet |  | 4 |", "`/choose retry host gpu`")
	testkit.Excludes(t, "", text, "\x1b")
	s.Lifecycle.Bridges[2].Reason = "usage: login | exit *now*"
	var shown strings.Builder
	for _, l := range render.Markdown(hosts(s), render.MarkdownOptions{Width: 200}) {
		shown.WriteString(strings.Join(strings.Fields(l.Text()), " ") + "\n")
	}
	testkit.Includes(t, "a bar in a reason", shown.String(), "\ngpu parked: usage: login | exit *now* 1\n")
	for range 20 {
		s.Agents = append(s.Agents, a)
	}
	testkit.Same(t, "agents on a host", 21, strings.Count(hosts(s), "Orchestrator I @box"))
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
			testkit.Check(t, want == "", "%s: %v", typed, err)
			continue
		}
		got, err := amended(s, c)
		if problem, ok := strings.CutPrefix(want, "error: "); ok {
			testkit.Check(t, err != nil && strings.HasPrefix(err.Error(), problem), "%s: error %v, want %q", typed, err,
				problem)
			continue
		}
		diff := cmp.Diff(contract.SetPlan{Steps: laidSlash(want)}, got)
		testkit.Check(t, diff == "" && err == nil, "%s (-want +got), %v:\n%s", typed, err, diff)
	}
	testkit.Same(t, "the run's own plan was changed", laidSlash("+read *build ship:tester"), s.Task.Plan)
	_, err := amended(nil, EditorCommand{Name: "plan", Args: []string{"add", "x"}})
	testkit.Check(t, err != nil, "a plan was made of no run")
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
	testkit.Includes(t, "", text, "## weaver", `\# Use it`, "tools: `Read`, `` Ed`it ``, but not `Bash`", "model: `haiku`",
		"limits: 9 turns, $2.00", "from: `/p/.arbiter/agents/weaver.md`", "tools: none", "model: `the run's`",
		"from: `built-in`", "last success 2026-03-01 12:00:00")
	testkit.Excludes(t, "unsafe", text, "\x1b")
	if text = SlashAgents(nil); !strings.Contains(text, "## developer") {
		t.Errorf("without a run there are no built-in ones:\n%s", text)
	}
}

// An agent's activity is named as on all other screens: without the prefix of an MCP server.
func TestAgentLine(t *testing.T) {
	for _, tt := range []struct{ doing, want string }{
		{"Bash", "Bash"},
		{"mcp__arbiter__spawn_orchestrator", "spawn_orchestrator"},
		{"mcp__loom__spin", "loom: spin"},
		{"Look for \x1b[31mnames", "Look for names"},
	} {
		a := supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{Role: supervisor.RoleOrchestrator},
			AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy},
			AgentTurn:    supervisor.AgentTurn{ToolCall: &supervisor.RunningTool{Tool: tt.doing}}}
		testkit.Same(t, fmt.Sprintf("%q is shown as", tt.doing), tt.want,
			AgentRow(&supervisor.State{}, &a, nil, Work{}, time.Now()).Doing)
	}
	gone := supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{Role: supervisor.RoleArbiter},
		AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentEnded}}
	testkit.Check(t, AgentRow(&supervisor.State{}, &gone, nil, Work{}, time.Now()).Past,
		"an Arbiter that is gone is shown as one that lives")
}

// An agent that is instructed to be quiet is shown as quiet until it shows another sign of work.
func TestQuietAgent(t *testing.T) {
	now := time.Now()
	s := &supervisor.State{}
	s.Options.QuietAfter = 5 * time.Minute
	a := supervisor.Agent{AgentIdentity: supervisor.AgentIdentity{Role: supervisor.RoleOrchestrator},
		AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy, Since: now.Add(-time.Hour),
			Watch: supervisor.AgentWatch{Silent: true}}}
	for seen, want := range map[time.Duration]bool{6 * time.Minute: true, time.Minute: false} {
		w := Work{AgentActivity: eventtext.AgentActivity{Seen: now.Add(-seen)}}
		line := AgentRow(s, &a, Inbox(s), w, now)
		testkit.Check(t, (line.State == "quiet") == want, "heard of %s ago, it is %q", seen, line.State)
	}
}

// A step, or an agent's own task, may have any length; it is drawn with each frame.
func TestStepsAreShort(t *testing.T) {
	s := &supervisor.State{
		Task: supervisor.TaskState{
			AgentTasks: []contract.Tasks{{Agent: "orch-1",
				Items: []contract.Step{{Text: strings.Repeat("長い ", 400_000), Status: "active"},
					{Text: "\x1b[1mshort\x1b[m"}}}}}}
	for _, list := range [][]PageStep{SnapshotSteps(s, s.Task.AgentTasks[0].Items), SnapshotTasks(s)[0].Items} {
		long := list[0].Text
		testkit.Check(t, len(long) <= 5000 && strings.HasSuffix(long, "…") && strings.HasPrefix(long, "長い 長い") &&
			utf8.ValidString(long) && !strings.Contains(long, "\ufffd") && list[1].Text == "short",
			"%d bytes, ending in %q", len(long), long[max(len(long)-20, 0):])
	}
}

// TestModels: Claude Code's report comes first, and unknown values are shown as unknown.
func TestModels(t *testing.T) {
	s := &supervisor.State{}
	s.Options.Model = "claude-opus-9"
	s.Agents = []*supervisor.Agent{{AgentIdentity: supervisor.AgentIdentity{AgentRef: bridge.AgentRef{ID: "arbiter"}},
		AgentProcess: supervisor.AgentProcess{Status: supervisor.AgentBusy}}}
	used := []contract.ModelCost{{Model: "claude-sonnet-4-5-20250929", CostUSD: 1.5, Window: 200_000},
		{Model: "evil\x1b[31m\nmodel", CostUSD: 0.25, Window: 1_000_000}}
	list := SnapshotModels(s, used)
	for i, want := range []string{
		"claude-sonnet-4-5-20250929: $3 in, $15 out; 200k window; $1.50 here",
		"evil model: price unknown; 1M window; $0.25 here",
		"claude-opus-9: price unknown; window unknown; in use",
		"opus: price unknown; window unknown",
	} {
		testkit.Same(t, fmt.Sprintf("model %d", i), want, list[i].Name+": "+list[i].About())
	}
	testkit.Includes(t, "without a run", ModelsText(nil, nil), "claude-haiku-4-5: $1 in, $5 out", PricesOf)
}

// TestNow: the text says the same as the tiles.
func TestNow(t *testing.T) {
	now := time.Date(2000, 1, 1, 0, 1, 0, 0, time.UTC)
	agent := func(id, name string, change func(a *supervisor.Agent)) *supervisor.Agent {
		a := &supervisor.Agent{}
		a.ID, a.Name, a.Role, a.Status = id, name, supervisor.RoleOrchestrator, supervisor.AgentBusy
		a.Since = now.Add(-40 * time.Second)
		change(a)
		return a
	}
	s := &supervisor.State{Options: runconfig.Options{CWD: "/loom", Permissions: "ask"}}
	s.Agents = []*supervisor.Agent{
		agent("arbiter", "The Arbiter",
			func(a *supervisor.Agent) { a.Role, a.Status = supervisor.RoleArbiter, supervisor.AgentReady }),
		agent("orch-1", "Orchestrator I", func(a *supervisor.Agent) {
			a.Mode, a.CostUSD, a.Context = "developer", 0.41, bridge.Context{Tokens: 68_000, Window: 200_000, Pct: 34}
		}),
		agent("orch-2", "Orchestrator II", func(*supervisor.Agent) {}),
		agent("orch-3", "Orchestrator III", func(a *supervisor.Agent) {
			a.Backoff = &supervisor.AgentBackoff{Category: bridge.CatOverloaded, Attempt: 2, Until: now.Add(24 * time.Second)}
		}),
		agent("orch-4", "Orchestrator IV", func(a *supervisor.Agent) { a.Status = supervisor.AgentEnded }),
		agent("orch-5", "Orchestrator V", func(*supervisor.Agent) {}),
		agent("orch-6", "Orchestrator VI", func(*supervisor.Agent) {}),
	}
	s.Permission.Open = []input.PermissionRequest{{ID: "p", At: now.Add(-9 * time.Second),
		Params: bridge.PermissionParams{AgentRef: s.Agents[6].AgentRef, Tool: "Bash",
			Input: []byte(`{"command":"rm -rf build"}`)}}}
	work := map[string]Work{
		"orch-1": {
			AgentActivity: eventtext.AgentActivity{Items: []eventtext.ActivityItem{{At: now.Add(-12 * time.Second), Tool: "Read",
				Summary: "/loom/header/__init__.py"}}},
		},
		"orch-2": {AgentActivity: eventtext.AgentActivity{Subagents: []eventtext.SubagentActivity{
			{ID: "a", Name: "Look here", Began: now.Add(-30 * time.Second), Ended: now.Add(-10 * time.Second),
				Tokens: 18_000},
			{ID: "b", Name: "Look there", Began: now.Add(-30 * time.Second), Tokens: 36_000,
				Doing: eventtext.ActivityItem{Tool: "Grep", Summary: "ReadHeader"}},
		}}},
		"orch-5": {Writing: "One line.\nAnd these are the words"},
	}
	want := `- **The Arbiter**: waits, for 40 s.
- **Orchestrator I** (developer): ` + "`Read header/__init__.py`" + `, for 12 s; context 34 %, $0.41.
- **Orchestrator II**: Look there, for 30 s.
  - Look here: done, for 20 s, 18k tokens
  - Look there: Grep ReadHeader, for 30 s, 36k tokens
- **Orchestrator III**: API overloaded, again in 0:24, attempt 2.
- **Orchestrator V**: writes: And these are the words.
- **Orchestrator VI**: permission?: Bash rm -rf build, for 9 s.

Permission mode: ask.`
	testkit.Same(t, "", want, Now(s, func(id string) Work { return work[id] }, now))
	testkit.Same(t, "before a run", "There is no run yet.", Now(nil, nil, now))
	testkit.Includes(t, "without agents", Now(&supervisor.State{}, nil, now), "No agent is at work.")
}

// TestQuotaInTheStatusLine: the fullest window, how long it lasts if it is nearly used up, and why nothing is sent.
func TestQuotaInTheStatusLine(t *testing.T) {
	noon := time.Date(2026, 3, 14, 12, 0, 0, 0, time.UTC)
	s := &supervisor.State{}
	d := SnapshotStatus(s, Inbox(s), noon)
	testkit.Check(t, d.Quota == "" && !d.Scarce, "told of %q where nothing is known", d.Quota)
	s.Budget.Read("seven_day", 30, noon.Add(48*time.Hour), noon)
	s.Budget.Read("five_hour", 50, noon.Add(3*time.Hour), noon)
	d = SnapshotStatus(s, Inbox(s), noon)
	testkit.Check(t, d.Quota == "plan 50 %" && !d.Scarce, "%q, scarce %v", d.Quota, d.Scarce)
	s.Budget.Read("five_hour", 81, noon.Add(3*time.Hour), noon.Add(31*time.Minute))
	d = SnapshotStatus(s, Inbox(s), noon.Add(31*time.Minute))
	testkit.Check(t, d.Quota == "plan 81 %, 19 min left" && d.Scarce, "%q, scarce %v", d.Quota, d.Scarce)
	s.Budget.HeldUntil = noon.Add(3 * time.Hour)
	d = SnapshotStatus(s, Inbox(s), noon)
	testkit.Check(t, strings.Contains(d.Word, "until Sat 15:00"), "the word is %q", d.Word)
	d = SnapshotStatus(s, Inbox(s), noon.Add(4*time.Hour))
	testkit.Check(t, d.Quota == "plan 30 %", "after the reset: %q", d.Quota)
}
