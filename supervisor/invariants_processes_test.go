package supervisor

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// alarms are the timers that are set, and the answers that are expected from the bridge, according to the
// effects so far.
type alarms map[string]bool

func opening(host string) string { return "opening a bridge " + host }

func probing(a bridge.AgentRef) string { return fmt.Sprintf("probing %s", a) }

// follow updates the alarms after one step.
func (l alarms) follow(f input.Body, out []input.Effect) {
	switch f := f.(type) {
	case input.Began, input.Resumed, input.NoBridge:
		clear(l) // they ended with the process
	case input.Timer:
		delete(l, f.Key)
	case input.Probed:
		delete(l, probing(f.Agent))
	case input.BridgeBack:
		delete(l, opening(f.Host))
	case input.BridgeFailed:
		delete(l, opening(f.Host))
	}
	for _, e := range out {
		switch e := e.(type) {
		case input.SetTimer:
			if delete(l, e.Key); e.After > 0 {
				l[e.Key] = true
			}
		case input.Probe:
			l[probing(e.Agent)] = true
		case input.OpenBridge:
			l[opening(e.Host)] = true
		}
	}
}

// check: whatever waits for a timer has one. An agent that is down is restarted by its timer, or by what holds
// it back.
func (l alarms) check(t *testing.T, s *State) {
	t.Helper()
	switch {
	case s.Ending != nil || len(s.Agents) == 0:
		return
	case !s.Lifecycle.IsUp(LifecycleHere) && !l[LifecycleTimerKey(LifecycleHere)] && !l[opening(LifecycleHere)]:
		t.Fatal("there is no bridge, and the run opens none")
	case s.Budget.Holds() && s.Task.Phase.Live() && !l[ResetTimer]:
		t.Fatal("the run waits for the reset of a usage window, and no timer wakes it")
	case s.Options.Timeout > 0 && !l[timeoutKey]:
		t.Fatal("the run has a time limit, and no timer")
	}
	l.checkHosts(t, s)
	for i := range s.Agents {
		a := s.Agents[i]
		switch {
		case a.Waits() && !s.Halted && s.Lifecycle.MayStart(a.Host) && !s.startsFull(a.Host):
			t.Fatalf("%s waits to start, and nothing starts before it", a.ID)
		case a.Status == AgentDown && !a.Waits() && s.Lifecycle.IsUp(a.Host) && !s.Halted &&
			s.Lifecycle.TrustQuestion == nil &&
			!l[RestartPrefix+RunOf(a.AgentRef)]:
			t.Fatalf("%s is down, and no timer brings it back", a.ID)
		case a.Status == AgentReady && a.Backoff != nil && !l[RetryPrefix+RunOf(a.AgentRef)],
			a.Status == AgentDown && a.Backoff != nil && !l[RestartPrefix+RunOf(a.AgentRef)]:
			t.Fatalf("%s is %s and said to wait for another attempt, and none comes", a.ID, a.Status)
		case (a.Status == AgentReady || a.Status == AgentBusy) && !l[WatchPrefix+RunOf(a.AgentRef)] &&
			!l[probing(a.AgentRef)]:
			t.Fatalf("%s is %s, and no timer watches it", a.ID, a.Status)
		case a.Role == RoleArbiter && a.Status == AgentReady && a.Troubles > 0 && s.Rulings.FallbackReason == "" &&
			!s.Paused && !s.Conversation.Held &&
			!(s.asksOther() && s.AnyWorks()) && // another decider has decided on what it was to read
			!l[RetryPrefix+RunOf(a.AgentRef)] && !s.pendingFor(a.ID) && s.Question.Open == nil && !s.Handoff.IsDue():
			t.Fatalf("%s has lost its turn, and no timer retries it", a.ID)
		}
	}
	for _, m := range s.Conversation.Mail {
		if m.Pauses && !slices.ContainsFunc(slices.Collect(maps.Keys(l)), func(key string) bool {
			return strings.HasPrefix(key, RhythmPrefix+m.To+"/")
		}) {
			t.Fatalf("a %s to %s pauses, and no timer ends that", m.Kind, m.To)
		}
	}
	for _, p := range s.Permission.Open {
		if wait := s.Options.PermissionWait; l[input.TimerPrefix+p.ID] != (wait > 0) || (p.Deadline != "") != (wait > 0) {
			t.Fatalf("permission %s: its limit is %s, its deadline %q", p.ID, wait, p.Deadline)
		}
	}
	for _, h := range s.Handoff.Documents {
		if s.Halted || s.Handoff.Overtakes(&h) {
			continue // an earlier one of the same author has a timer
		}
		if !l[fmt.Sprint(HandoffTimerPrefix, h.Serial)] {
			t.Fatalf("document %d of %s waits without a limit", h.Serial, h.Agent.ID)
		}
	}
}

