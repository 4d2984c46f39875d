package supervisor

import (
	"math/rand/v2"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/takeover"
)

// checkTaken holds for every agent: a session is in one place at a time.
func checkTaken(t *testing.T, a *Agent, live bool) {
	t.Helper()
	stopping := a.Status == Restarting && a.Takeover != nil && a.Takeover.Stage == takeover.Stopping
	if live && !stopping && (a.Status == InHand) != (a.Takeover != nil && a.Takeover.Stage != takeover.Stopping) {
		t.Fatalf("%s is %s, and its takeover %+v", a.ID, a.Status, a.Takeover)
	}
	if live && a.Takeover != nil && a.Status != InHand && !stopping {
		t.Fatalf("%s is %s, and a takeover goes on (%s)", a.ID, a.Status, a.Takeover.Stage)
	}
	if a.Status == InHand && a.Takeover == nil {
		t.Fatalf("%s is %s by nobody", a.ID, a.Status)
	}
	if a.Up() && a.Takeover != nil {
		t.Fatalf("%s has a process of its own in a takeover (%s)", a.ID, a.Takeover.Stage)
	}
}

// lives follows the processes of agents through effects and their ends: never are two
// alive at a time, nor is anything sent to a terminal.
type lives map[string]bridge.AgentRef

func (l lives) follow(t *testing.T, s *State, f Fact, out []effect.Effect) {
	t.Helper()
	switch f := f.(type) {
	case Happened:
		if _, done := f.Event.Body.(bridge.Done); done && l[f.Event.ID] == f.Event.AgentRef {
			delete(l, f.Event.ID)
		}
	case NotSpawned:
		if l[f.Agent.ID] == f.Agent {
			delete(l, f.Agent.ID)
		}
	case PTYOpened:
		if f.Failed != "" && l[f.Agent.ID] == f.Agent {
			delete(l, f.Agent.ID)
		}
	case BridgeLost, BridgeFailed, Resumed, Stopped:
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
		case Spawn:
			begin(e.Params.AgentRef)
		case OpenPTY:
			begin(e.Params.AgentRef)
		case Send:
			if a, _ := s.agent(e.Params.ID); a.Status == InHand {
				t.Fatalf("a message is sent to %s, which a human has", a.ID)
			}
		}
	}
}

// takenFact goes on with a takeover, mostly as is awaited.
func takenFact(r *rand.Rand, a Agent) Fact {
	failed := ""
	if r.IntN(5) == 0 {
		failed = "m"
	}
	if r.IntN(8) == 0 {
		return Commanded{Channel: ChannelScreen, Command: contract.Command{Body: contract.Detach{ID: a.ID}}}
	}
	switch a.Takeover.Stage {
	case takeover.Inspecting:
		return Surveyed{Serial: a.Takeover.Serial, Result: bridge.InspectResult{Mark: &bridge.InspectMark{Transcript: 1}}, Failed: failed}
	case takeover.Reading:
		return Surveyed{Serial: a.Takeover.Serial, Result: bridge.InspectResult{Changes: &bridge.Changes{Words: r.IntN(2)}}, Failed: failed}
	case takeover.Opening:
		if r.IntN(3) > 0 {
			return PTYOpened{Agent: a.AgentRef, Failed: failed}
		}
	}
	return Happened{bridge.Event{AgentRef: a.AgentRef, Body: bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Code: r.IntN(2)}}}}
}

// TestASessionIsInOnePlace plays runs in which processes end only when they were asked
// to, or by themselves, and much is taken over.
func TestASessionIsInOnePlace(t *testing.T) {
	taken := 0
	for seed := range uint64(150) {
		taken += playTakeovers(t, seed)
	}
	if taken < 1000 {
		t.Errorf("in %d steps only somebody's session was taken over", taken)
	}
}

