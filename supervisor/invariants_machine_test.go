package supervisor

import (
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// checkStep checks what holds for every step from one state to the next.
func checkStep(t *testing.T, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	checkMoves(t, before, after, f, out)
	checkNumbers(t, before, after, f, out)
	checkAnswered(t, before, after, f, out)
	if after.Task.TotalFailures < after.Task.Failures {
		t.Fatalf("%d failures in a row, and %d in all, after %T", after.Task.Failures, after.Task.TotalFailures, f)
	}
	if grown := after.Task.History.Len() - before.Task.History.Len(); grown > 1 {
		seen := map[string]bool{}
		for _, e := range after.Task.History.Last(grown) {
			if seen[e.ID] {
				t.Fatalf("%T ended two executions of %s", f, e.ID)
			}
			seen[e.ID] = true
		}
	}
	if before.Ending == nil && after.Ending != nil && len(after.Agents) > 0 && !after.Ending.Was.Live() {
		t.Fatalf("%T ended the run, and the task stood in %q", f, after.Ending.Was)
	}
}

// checkMoves: each `state` event is a row of the table, and together they lead from one state to the other.
func checkMoves(t *testing.T, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	at := before.Task.Phase
	_, none := f.(input.NoBridge)
	for _, e := range out {
		em, ok := e.(input.Emit)
		if !ok {
			continue
		}
		b, ok := em.Event.Body.(contract.State)
		if !ok {
			continue
		}
		if !none && at != "" && b.From != string(at) {
			t.Fatalf("%T led from %s, and the state was %s", f, b.From, at)
		}
		if !isRow(machine.State(b.From), machine.Trigger(b.Trigger), machine.State(b.To)) {
			t.Fatalf("the table has no row from %s by %s to %s", b.From, b.Trigger, b.To)
		}
		at = machine.State(b.To)
	}
	if _, began := f.(input.Began); at != after.Task.Phase && !none && !began {
		t.Fatalf("%T told that the state is %s, and it is %s", f, at, after.Task.Phase)
	}
}

func isRow(from machine.State, on machine.Trigger, to machine.State) bool {
	return slices.ContainsFunc(machine.Table, func(r machine.Row) bool {
		return r.On == on && slices.Contains(r.From, from) && (r.To == to || r.To == machine.Before && to.Live())
	})
}

// checkNumbers: decisions are reported and recorded in order, each with its own number.
func checkNumbers(t *testing.T, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	said, kept := before.Rulings.Decisions, before.Rulings.Decisions
	_, again := f.(input.Resumed) // those that a crash kept from the journal
	for _, e := range out {
		switch e := e.(type) {
		case input.Note:
			if n := e.Decision.Number; n > after.Rulings.Decisions || n <= kept && !again {
				t.Fatalf("%T had decision %d recorded after %d of %d", f, n, kept, after.Rulings.Decisions)
			}
			kept = max(kept, e.Decision.Number)
		case input.Decide:
			if e.Question.Number != after.Rulings.Decisions+1 || e.Question.Serial == 0 {
				t.Fatalf("question %d is for decision %d after %d", e.Question.Serial, e.Question.Number, after.Rulings.Decisions)
			}
		case input.Emit:
			if d, ok := e.Event.Body.(contract.Decision); ok {
				if d.Number <= said || d.Number > after.Rulings.Decisions {
					t.Fatalf("%T told decision %d after %d of %d", f, d.Number, said, after.Rulings.Decisions)
				}
				said = d.Number
			}
		}
	}
}

// checkWithheld: some decider decides on each verdict that the Arbiter does not read.
func checkWithheld(t *testing.T, s *State) {
	t.Helper()
	if s.budgetHolds() {
		return
	}
	if s.Ending != nil || !s.Task.Phase.Live() || s.Paused || s.Conversation.Held || s.Rulings.DeciderRequest != nil || !s.Lifecycle.IsUp(LifecycleHere) || len(s.Agents) == 0 {
		return
	}
	busy := s.Roster.EngagedBeside("") || s.Handoff.IsDue() || s.Agents[0].Status == AgentBusy ||
		s.Conversation.AsksArbiter()
	_, _, due := s.dueDecision()
	for _, m := range s.Conversation.Mail {
		if s.withholds(&m) && (due || m.EndsExecution() && !s.AnyWorks() || m.Kind == KindTask && !busy) {
			t.Fatalf("a %s of %s is withheld in %s, and no decider decides on it (decider %q, fallback mode %q, yielded %v)",
				m.Kind, m.From, s.Task.Phase, s.Options.Decider, s.Rulings.FallbackReason, s.Rulings.DeciderYielded)
		}
	}
}

// randomOptions are options of a run with limits that are soon reached.
func randomOptions(r *rand.Rand) runconfig.Options {
	o := runconfig.Options{Run: testRun, Delimiter: "d", CWD: "/w", HumanPresent: r.IntN(2) == 0, MaxExchanges: 8, MaxIterations: 6, MaxOrchestrators: 3,
		Cores: r.IntN(3)}
	if r.IntN(2) == 0 {
		o.Task = "t"
	}
	if r.IntN(4) == 0 {
		o.Timeout = time.Hour
	}
	if r.IntN(4) == 0 {
		o.QuotaReserve = 40
	}
	if r.IntN(4) == 0 {
		o.FuseUSD = 0.05
	}
	o.Trusted, o.TrustHash = r.IntN(2) == 0, "h0"
	switch r.IntN(4) {
	case 0:
		o.MaxExchanges, o.MaxIterations, o.MaxTotalFailures = 40, 30, 5
	case 1:
		o.MaxExchanges, o.MaxFailures, o.MaxCostUSD = 40, 6, 0.3
	}
	if r.IntN(3) == 0 {
		o.Modes = agents.List()
		limits := agents.Limits{MaxTurns: r.IntN(3), Timeout: time.Duration(r.IntN(2)) * time.Minute, MaxCostUSD: float64(r.IntN(2)) * 0.02}
		for i := range o.Modes {
			o.Modes[i].Limits = limits
		}
	}
	if r.IntN(2) == 0 {
		o.PermissionWait = 10 * time.Minute
	}
	return changedOptions(r, o)
}

// withHosts adds other hosts to the options of a run.
func withHosts(r *rand.Rand, o runconfig.Options) runconfig.Options {
	o.Hosts = []runconfig.Host{{Name: "box", Slots: 1}, {Name: "gpu", Slots: 2}}
	o.HereToo, o.Lease = r.IntN(2) == 0, time.Minute
	o.Workspace = runconfig.Workspace{Root: "/w", Base: "b", Own: "/own"}
	return o
}

// changedOptions changes options that may differ in another process of a run.
func changedOptions(r *rand.Rand, o runconfig.Options) runconfig.Options {
	o.Decider = []string{"", runconfig.DeciderSession, runconfig.DeciderRules, runconfig.DeciderHybrid, runconfig.DeciderStateless}[r.IntN(5)]
	if r.IntN(4) == 0 {
		o.Modes = nil
	}
	return o.WithDefaults()
}

// machineInput is an input that the task machine reacts to; nil: none.
func machineInput(r *rand.Rand, s *State) input.Body {
	command := func(b contract.CommandBody) input.Body {
		return input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r", Body: b}}
	}
	if len(s.Agents) == 0 {
		return nil
	}
	a := s.Agents[r.IntN(len(s.Agents))]
	switch r.IntN(9) {
	case 0:
		if options := s.LimitOptions(); options != nil && r.IntN(2) == 0 {
			return command(contract.Choose{Option: options[r.IntN(len(options))]})
		}
		if len(s.Question.Recovery.Options) > 0 {
			return command(contract.Choose{Option: s.Question.Recovery.Options[r.IntN(len(s.Question.Recovery.Options))]})
		}
		return command(contract.Choose{Option: "retry"})
	case 1:
		return input.Timer{Key: WorkLimitPrefix + a.AgentRef.ID}
	case 2:
		if r.IntN(6) == 0 {
			return input.NoBridge{Options: s.Options, Category: []bridge.Category{bridge.CatClaudeMissing, bridge.CatCrash}[r.IntN(2)], Message: "m"}
		}
		if s.Ending != nil || r.IntN(4) == 0 {
			return input.Resumed{Options: changedOptions(r, s.Options), Word: []string{"", "w"}[r.IntN(2)], Stay: r.IntN(2) == 0}
		}
		return command(contract.Continue{})
	case 3:
		modes := []string{"", "planner", "tester"}
		return command(contract.SetPlan{Steps: []contract.Step{
			{Text: "a", Status: contract.StepPending, Mode: modes[r.IntN(3)]}, {Text: "b", Status: contract.StepActive, Agent: a.ID},
		}})
	case 4:
		return command(contract.Kill{ID: a.ID})
	case 5:
		return command(contract.Say{Text: "x", To: a.ID})
	case 6:
		if a.Status == AgentBusy { // fails
			return input.AgentEvent{Event: bridge.Event{AgentRef: a.AgentRef, Body: bridge.Turn{
				MessageIDs: a.Turn, Outcome: bridge.TurnFailed, Category: []bridge.Category{bridge.CatInvalidRequest, bridge.CatTimeout, bridge.CatUsageLimit}[r.IntN(3)],
			}}}
		}
		return command(contract.ForceAgent{Mode: []string{"developer", "wizard"}[r.IntN(2)]})
	case 7:
		if a.Status == AgentBusy { // babbles
			return input.AgentEvent{Event: bridge.Event{AgentRef: a.AgentRef, Body: bridge.Turn{MessageIDs: a.Turn,
				Outcome: bridge.TurnDone, Text: "hm"}}}
		}
		if a.Status == AgentReady || a.Status == AgentStopping {
			return input.AgentEvent{Event: bridge.Event{AgentRef: a.AgentRef, Body: bridge.Done{SessionID: "s",
				Exit: bridge.Exit{Code: 1}}}}
		}
	case 8:
		if len(s.Handoff.Documents) > 0 {
			return randomProgress(r, s.Handoff.Documents[r.IntN(len(s.Handoff.Documents))])
		}
	}
	return nil
}