// checkHosts: a host that is waited for comes back by a timer or an answer. A host on which an agent has to run
// is waited for, or parked.
func (l alarms) checkHosts(t *testing.T, s *State) {
	t.Helper()
	for _, b := range s.Lifecycle.Bridges[1:] {
		awaited := b.Status == StatusLost || b.Status == StatusWaiting
		if awaited && !l[LifecycleTimerKey(b.Host)] && !l[opening(b.Host)] && !b.Ending {
			t.Fatalf("host %s is %s, and no timer opens it", b.Host, b.Status)
		}
		if b.Up != (b.Status == StatusUp) || b.Parked && b.Status != StatusDown {
			t.Fatalf("host %+v", b)
		}
	}
	for _, a := range s.Agents {
		b := s.Lifecycle.Bridge(a.Host)
		idle := !b.Up && !b.Parked && (b.Status == StatusDown || b.Status == "")
		waits := a.Status == AgentDown && !s.Halted && s.Lifecycle.TrustQuestion == nil &&
			!l[RestartPrefix+RunOf(a.AgentRef)]
		if a.Host != LifecycleHere && idle && waits {
			t.Fatalf("%s waits for host %s, which no timer opens", a.ID, a.Host)
		}
	}
}

// hostInput is an input about another host, mostly an expected one.
func hostInput(r *rand.Rand, s *State) input.Body {
	host := s.Options.Hosts[r.IntN(len(s.Options.Hosts))].Name
	b := s.Lifecycle.Bridge(host)
	switch {
	case b.Parked:
		return byHuman(input.ChannelStdin, contract.Choose{Option: RetryOption(host)})
	case b.Up || b.Ending && r.IntN(2) == 0:
		return input.BridgeLost{Host: host, Message: "m"}
	case r.IntN(3) == 0:
		return input.Timer{Key: LifecycleTimerKey(host)}
	case r.IntN(3) == 0:
		return input.BridgeFailed{Host: host, Message: "m",
			Category: []bridge.Category{bridge.CatHost, bridge.CatInternal}[r.IntN(2)]}
	}
	return input.BridgeBack{Host: host, Dir: "/far", Cores: r.IntN(3)}
}