func playTakeovers(t *testing.T, seed uint64) (taken int) {
	t.Helper()
	r := rand.New(rand.NewPCG(seed, 11))
	p := working(t)
	if r.IntN(2) == 0 {
		p.s.Options.Trusted, p.s.Options.TrustHash = true, "h0"
	}
	alive, timers := lives{}, alarms{}
	timers.follow(Began{}, p.out)
	for _, a := range p.s.Agents {
		alive[a.ID] = a.AgentRef
	}
	step := func(f Fact) {
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
		event := func(b bridge.EventBody) Fact { return Happened{bridge.Event{AgentRef: a.AgentRef, Body: b}} }
		command := func(c contract.CommandBody) Fact {
			return Commanded{Channel: ChannelScreen, Command: contract.Command{Body: c}}
		}
		_, running := alive[a.ID]
		switch k := r.IntN(14); {
		case !p.s.BridgeUp:
			step([]Fact{BridgeBack{}, Rang{Key: restartPrefix + theBridge}}[r.IntN(2)])
		case k == 0:
			step([]Fact{
				BridgeLost{}, BridgeLost{Halted: true}, Commanded{Channel: ChannelStdin, Command: contract.Command{Body: contract.Choose{Option: chooseTrust}}},
				Commanded{Channel: ChannelStdin, Command: contract.Command{Body: contract.Choose{Option: chooseWithout}}},
			}[r.IntN(4)])
		case k == 2 && r.IntN(4) == 0:
			step(Resumed{Options: p.s.Options}) // arbiter itself was killed
		case k == 1:
			step([]Fact{command(contract.Kill{ID: a.ID}), command(contract.Halt{}), command(contract.Continue{}), command(contract.Reset{})}[r.IntN(4)])
		case k < 5:
			step(command(contract.Attach{ID: a.ID}))
		case k < 8 && a.Takeover != nil:
			if f := takenFact(r, a); running || isSurvey(f) {
				step(f)
			}
		case a.Status == Starting && r.IntN(8) == 0:
			step(NotSpawned{Agent: a.AgentRef, Category: bridge.CatTrust, Message: "changed", Trust: []string{"", "h1", "h2"}[r.IntN(3)]})
		case a.Status == Starting:
			step(Spawned{Agent: a.AgentRef, Result: bridge.SpawnResult{Resumed: true, Deliveries: randomFates(r, a)}})
		case a.Status == Down:
			step(Rang{Key: restartKey(a.AgentRef)})
		case a.Status == Busy && k < 12:
			step(event(randomTurn(r, a)))
		case running && k == 13:
			step(event(bridge.Done{SessionID: a.SessionID}))
		case a.Takeover != nil && (running || !a.Takeover.HasProcess() && a.Takeover.Stage != takeover.Stopping):
			step(takenFact(r, a))
		case running && (a.Status == Restarting || a.Status == Stopping):
			step(event(bridge.Done{SessionID: a.SessionID}))
		}
		if p.s.anyTakenOver() {
			taken++
		}
	}
	comeBack(t, p, alive, timers, step)
	return taken
}

// comeBack does what is awaited until nothing is: then nobody is held back any more.
func comeBack(t *testing.T, p *play, alive lives, timers alarms, step func(Fact)) {
	t.Helper()
	command := func(c contract.CommandBody) {
		step(Commanded{Channel: ChannelScreen, Command: contract.Command{Body: c}})
	}
	if p.s.Halted {
		command(contract.Continue{})
	}
	if p.s.TrustQuestion != nil {
		command(contract.Choose{Option: chooseWithout})
	}
	for range 30 {
		if !p.s.BridgeUp {
			step(Rang{Key: restartPrefix + theBridge})
			step(BridgeBack{})
		}
		for _, a := range p.s.Agents {
			_, running := alive[a.ID]
			switch {
			case a.Status == Down && timers[restartKey(a.AgentRef)]:
				step(Rang{Key: restartKey(a.AgentRef)})
			case a.Status == Starting:
				step(Spawned{Agent: a.AgentRef, Result: bridge.SpawnResult{Resumed: true}})
			case a.Takeover != nil && (a.Takeover.Stage == takeover.Inspecting || a.Takeover.Stage == takeover.Reading):
				step(Surveyed{Serial: a.Takeover.Serial, Result: bridge.InspectResult{Mark: aMark, Changes: &bridge.Changes{}}})
			case a.Takeover != nil && a.Takeover.Stage == takeover.Open:
				command(contract.Detach{ID: a.ID})
			case running && (a.Status == Restarting || a.Status == Stopping || a.Takeover != nil):
				step(Happened{bridge.Event{AgentRef: a.AgentRef, Body: bridge.Done{SessionID: a.SessionID}}})
			}
		}
	}
	for i := range p.s.Agents {
		switch a := p.s.Agents[i]; a.Status {
		case Ready, Busy, Ended, Parked:
		default:
			if p.s.Ending == nil {
				t.Fatalf("%s stays %s (%+v)", a.ID, a.Status, a.Takeover)
			}
		}
	}
}

func isSurvey(f Fact) bool { _, ok := f.(Surveyed); return ok }
