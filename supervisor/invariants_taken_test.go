package supervisor

import (
	"math/rand/v2"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// checkTaken checks for every agent that its session is in one place at a time.
func checkTaken(t *testing.T, a *Agent, live bool) {
	t.Helper()
	stopping := a.Status == AgentRestarting && a.Takeover != nil && a.Takeover.Stage == TakeoverStopping
	if live && !stopping && (a.Status == InHand) != (a.Takeover != nil && a.Takeover.Stage != TakeoverStopping) {
		t.Fatalf("%s is %s, and its takeover %+v", a.ID, a.Status, a.Takeover)
	}
	if live && a.Takeover != nil && a.Status != InHand && !stopping {
		t.Fatalf("%s is %s, and a takeover goes on (%s)", a.ID, a.Status, a.Takeover.Stage)
	}
	if a.Status == InHand && a.Takeover == nil {
		t.Fatalf("%s is %s without a client", a.ID, a.Status)
	}
	if a.Up() && a.Takeover != nil {
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
		return input.Command{Channel: input.ChannelScreen, Command: contract.Command{Body: contract.Detach{ID: a.ID}}}
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
	return input.AgentEvent{Event: bridge.Event{AgentRef: a.AgentRef, Body: bridge.Done{SessionID: a.SessionID,
		Exit: bridge.Exit{Code: r.IntN(2)}}}}
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
		event := func(b bridge.EventBody) input.Body {
			return input.AgentEvent{Event: bridge.Event{AgentRef: a.AgentRef, Body: b}}
		}
		command := func(c contract.CommandBody) input.Body {
			return input.Command{Channel: input.ChannelScreen, Command: contract.Command{Body: c}}
		}
		_, running := alive[a.ID]
		switch k := r.IntN(14); {
		case !p.s.Lifecycle.IsUp(LifecycleHere):
			step([]input.Body{input.BridgeBack{}, input.Timer{Key: LifecycleTimerKey(LifecycleHere)}}[r.IntN(2)])
		case k == 0:
			step([]input.Body{
				input.BridgeLost{}, input.BridgeLost{Halted: true}, input.Command{Channel: input.ChannelStdin,
					Command: contract.Command{Body: contract.Choose{Option: ChooseTrust}}},
				input.Command{Channel: input.ChannelStdin,
					Command: contract.Command{Body: contract.Choose{Option: ChooseWithout}}},
			}[r.IntN(4)])
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
			step(input.NotSpawned{Agent: a.AgentRef, Category: bridge.CatTrust, Message: "changed", Trust: []string{"", "h1", "h2"}[r.IntN(3)]})
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
	command := func(c contract.CommandBody) {
		step(input.Command{Channel: input.ChannelScreen, Command: contract.Command{Body: c}})
	}
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
				step(input.AgentEvent{Event: bridge.Event{AgentRef: a.AgentRef,
					Body: bridge.Done{SessionID: a.SessionID}}})
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