// handsInput is an input caused by the human: takeovers, halts, trust, changed messages. Some come unexpectedly,
// or late.
func handsInput(r *rand.Rand, s *State, a Agent) input.Body {
	command := func(b contract.CommandBody) input.Body {
		return byHuman([]string{input.ChannelStdin, input.ChannelScreen, input.ChannelSocket}[r.IntN(3)], b)
	}
	word := "none"
	if len(s.Conversation.Mail) > 0 {
		word = s.Conversation.Mail[r.IntN(len(s.Conversation.Mail))].ID
	}
	ref := a.AgentRef
	if r.IntN(10) == 0 {
		ref.Generation--
	}
	switch r.IntN(18) {
	case 16:
		return input.BridgeLost{Message: "m", Halted: true}
	case 0, 1, 2:
		return command(contract.Attach{ID: a.ID})
	case 3:
		return command(contract.Detach{ID: a.ID})
	case 4:
		return command(contract.Halt{})
	case 5, 6:
		return command(contract.Continue{})
	case 7:
		return command(contract.Choose{Option: []string{ChooseTrust, ChooseWithout, ChooseTrust, "cancel"}[r.IntN(4)]})
	case 8:
		return input.PTYOpened{Agent: ref, Failed: []string{"", "m"}[r.IntN(2)]}
	case 9:
		return []input.Body{
			input.TrustRecorded{Hash: "h1", Failed: []string{"", "m"}[r.IntN(2)]},
			input.Remembered{Grant: input.Grant{Tool: "Bash", Action: "x"}, Failed: "m"},
			input.CallDecided{Params: bridge.JudgeParams{AgentRef: ref, Tool: "Bash"}, Behavior: bridge.Deny,
				By: contract.ByRole},
		}[r.IntN(3)]
	case 10:
		return command(contract.EditMessage{MessageID: word, Text: "y"})
	case 11, 12:
		return command(contract.WithdrawMessage{MessageID: word})
	case 13:
		return command(contract.Pause{})
	case 14:
		return input.Inspected{Serial: s.Handoff.DocumentSerial - r.IntN(2), Failed: []string{"", "m"}[r.IntN(2)]}
	}
	return command(contract.Say{Text: "x", To: a.ID, Strength: []string{"", contract.Stop}[r.IntN(2)]})
}

// TestManyRandomRuns plays as many runs as $ARBITER_RANDOM_RUNS says, of 300 inputs each.
func TestManyRandomRuns(t *testing.T) {
	runs, err := strconv.ParseUint(os.Getenv("ARBITER_RANDOM_RUNS"), 10, 32)
	if err != nil {
		runs = uint64(often(5, 10))
	}
	for seed := range runs {
		if !t.Run(strconv.FormatUint(seed, 10), func(t *testing.T) { applyRandomly(t, seed+1000, 300) }) {
			t.Fatalf("seed %d", seed+1000)
		}
	}
}

// checkTaken checks for every agent that its session is in one place at a time.
func checkTaken(t *testing.T, a *Agent, live bool) {
	t.Helper()
	stopping := a.Status == AgentRestarting && a.Takeover != nil && a.Takeover.Stage == TakeoverStopping
	switch {
	case live && !stopping && (a.Status == InHand) != (a.Takeover != nil && a.Takeover.Stage != TakeoverStopping):
		t.Fatalf("%s is %s, and its takeover %+v", a.ID, a.Status, a.Takeover)
	case live && a.Takeover != nil && a.Status != InHand && !stopping:
		t.Fatalf("%s is %s, and a takeover goes on (%s)", a.ID, a.Status, a.Takeover.Stage)
	case a.Status == AgentDown && a.EndReason != "":
		t.Fatalf("%s is %s, and ends: %s", a.ID, a.Status, a.EndReason)
	case a.Status == InHand && a.Takeover == nil:
		t.Fatalf("%s is %s without a client", a.ID, a.Status)
	case a.Up() && a.Takeover != nil:
		t.Fatalf("%s has a process of its own in a takeover (%s)", a.ID, a.Takeover.Stage)
	}
}

// processes tracks the processes of agents through effects and their ends: an agent never has two processes at a
// time, and nothing is sent to a terminal.
type processes map[string]bridge.AgentRef

func (l processes) follow(t *testing.T, s *State, f input.Body, out []input.Effect) {
	t.Helper()
	switch f := f.(type) {
	case input.AgentEvent:
		if _, done := f.Event.Body.(bridge.Done); done && l[f.Event.ID] == f.Event.AgentRef {
			delete(l, f.Event.ID)
		}
	case input.NotSpawned:
		if l[f.Agent.ID] == f.Agent {
			delete(l, f.Agent.ID)
		}
	case input.PTYOpened:
		if f.Failed != "" && l[f.Agent.ID] == f.Agent {
			delete(l, f.Agent.ID)
		}
	case input.BridgeLost, input.BridgeFailed, input.Resumed, input.Stopped:
		clear(l)
	}
	begin := func(ref bridge.AgentRef) {
		if last, alive := l[ref.ID]; alive {
			t.Fatalf("%s is started while %s lives", ref, last)
		}
		l[ref.ID] = ref
	}
	for _, e := range out {
		switch e := e.(type) {
		case input.Spawn:
			begin(e.Params.AgentRef)
		case input.OpenPTY:
			begin(e.Params.AgentRef)
		case input.Send:
			if a, _ := s.Agent(e.Params.ID); a.Status == InHand {
				t.Fatalf("a message is sent to %s, which a human has", a.ID)
			}
		}
	}
}

