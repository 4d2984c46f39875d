package supervisor

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
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
	if s.Ending != nil || len(s.Agents) == 0 {
		return
	}
	if !s.Lifecycle.IsUp(LifecycleHere) && !l[LifecycleTimerKey(LifecycleHere)] && !l[opening(LifecycleHere)] {
		t.Fatal("there is no bridge, and the run opens none")
	}
	if s.Budget.Holds() && s.Task.Phase.Live() && !l[ResetTimer] {
		t.Fatal("the run waits for the reset of a usage window, and no timer wakes it")
	}
	if s.Options.Timeout > 0 && !l[timeoutKey] {
		t.Fatal("the run has a time limit, and no timer")
	}
	l.checkHosts(t, s)
	for i := range s.Agents {
		a := s.Agents[i]
		switch {
		case a.Waits() && !s.Halted && s.Lifecycle.MayStart(a.Host) && !s.startsFull(a.Host):
			t.Fatalf("%s waits to start, and nothing starts before it", a.ID)
		case a.Status == AgentDown && !a.Waits() && s.Lifecycle.IsUp(a.Host) && !s.Halted && s.Lifecycle.TrustQuestion == nil &&
			!l[RestartPrefix+RunOf(a.AgentRef)]:
			t.Fatalf("%s is down, and no timer brings it back", a.ID)
		case a.Status == AgentReady && a.Backoff != nil && !l[RetryPrefix+RunOf(a.AgentRef)],
			a.Status == AgentDown && a.Backoff != nil && !l[RestartPrefix+RunOf(a.AgentRef)]:
			t.Fatalf("%s is %s and said to wait for another attempt, and none comes", a.ID, a.Status)
		case (a.Status == AgentReady || a.Status == AgentBusy) && !l[WatchPrefix+RunOf(a.AgentRef)] &&
			!l[probing(a.AgentRef)]:
			t.Fatalf("%s is %s, and no timer watches it", a.ID, a.Status)
		case a.Role == RoleArbiter && a.Status == AgentReady && a.Troubles > 0 && s.Rulings.FallbackReason == "" && !s.Paused && !s.Conversation.Held &&
			!l[RetryPrefix+RunOf(a.AgentRef)] && !s.pendingFor(a.ID) && s.Question.Open == nil && !s.Handoff.IsDue():
			t.Fatalf("%s has lost its turn, and no timer retries it", a.ID)
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
		if awaited && !l[LifecycleTimerKey(b.Host)] && !l[opening(b.Host)] {
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
		return input.Command{Channel: input.ChannelStdin,
			Command: contract.Command{Ref: "r", Body: contract.Choose{Option: RetryOption(host)}}}
	case b.Up:
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
		return input.Command{Channel: []string{input.ChannelStdin, input.ChannelScreen,
			input.ChannelSocket}[r.IntN(3)], Command: contract.Command{Ref: "r", Body: b}}
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
			input.TrustRecorded{Hash: "h1", Failed: []string{"", "m"}[r.IntN(2)]}, input.Remembered{Grant: input.Grant{Tool: "Bash", Action: "x"}, Failed: "m"},
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