// takenInput continues a takeover, mostly with the expected input.
func takenInput(r *rand.Rand, a Agent) input.Body {
	failed := ""
	if r.IntN(5) == 0 {
		failed = "m"
	}
	if r.IntN(8) == 0 {
		return byHuman(input.ChannelScreen, contract.Detach{ID: a.ID})
	}
	switch a.Takeover.Stage {
	case TakeoverInspecting:
		return input.Inspected{Serial: a.Takeover.Serial,
			Result: bridge.InspectResult{Mark: &bridge.InspectMark{Transcript: 1}}, Failed: failed}
	case TakeoverReading:
		return input.Inspected{Serial: a.Takeover.Serial,
			Result: bridge.InspectResult{Changes: &bridge.Changes{Words: r.IntN(2)}}, Failed: failed}
	case TakeoverOpening:
		if r.IntN(3) > 0 {
			return input.PTYOpened{Agent: a.AgentRef, Failed: failed}
		}
	}
	return byBridge(a.AgentRef, bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Code: r.IntN(2)}})
}

// TestASessionIsInOnePlace plays runs in which processes end when requested or by themselves, with many
// takeovers.
func TestASessionIsInOnePlace(t *testing.T) {
	taken, runs := 0, often(30, 150)
	for seed := range runs {
		taken += playTakeovers(t, uint64(seed))
	}
	if taken < 6*runs {
		t.Errorf("in %d steps only a session was taken over", taken)
	}
}

func playTakeovers(t *testing.T, seed uint64) (taken int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 11))
	p := working(t)
	if r.IntN(2) == 0 {
		p.s.Options.Trusted, p.s.Options.TrustHash = true, "h0"
	}
	alive, timers := processes{}, alarms{}
	timers.follow(input.Began{}, p.out)
	for _, a := range p.s.Agents {
		alive[a.ID] = a.AgentRef
	}
	step := func(f input.Body) {
		if f == nil || p.s.Ending != nil {
			return
		}
		out := p.do(f)
		alive.follow(t, &p.s, f, out)
		timers.follow(f, out)
		timers.check(t, &p.s)
	}
	for range 120 {
		a := *p.s.Agents[r.IntN(len(p.s.Agents))]
		event := func(b bridge.EventBody) input.Body { return byBridge(a.AgentRef, b) }
		command := func(c contract.CommandBody) input.Body { return byHuman(input.ChannelScreen, c) }
		_, running := alive[a.ID]
		switch k := r.IntN(14); {
		case !p.s.Lifecycle.IsUp(LifecycleHere):
			step([]input.Body{input.BridgeBack{}, input.Timer{Key: LifecycleTimerKey(LifecycleHere)}}[r.IntN(2)])
		case k == 0:
			step([]input.Body{
				input.BridgeLost{}, input.BridgeLost{Halted: true},
				byHuman(input.ChannelStdin, contract.Choose{Option: []string{ChooseTrust, ChooseWithout}[r.IntN(2)]}),
			}[r.IntN(3)])
		case k == 2 && r.IntN(4) == 0:
			step(input.Resumed{Options: p.s.Options}) // Arbiter itself was killed
		case k == 1:
			step([]input.Body{command(contract.Kill{ID: a.ID}), command(contract.Halt{}),
				command(contract.Continue{}), command(contract.Reset{})}[r.IntN(4)])
		case k < 5:
			step(command(contract.Attach{ID: a.ID}))
		case k < 8 && a.Takeover != nil:
			if f := takenInput(r, a); running || isInspection(f) {
				step(f)
			}
		case a.Status == AgentStarting && r.IntN(8) == 0:
			step(input.NotSpawned{Agent: a.AgentRef, Category: bridge.CatTrust, Message: "changed",
				Trust: []string{"", "h1", "h2"}[r.IntN(3)]})
		case a.Status == AgentStarting:
			step(input.Spawned{Agent: a.AgentRef, Result: bridge.SpawnResult{Resumed: true, Deliveries: randomStatuses(r, a)}})
		case a.Status == AgentDown:
			step(input.Timer{Key: RestartPrefix + RunOf(a.AgentRef)})
		case a.Status == AgentBusy && k < 12:
			step(event(randomTurn(r, a)))
		case running && k == 13:
			step(event(bridge.Done{SessionID: a.SessionID}))
		case a.Takeover != nil && (running || !a.Takeover.HasProcess() && a.Takeover.Stage != TakeoverStopping):
			step(takenInput(r, a))
		case running && (a.Status == AgentRestarting || a.Status == AgentStopping):
			step(event(bridge.Done{SessionID: a.SessionID}))
		}
		if p.s.AnyTakenOver() {
			taken++
		}
	}
	comeBack(t, p, alive, timers, step)
	return taken
}

// comeBack answers everything that the run waits for, until no agent is held back.
func comeBack(t *testing.T, p *play, alive processes, timers alarms, step func(input.Body)) {
	t.Helper()
	command := func(c contract.CommandBody) { step(byHuman(input.ChannelScreen, c)) }
	if p.s.Halted {
		command(contract.Continue{})
	}
	if p.s.Lifecycle.TrustQuestion != nil {
		command(contract.Choose{Option: ChooseWithout})
	}
	for range 30 {
		if !p.s.Lifecycle.IsUp(LifecycleHere) {
			step(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
			step(input.BridgeBack{})
		}
		for _, a := range p.s.Agents {
			_, running := alive[a.ID]
			switch {
			case a.Status == AgentDown && timers[RestartPrefix+RunOf(a.AgentRef)]:
				step(input.Timer{Key: RestartPrefix + RunOf(a.AgentRef)})
			case a.Status == AgentStarting:
				step(input.Spawned{Agent: a.AgentRef, Result: bridge.SpawnResult{Resumed: true}})
			case a.Takeover != nil && (a.Takeover.Stage == TakeoverInspecting || a.Takeover.Stage == TakeoverReading):
				step(input.Inspected{Serial: a.Takeover.Serial, Result: bridge.InspectResult{Mark: aMark,
					Changes: &bridge.Changes{}}})
			case a.Takeover != nil && a.Takeover.Stage == TakeoverOpen:
				command(contract.Detach{ID: a.ID})
			case running && (a.Status == AgentRestarting || a.Status == AgentStopping || a.Takeover != nil):
				step(byBridge(a.AgentRef, bridge.Done{SessionID: a.SessionID}))
			}
		}
	}
	for i := range p.s.Agents {
		switch a := p.s.Agents[i]; a.Status {
		case AgentReady, AgentBusy, AgentEnded, AgentParked:
		default:
			if p.s.Ending == nil {
				t.Fatalf("%s stays %s (%+v)", a.ID, a.Status, a.Takeover)
			}
		}
	}
}

func isInspection(f input.Body) bool { _, ok := f.(input.Inspected); return ok }

// checkStep checks what holds for every step from one state to the next.
func checkStep(t *testing.T, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	checkMoves(t, before, after, f, out)
	checkNumbers(t, before, after, f, out)
	checkAnswered(t, before, after, f, out)
	checkWords(t, before, after, f, out)
	if after.Task.TotalFailures < after.Task.Failures {
		t.Fatalf("%d failures in a row, and %d in all, after %T", after.Task.Failures, after.Task.TotalFailures, f)
	}
	if grown := after.Task.History.Len() - before.Task.History.Len(); grown > 1 {
		seen := map[string]bool{}
		for _, e := range after.Task.History.Last(grown) {
			// One may begin and end in the same step: of a message that waited, if the fuse of its reader is spent.
			if seen[e.ID] && e.StartedAt.Before(e.CompletedAt) {
				t.Fatalf("%T ended two executions of %s", f, e.ID)
			}
			seen[e.ID] = true
		}
	}
	if before.Ending == nil && after.Ending != nil && len(after.Agents) > 0 && !after.Ending.Was.Live() {
		t.Fatalf("%T ended the run, and the task stood in %q", f, after.Ending.Was)
	}
}

// checkWords: what the human says, and what Orchestrators report to the Arbiter, waits or is read, or an effect says
// what became of it, as long as there is a task.
func checkWords(t *testing.T, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	if after.Ending != nil || after.Task.Text == "" {
		return
	}
	kept := map[string]bool{}
	for _, m := range after.Conversation.Mail {
		kept[m.ID] = true
	}
	for _, x := range after.Conversation.Accepted {
		kept[x.ID] = true
	}
	for _, e := range after.Conversation.WorkLog {
		kept[e.ID] = true
	}
	check := func(id, from, to string) {
		bound := from == contract.Human || from != contract.Supervisor && to == contract.Arbiter
		if bound && !kept[id] && !strings.Contains(fmt.Sprintf("%+v", out), id) {
			t.Fatalf("%T: what %s said to %s, %s, is neither read nor waiting", f, from, to, id)
		}
	}
	for _, m := range before.Conversation.Mail {
		if !m.Reported {
			check(m.ID, m.From, m.To)
		}
	}
	for _, x := range before.Conversation.Accepted {
		if x.With == x.ID { // what came with another message is quoted to a successor
			check(x.ID, x.From, x.To)
		}
	}
}

// checkMoves: each `state` event is a row of the table, and together they lead from one state to the other.
func checkMoves(t *testing.T, before, after *State, f input.Body, out []input.Effect) {
	t.Helper()
	at := before.Task.Phase
	_, none := f.(input.NoBridge)
	for _, b := range said[contract.State](out) {
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
	if s.budgetHolds() || s.Ending != nil || !s.Task.Phase.Live() || s.Paused || s.Conversation.Held ||
		s.Rulings.DeciderRequest != nil || !s.Lifecycle.IsUp(LifecycleHere) || len(s.Agents) == 0 {
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
	o := runconfig.Options{Run: testRun, Delimiter: "d", CWD: "/w", HumanPresent: r.IntN(2) == 0, MaxExchanges: 8,
		MaxIterations: 6, MaxOrchestrators: 3, Cores: r.IntN(3)}
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
		limits := agents.Limits{MaxTurns: r.IntN(3), Timeout: time.Duration(r.IntN(2)) * time.Minute,
			MaxCostUSD: float64(r.IntN(2)) * 0.02}
		for i := range o.Modes {
			o.Modes[i].Limits = limits
		}
	}
	if r.IntN(2) == 0 {
		o.PermissionWait = 10 * time.Minute
	}
	if r.IntN(3) == 0 {
		o.MaxCostPerAgent, o.MaxCostPerDay = float64(r.IntN(2))*0.05, float64(r.IntN(2))
	}
	if r.IntN(3) == 0 {
		o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other"}, MaxTurns: 3}}
		o.DefaultMake, o.ArbiterMake = []string{"", "other"}[r.IntN(2)], []string{"", "other"}[r.IntN(2)]
	}
	if r.IntN(3) == 0 {
		o.Accept = []string{"make check"}
	}
	if r.IntN(3) == 0 {
		o.Workspace = runconfig.Workspace{Root: "/w", Base: "b", Own: "/own", Isolation: []string{"",
			runconfig.IsolationShared, runconfig.IsolationWorktree, runconfig.IsolationClone}[r.IntN(4)]}
	}
	return changedOptions(r, o)
}

// withHosts adds other hosts to the options of a run.
func withHosts(r *rand.Rand, o runconfig.Options) runconfig.Options {
	o.Hosts = []runconfig.Host{{Name: "box", Slots: 1}, {Name: "gpu", Slots: 2}}
	o.HereToo, o.Lease = r.IntN(2) == 0, time.Minute
	o.Workspace = runconfig.Workspace{Root: "/w", Base: "b", Own: "/own"}
	o.Pools = []runconfig.Pool{{Name: "all", Hosts: []string{"box", "gpu"}}}
	return o
}

// changedOptions changes options that may differ in another process of a run.
func changedOptions(r *rand.Rand, o runconfig.Options) runconfig.Options {
	o.Decider = []string{"", runconfig.DeciderSession, runconfig.DeciderRules, runconfig.DeciderHybrid,
		runconfig.DeciderStateless}[r.IntN(5)]
	if r.IntN(4) == 0 {
		o.Modes = nil
	}
	return o.WithDefaults()
}

// otherInput is an input of a kind that no other function makes: settings, costs, tools, files.
func otherInput(r *rand.Rand, s *State, a Agent) input.Body {
	event := func(b bridge.EventBody) input.Body { return byBridge(a.AgentRef, b) }
	command := func(b contract.CommandBody) input.Body { return byHuman(input.ChannelScreen, b) }
	usd := []float64{0, 0.02, 0.2, 2}[r.IntN(4)]
	failed := []string{"", "", "m"}[r.IntN(3)]
	if q := s.Changes.Queue; len(q) > 0 && r.IntN(2) == 0 {
		return input.SnapshotTaken{Serial: q[0].Request, Commit: "c", Tree: "t", Paths: []string{"a.go"}, Failed: failed}
	}
	if q := s.Changes.Reverts; len(q) > 0 && r.IntN(2) == 0 {
		return input.Reverted{Serial: q[0].Serial, Refused: failed}
	}
	if a.Status == AgentBusy && r.IntN(2) == 0 {
		edit := json.RawMessage(`{"file_path":"/w/a.go"}`)
		use := []string{"u1", "u2"}[r.IntN(2)]
		list := []bridge.EventBody{
			bridge.Spent{CostUSD: a.Live.CostUSD + 0.02, Usage: bridge.Usage{Output: a.Live.Usage.Output + 1}},
			bridge.ToolUse{Tool: []string{"Bash", "Edit"}[r.IntN(2)], ToolUse: use, Input: edit},
			bridge.ToolResult{ToolUse: use, IsError: r.IntN(2) == 0}, bridge.ToolRan{Tool: "Edit", ToolUse: use, Input: edit},
			bridge.SubagentStart{Description: "d", ToolUse: use}, bridge.SubagentStop{ToolUse: use},
			bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnLost},
			bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnInterrupted, Unread: a.Turn[:r.IntN(len(a.Turn)+1)]},
			bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnDone, Oversize: 1 << 20, CostUnknown: true},
			bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnFailed, Error: "m", CostUSD: usd, Model: "m", Window: 1000,
				Category: []bridge.Category{bridge.CatBudget, bridge.CatHook, bridge.CatRefusal, bridge.CatResume,
					bridge.CatProtocol, bridge.CatRateLimit, bridge.CatAuth, bridge.CatPromptTooLong,
					bridge.CatUsageLimit}[r.IntN(9)]},
		}
		return event(list[r.IntN(len(list))])
	}
	if a.Status == AgentStarting {
		return input.NotSpawned{Agent: a.AgentRef, Message: "m", Category: []bridge.Category{bridge.CatAuth,
			bridge.CatClaudeMissing, bridge.CatWorkspace, bridge.CatCredit}[r.IntN(4)]}
	}
	calls := [][2]string{{"spawn_orchestrator", `{"prompt":"q","successor_of":"orch-1","fuse_usd":0.1}`},
		{"spawn_orchestrator", `{"prompt":"q","isolated":true,"mode":"tester","successor_of":"none"}`},
		{"spawn_orchestrator", `{"prompt":"q","make":"other"}`}, {"spawn_orchestrator", `{"prompt":"q","host":"all"}`},
		{"set_acceptance", `{"criteria":[{"text":"a","command":"make"}]}`},
		{"ask_predecessor", `{"question":"q"}`}}
	call := calls[r.IntN(len(calls))]
	list := []input.Body{
		command(contract.Configure{MaxCost: &usd}), command(contract.Configure{MaxCostPerAgent: &usd}),
		command(contract.Configure{MaxCostPerDay: &usd}), command(contract.Configure{Model: "m", ID: a.ID}),
		command(contract.Configure{Model: "m"}), command(contract.Configure{Deny: "Bash(rm *)"}),
		command(contract.Configure{Ask: "Edit"}), command(contract.Interrupt{ID: a.ID}),
		command(contract.SetAcceptance{Criteria: []contract.AcceptanceCriterion{{Text: "b", Command: "ls"}}[r.IntN(2):]}),
		command(contract.Revert{Path: "a.go"}), command(contract.Revert{Path: "a.go", Hunk: "@@ -1 +1 @@"}),
		input.Configured{Agent: a.AgentRef, Model: "m", All: r.IntN(2) == 0, Failed: failed},
		input.RulesGiven{Agent: a.AgentRef, Failed: failed, Unsupported: []string{"x"}},
		input.DaySpent{Day: []string{"2027-01-15", "2027-01-16"}[r.IntN(2)], OthersUSD: usd, OwnUSD: s.Spent() / 2},
		input.ToolCalled{Call: "c", Params: bridge.ToolCallParams{AgentRef: a.AgentRef, Tool: call[0],
			Input: json.RawMessage(call[1])}},
		input.CallDecided{Params: bridge.JudgeParams{AgentRef: a.AgentRef, Tool: "Agent"}, Behavior: bridge.Deny,
			By: contract.ByLimit},
		input.Signal{Signal: "TERM", Fast: true, ByClient: r.IntN(2) == 0}, command(contract.Cancel{}),
	}
	ends := 2 * (r.IntN(8) / 7)
	return list[r.IntN(len(list)-2+ends)]
}

// machineInput is an input that the task machine reacts to; nil: none.
func machineInput(r *rand.Rand, s *State) input.Body {
	command := func(b contract.CommandBody) input.Body { return byHuman(input.ChannelStdin, b) }
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
			none := input.NoBridge{Options: s.Options, Category: []bridge.Category{bridge.CatClaudeMissing,
				bridge.CatCrash}[r.IntN(2)], Message: "m"}
			if r.IntN(3) == 0 {
				none.Category, none.Signal = "", &input.Signal{Signal: "TERM"}
			}
			return none
		}
		if s.Ending != nil || r.IntN(4) == 0 {
			return input.Resumed{Options: changedOptions(r, s.Options), Word: []string{"", "w"}[r.IntN(2)], Stay: r.IntN(2) == 0}
		}
		return command(contract.Continue{})
	case 3:
		modes := []string{"", "planner", "tester"}
		return command(contract.SetPlan{Steps: []contract.Step{
			{Text: "a", Status: contract.StepPending, Mode: modes[r.IntN(3)]},
			{Text: "b", Status: contract.StepActive, Agent: a.ID},
		}})
	case 4:
		return command(contract.Kill{ID: a.ID})
	case 5:
		return command(contract.Say{Text: "x", To: a.ID})
	case 6:
		if a.Status == AgentBusy { // fails
			why := []bridge.Category{bridge.CatInvalidRequest, bridge.CatTimeout, bridge.CatUsageLimit}[r.IntN(3)]
			return byBridge(a.AgentRef, bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnFailed, Category: why})
		}
		return command(contract.ForceAgent{Mode: []string{"developer", "wizard"}[r.IntN(2)]})
	case 7:
		if a.Status == AgentBusy { // babbles
			return byBridge(a.AgentRef, bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnDone, Text: "hm"})
		}
		if a.Status == AgentReady || a.Status == AgentStopping {
			return byBridge(a.AgentRef, bridge.Done{SessionID: "s", Exit: bridge.Exit{Code: 1}})
		}
	case 8:
		if len(s.Handoff.Documents) > 0 {
			return randomProgress(r, s.Handoff.Documents[r.IntN(len(s.Handoff.Documents))])
		}
	}
	return nil
}
