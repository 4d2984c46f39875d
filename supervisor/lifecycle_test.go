package supervisor

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

var lifecycleNoon = time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)

// silent is a probe of a process that shows no activity.
var silent = bridge.ProbeResult{SilentMS: LifecycleSilence.Milliseconds()}

func TestObserve(t *testing.T) {
	before := AgentWatch{At: lifecycleNoon.Add(-time.Minute), Quiet: 2, Hung: true}
	w := Observe(before, silent, lifecycleNoon, true, LifecycleSilence)
	testkit.Check(t, w.Quiet == 3 && w.Hung && w.At.Equal(lifecycleNoon), "no sign of life: %+v", w)
	for name, change := range map[string]func(w *AgentWatch, r *bridge.ProbeResult, busy *bool){
		"no turn":     func(_ *AgentWatch, _ *bridge.ProbeResult, busy *bool) { *busy = false },
		"first probe": func(w *AgentWatch, _ *bridge.ProbeResult, _ *bool) { w.At = time.Time{} },
		"just woken": func(w *AgentWatch, _ *bridge.ProbeResult, _ *bool) {
			*w = Woken(*w, lifecycleNoon)
			w.At = lifecycleNoon.Add(-time.Minute)
		},
		"an answer":     func(_ *AgentWatch, r *bridge.ProbeResult, _ *bool) { r.Answered = true },
		"output":        func(_ *AgentWatch, r *bridge.ProbeResult, _ *bool) { r.SilentMS-- },
		"a transcript":  func(_ *AgentWatch, r *bridge.ProbeResult, _ *bool) { r.TranscriptBytes = 1 },
		"a task's file": func(_ *AgentWatch, r *bridge.ProbeResult, _ *bool) { r.OutputBytes = 1 },
		"CPU":           func(_ *AgentWatch, r *bridge.ProbeResult, _ *bool) { r.CPUMS = 1200 },
		"another group": func(w *AgentWatch, _ *bridge.ProbeResult, _ *bool) { w.Last.CPUMS = 1 },
		"SIGSTOP":       func(_ *AgentWatch, r *bridge.ProbeResult, _ *bool) { r.Stopped = true },
	} {
		w, r, busy := before, silent, true
		change(&w, &r, &busy)
		w = Observe(w, r, lifecycleNoon, busy, LifecycleSilence)
		testkit.Check(t, w.Quiet == 0 && !w.Hung && w.Stopped == r.Stopped, "%s: %+v", name, w)
	}
}

func TestGuard(t *testing.T) {
	w, warnings, exceeded := GuardContext(AgentWatch{},
		bridge.ProbeResult{RSSBytes: 750, OutputBytes: 999, OutputPath: "/t"}, 1000, 1000)
	testkit.Check(t, exceeded == "" &&
		slices.Equal(warnings, ([]string{"750 B of 1000 B memory", "999 B of 1000 B task output (/t)"})),
		"warned of %q, exceeded %q", warnings, exceeded)
	warned := slices.Clone(w.Warned)
	again, warnings, _ := GuardContext(w, bridge.ProbeResult{RSSBytes: 800}, 1000, 1000)
	testkit.Check(t, len(warnings) == 0 && slices.Equal(again.Warned, []string{"memory"}) &&
		slices.Equal(w.Warned, warned), "warned again of %q, known %q, before %q", warnings, again.Warned, w.Warned)
	_, _, exceeded = GuardContext(w, bridge.ProbeResult{RSSBytes: 1000, OutputBytes: 2000}, 1000, 1000)
	testkit.Check(t, exceeded == "1000 B of memory, at most 1000 B", "exceeded: %q", exceeded)
	_, warnings, exceeded = GuardContext(w, bridge.ProbeResult{RSSBytes: 1 << 40}, 0, 0)
	testkit.Check(t, exceeded == "" && warnings == nil, "without limits: %q, %q", warnings, exceeded)
}

func TestInterruptedTurns(t *testing.T) {
	a := Agent{}
	for status, want := range map[AgentStatus]bool{AgentBusy: true, AgentRestarting: true, AgentDown: false,
		AgentReady: false} {
		a.Status = status
		testkit.Check(t, MidTurn(&a) == want, "%s: %v", status, !want)
	}
	a.Status, a.Turn = AgentDown, []string{"m"}
	testkit.Check(t, MidTurn(&a), "a turn that another process goes on with is under way")
	call := &RunningTool{Tool: "Bash"}
	a.ToolCall = call
	MarkCut(&a)
	testkit.Check(t, a.ToolCall.Cut && !call.Cut, "the call is marked in a copy")
	for input, want := range map[string]string{`{"command":"make\nall","path":"x"}`: "make", `{"path":""}`: "",
		`{"url":7}`: "", `[]`: ""} {
		testkit.Same(t, input, want, ToolSubject(json.RawMessage(input)))
	}
}

func TestFailures(t *testing.T) {
	for message, want := range map[string]runconfig.RestartClass{"fork: resource temporarily " +
		"unavailable": runconfig.RestartCrash,
		"it ended: bwrap: Can't create file at /home/x/socket: Read-only file system": runconfig.RestartCrash,
		"it ended: bwrap: Race condition binding dirfd":                               runconfig.RestartCrash,
		"it ended: bwrap: Can't mount proc on /newroot/proc: Operation not permitted": runconfig.CouldNotStart,
		"no such file": runconfig.CouldNotStart} {
		testkit.Same(t, message, want, StartClass(bridge.CatStart, message))
	}
	testkit.Same(t, "a refused history", runconfig.InvalidResume, StartClass(bridge.CatResume, "too many open files"))
	testkit.Check(t, !AffectsAllAgents(bridge.CatStart) && IsEnvironmental(bridge.CatStart) &&
		AffectsAllAgents(bridge.CatAuth), "a start fails for one agent, a login for all")
	for r, want := range map[bridge.Retry]bridge.Category{{Status: 529}: bridge.CatOverloaded,
		{Status: 429}: bridge.CatRateLimit, {Status: 500}: bridge.CatServer} {
		testkit.Same(t, r.Status, want, RetryCategory(r))
	}
	testkit.Same(t, "", "signal: KILL; oops", ExitText(bridge.Exit{Signal: "KILL", Stderr: "oops"}))
	got := RecoveryOptions(bridge.CatCredit, RoleArbiter)
	testkit.Check(t, len(got) == 1 && strings.Contains(got[0], "add credit"), "without credit: %q", got)
	testkit.Same(t, "", []string{"retry", "skip", "cancel"}, RecoveryOptions(bridge.CatCrash, RoleOrchestrator))
}

func TestLimits(t *testing.T) {
	for pct, want := range map[float64]string{69: "", 70: AgentLevelWarn, 85: LevelCritical} {
		testkit.Same(t, fmt.Sprintf("%v %%", pct), want, ContextLevel(bridge.Context{Window: 1, Pct: pct}, 70, 85))
	}
	testkit.Same(t, "an unknown window", "", ContextLevel(bridge.Context{Pct: 99}, 70, 85))
	a := Agent{AgentIdentity: AgentIdentity{Mode: "m"}, AgentWork: AgentWork{Turns: 3}}
	reached := func(l agents.Limits) string {
		s := State{Options: runconfig.Options{Modes: []agents.Agent{{Name: "m", Limits: l}}}}
		return s.reachedLimit(&a)
	}
	testkit.Check(t, reached(agents.Limits{MaxTurns: 4, MaxCostUSD: 1}) == "" && reached(agents.Limits{MaxTurns: 3}) != "",
		"the third of three turns reaches the limit")
	a.CostUSD = 1
	testkit.Check(t, reached(agents.Limits{MaxCostUSD: 1}) != "", "a dollar reaches the limit of one")
	for failures, want := range map[int]time.Duration{1: time.Second, 2: 4 * time.Second, 4: 16 * time.Second} {
		testkit.Same(t, fmt.Sprintf("after %d failures", failures), want,
			RetryDelay(failures, time.Second, 10*time.Second))
	}
}

var start = time.Unix(1_800_000_000, 0)

// collect returns the effects of f at a time after the start, without events.
func collect(after time.Duration, f func(*input.Collector)) (list []input.Effect) {
	c := input.Collector{Now: start.Add(after)}
	f(&c)
	for _, e := range c.Effects() {
		if _, event := e.(input.Emit); !event {
			list = append(list, e)
		}
	}
	return list
}

func (s *LifecycleState) lost(host string) (was bool) {
	collect(0, func(c *input.Collector) { was = s.Lost(c, host, "it ended", time.Time{}) })
	return was
}

func (s *LifecycleState) back(host string, claude bridge.ClaudeInfo) (is bool) {
	collect(0, func(c *input.Collector) { is = s.Back(c, host, claude, "/d", 0) })
	return is
}

// TestABridgeThatIsLostBeforeItsStartWasTold: it does not count as up.
func TestABridgeThatIsLostBeforeItsStartWasTold(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	s.lost(LifecycleHere)
	collect(0, func(c *input.Collector) { s.Due(c, LifecycleHere) })
	testkit.Check(t, !s.lost(LifecycleHere) && !s.back(LifecycleHere, bridge.ClaudeInfo{}) && !s.IsUp(LifecycleHere),
		"%+v", s.Bridges)
	testkit.Check(t, s.back(LifecycleHere, bridge.ClaudeInfo{}), "the next one is up")
}

// TestRetriesEnd: retries for a bridge that is lost again and again end, whatever other bridges do.
func TestRetriesEnd(t *testing.T) {
	var s LifecycleState
	n := 0
	for ; n < 20; n++ {
		starts := false
		collect(time.Duration(n)*time.Second, func(c *input.Collector) {
			starts = s.Retry(c, LifecycleHere, runconfig.DefaultRestarts(), "seed", "no").Starts()
		})
		if !starts {
			break
		}
	}
	p := runconfig.DefaultRestarts()
	testkit.Check(t, n == min(p.Streak, p.Intensity)-1, "given up after %d retries", n)
	collect(time.Minute, func(c *input.Collector) {
		testkit.Check(t, s.Retry(c, "box", runconfig.DefaultRestarts(), "seed", "no").Starts(),
			"another host is given up for the bridge of this one")
	})
}

// statusesLifecycle are the statuses in `host` events.
func statusesLifecycle(f func(*input.Collector)) (list []string) {
	c := input.Collector{Now: start}
	f(&c)
	return testkit.Each(said[contract.Host](c.Effects()),
		func(h contract.Host) string { return h.Name + " " + h.Status })
}

// TestNothingStartsBeforeTheLeaseIsOver: neither after a loss, nor in another process of Arbiter.
func TestNothingStartsBeforeTheLeaseIsOver(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	s.back("box", bridge.ClaudeInfo{})
	got := collect(0, func(c *input.Collector) {
		s.Lost(c, "box", "reset", start.Add(time.Minute))
		s.Retry(c, "box", runconfig.DefaultRestarts(), "seed", "reset")
	})
	set, ok := got[0].(input.SetTimer)
	testkit.Check(t, len(got) == 1 && ok && set.After == time.Minute, "after a loss: %v", got)
	s.back("gpu", bridge.ClaudeInfo{})
	testkit.Same(t, "may still run", []string{"box", "gpu"}, s.MayStillRun())
	s.Resume(bridge.ClaudeInfo{}, start, time.Minute, []string{"gpu"})
	got = collect(0, func(c *input.Collector) { s.Want(c, "box"); s.Want(c, "gpu"); s.Want(c, "new") })
	want := []input.Effect{input.SetTimer{Key: "restart/bridge/box", After: time.Minute + leaseGrace},
		input.OpenBridge{Host: "gpu"}, // it was fenced
		input.OpenBridge{Host: "new"}}
	testkit.Same(t, "", want, got)
}

// TestAParkedHostWaitsForAHuman: neither a timer nor an agent causes a retry.
func TestAParkedHostWaitsForAHuman(t *testing.T) {
	var s LifecycleState
	s.Start(bridge.ClaudeInfo{})
	got := statusesLifecycle(func(c *input.Collector) {
		s.Want(c, "box")
		s.Park(c, "box", "permission denied")
	})
	testkit.Same(t, "", []string{"box waiting", "box down"}, got)
	testkit.Empty(t, "tried again", collect(0, func(c *input.Collector) { s.Want(c, "box"); s.Due(c, "box") }))
	if got := s.Retriable(); !cmp.Equal(got, []string{"box"}) || s.Bridge("box").Reason != "permission denied" {
		t.Errorf("parked: %v, %+v", got, s.Bridge("box"))
	}
	got2 := collect(0, func(c *input.Collector) {
		testkit.Check(t, s.RetryNow(c, "box") && !s.RetryNow(c, "box"), "it is parked once")
	})
	want := []input.Effect{input.SetTimer{Key: "restart/bridge/box"}, input.OpenBridge{Host: "box"}}
	testkit.Same(t, "", want, got2)
}

// TestStartsAreQueued: as many Orchestrators start at once as the machine has processors, the others in the order in
// which they were spawned, each announced once. One that fails to start makes room, too.
func TestStartsAreQueued(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Cores, o.MaxOrchestrators = 2, 20 })
	for range 20 {
		a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
		testkit.Need(t, !a.IsError, "%v", a.Text)
	}
	p.contains("status", p.call("arbiter", "status", "{}").Text, "orch-2 (Orchestrator II): process starting",
		"orch-3 (Orchestrator III): process queued")
	starting := func() (ids []string) {
		for _, a := range p.s.Agents {
			if a.Status == AgentStarting {
				ids = append(ids, a.ID)
			}
		}
		return ids
	}
	for n := 1; n <= 20; n++ {
		var want []string
		for i := n; i < min(n+2, 21); i++ {
			want = append(want, fmt.Sprintf("orch-%d", i))
		}
		testkit.Same(t, "are starting", want, starting())
		if n == 7 {
			p.notSpawned(want[0], bridge.CatStart, "no")
		} else {
			p.spawned(want[0])
		}
	}
	testkit.Empty(t, "are starting", starting())
	testkit.Same(t, "starts", 21, len(effects[input.Spawn](p)))
	announced := map[string]int{}
	for _, e := range effects[input.Emit](p) {
		if _, ok := e.Event.Body.(contract.Spawn); ok {
			announced[e.Event.ID]++
		}
	}
	for id, n := range announced {
		testkit.Same(t, fmt.Sprintf("%s was announced times", id), 1, n)
	}
}

// TestQueuedStartKeepsItsSession: an Orchestrator whose start waited when the run's process was killed begins the
// session with which it was announced.
func TestQueuedStartKeepsItsSession(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.Cores, o.MaxOrchestrators = 1, 20 })
	for range 3 {
		p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
	}
	announced := map[string]string{}
	note := func() {
		for _, e := range effects[input.Emit](p) {
			if s, ok := e.Event.Body.(contract.Spawn); ok {
				announced[e.Event.ID] = s.SessionID
			}
		}
	}
	note()
	p.do(input.Resumed{Options: p.s.Options, Claude: p.s.Lifecycle.Claude(), Salt: "/2", Stay: true})
	p.comes(contract.Arbiter, p.remembers(contract.Arbiter, ""))
	for n := 1; n <= 3; n++ {
		p.comes(fmt.Sprintf("orch-%d", n), bridge.SpawnResult{})
	}
	note()
	for id, session := range announced {
		if got := p.agent(id).SessionID; got != session || p.agent(id).Status == AgentDown {
			t.Errorf("%s is %s in session %s, and was announced with %s", id, p.agent(id).Status, got, session)
		}
	}
}

// TestStartsAreQueuedOnEachHost: by the processors of the host, also when it comes back with many agents, and not for
// the Arbiter.
func TestStartsAreQueuedOnEachHost(t *testing.T) {
	p := spread(t, func(o *runconfig.Options) { o.Hosts[1].Slots, o.Cores = 3, 1 })
	p.spawnOn("gpu")
	p.spawnOn("gpu")
	p.spawnOn("gpu")
	p.spawnOn("here")
	p.do(input.BridgeBack{Host: "gpu", Dir: "/far", Cores: 2})
	for _, id := range []string{"orch-1", "orch-2", "orch-3"} {
		p.restartDue(id)
	}
	if a := p.agent("orch-3"); !a.Waits() || p.agent("orch-2").Status != AgentStarting ||
		p.agent("orch-4").Status != AgentStarting {
		t.Errorf("%s, %s, %s", p.agent("orch-2").Status, a.Status, p.agent("orch-4").Status)
	}
	p.do(input.BridgeLost{Host: "gpu", Message: "reset"})
	p.do(input.Timer{Key: LifecycleTimerKey("gpu")})
	p.do(input.BridgeBack{Host: "gpu", Dir: "/far", Cores: 1})
	for _, id := range []string{"orch-1", "orch-2"} {
		p.restartDue(id)
	}
	started := testkit.Count([]string{"orch-1", "orch-2", "orch-3"},
		func(id string) bool { return p.agent(id).Status == AgentStarting })
	testkit.Same(t, "start at once", 1, started)
	p.crash("arbiter", 1)
	a := p.agent("arbiter")
	testkit.Check(t, a.Up(), "the Arbiter is %s", a.Status)
}

// refuseSubagent reports that a limit refused a subagent to an agent.
func (p *play) refuseSubagent(id string, n int) []input.Effect {
	return p.do(input.CallDecided{Behavior: bridge.Deny, By: contract.ByLimit, Reason: "enough",
		Params: bridge.JudgeParams{AgentRef: p.agent(id).AgentRef, Tool: "Agent", ToolUse: fmt.Sprint("refused-", n)}})
}

// TestSubagentsAreShown: the Arbiter sees how many subagents work and have started, of how many.
func TestSubagentsAreShown(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxSubagents, o.MaxSubagentsTotal = 8, 200 })
	one := p.spawn("one")
	for n := range 3 {
		p.happen(one, bridge.SubagentStart{ToolUse: fmt.Sprint(n)})
	}
	p.happen(one, bridge.SubagentStop{ToolUse: "1"})
	p.contains("status", p.call("arbiter", "status", "{}").Text, "2 of 8 subagents at work",
		"started 3 of 200 subagents")
	p.do(input.Resumed{Options: p.s.Options, Salt: "/2"}) // its subagents have ended with it, and stay counted
	testkit.Same(t, "at work", 0, len(p.agent(one).Subagents))
	testkit.Same(t, "started", 3, p.s.Budget.Subagents)
}

// TestAStormIsStopped: a turn that asks for subagents in vain, again and again, is stopped once, and the Arbiter
// decides. A subagent that starts in between shows that the turn goes on.
func TestAStormIsStopped(t *testing.T) {
	p, one := oneWorks(t, nil)
	stopped := func(out []input.Effect) (n int) {
		for _, e := range out {
			if i, ok := e.(input.Interrupt); ok && i.Agent.ID == one {
				n++
			}
		}
		return n
	}
	refused, stops := 0, 0
	for ; refused < refusedStopped-1; refused++ {
		stops += stopped(p.refuseSubagent(one, refused))
	}
	p.happen(one, bridge.SubagentStart{ToolUse: "a"})
	for ; refused < 2*refusedStopped-2; refused++ {
		stops += stopped(p.refuseSubagent(one, refused))
	}
	testkit.Same(t, "stopped times before", 0, stops)
	for range 9 {
		refused++
		stops += stopped(p.refuseSubagent(one, refused))
	}
	testkit.Same(t, "stopped times", 1, stops)
	p.turn(one, bridge.Turn{Outcome: bridge.TurnInterrupted})
	testkit.Includes(t, "the Arbiter reads", p.lastSent("arbiter"),
		fmt.Sprintf("asked for %d subagents more", refusedStopped), "waits for your message")
}

// dead is a probe without any sign of activity; other probes differ in one sign.
var dead = bridge.ProbeResult{SilentMS: 3_600_000, CPUMS: 1000, RSSBytes: 1 << 28, Processes: 1, TranscriptBytes: 5000,
	OutputBytes: 100}

// look lets the time until the next probe pass, and returns its effects.
func (p *play) look(id string, r bridge.ProbeResult) []input.Effect {
	p.t.Helper()
	a := p.agent(id)
	p.at = p.at.Add(runconfig.DefaultWatchEvery - 2*time.Second)
	n := len(effects[input.Probe](p))
	p.do(input.Timer{Key: WatchPrefix + RunOf(a.AgentRef)})
	testkit.Same(p.t, fmt.Sprintf("%s, which is %s, is not looked at", id, a.Status), n+1,
		len(effects[input.Probe](p)))
	return p.do(input.Probed{Agent: a.AgentRef, Result: r})
}

// notices counts the notices about an agent that contain this text.
func (p *play) notices(part string) int {
	return testkit.Count(told[contract.Notice](p),
		func(b contract.Notice) bool { return strings.Contains(b.Text, part) })
}

// watched starts a play with a working Orchestrator that shows no activity.
func watched(t *testing.T, change func(*runconfig.Options)) (*play, string) {
	p, id := oneWorks(t, change)
	p.proven(id)
	return p, id
}

// TestNoSignOfLife: the agent is flagged within a minute and a half, the Arbiter is notified, and
// the run does nothing else before the Arbiter's decision.
func TestNoSignOfLife(t *testing.T) {
	p, id := watched(t, nil)
	began := p.at
	for p.notices("no sign of life") == 0 {
		r := dead
		r.SilentMS = p.at.Sub(began).Milliseconds() + runconfig.DefaultWatchEvery.Milliseconds()
		p.look(id, r)
		testkit.Need(t, p.at.Sub(began) <= 10*time.Minute, "it was never flagged")
	}
	if after := p.at.Sub(began); after < LifecycleSilence || after > LifecycleSilence+runconfig.DefaultWatchEvery {
		t.Errorf("flagged after %s", after)
	}
	for range 20 {
		p.look(id, dead)
	}
	testkit.Same(t, "flagged times", 1, p.notices("no sign of life"))
	told := testkit.Count(p.sends("arbiter"),
		func(m bridge.MessageParams) bool { return strings.Contains(m.Content, "gives no sign of life") })
	testkit.Need(t, told == 1 && len(effects[input.Kill](p)) == 0, "the Arbiter was told %d times, kills %v", told,
		effects[input.Kill](p))
	p.contains("the Arbiter", p.lastSent("arbiter"), "RETRY with to=orch-1", "release_orchestrator",
		"CONTINUE waits longer")

	p.verdict("arbiter", ruling("RETRY", "Try once more.", "to", id))
	k := effects[input.Kill](p)
	testkit.Need(t, len(k) == 1 && k[0].Agent.ID == id && k[0].Now, "kills %v", k)
	p.happen(id, bridge.Done{Exit: bridge.Exit{Code: -1, Signal: "killed"}})
	p.comes(id, p.remembers(id, bridge.DeliveryBegun))
	p.contains("after the restart", p.lastSent(id), "in the middle of your last turn")
	testkit.Same(t, "hung", false, p.agent(id).Watch.Hung)
	testkit.Same(t, "p.s.Lifecycle.Crashes", 0, p.s.Lifecycle.Crashes)
	p.verdict(id, report("progress", "here again", false))
	p.contains("the Arbiter's word", p.lastSent(id), "Try once more.", "kind: retry")
}

// TestASignInBetween: a sign of activity resets the count: the next silence is counted from its beginning.
func TestASignInBetween(t *testing.T) {
	p, id := watched(t, nil)
	for range 10 {
		for range 2 {
			p.look(id, dead)
		}
		r := dead
		r.Answered = true
		p.look(id, r)
	}
	testkit.Same(t, "hung", false, p.agent(id).Watch.Hung)
	testkit.Same(t, "the Arbiter heard", 1, len(p.sends("arbiter")))
}

// TestTheArbiterWithoutASignOfLife: no agent can judge the Arbiter, so the run starts it again,
// later than it would flag an Orchestrator.
func TestTheArbiterWithoutASignOfLife(t *testing.T) {
	p := begin(t, nil)
	p.proven("arbiter")
	looks := 0
	for len(effects[input.Kill](p)) == 0 && looks < 50 {
		p.look("arbiter", dead)
		looks++
	}
	testkit.Same(t, "ended after looks", HungArbiter+1, looks) // the first probe has nothing to compare with
	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: -1, Signal: "killed"}})
	p.comes("arbiter", p.remembers("arbiter", bridge.DeliverySeen))
	p.contains("afterwards", p.lastSent("arbiter"), "before you could answer")
}

// TestAStoppedProcess: it is reported as stopped, once each time, and left alone.
func TestAStoppedProcess(t *testing.T) {
	p, id := watched(t, nil)
	stopped := dead
	stopped.Stopped = true
	for range 10 {
		p.look(id, stopped)
	}
	testkit.Check(t, p.notices("SIGSTOP") == 1 && p.notices("sign of life") == 0 && len(effects[input.Kill](p)) == 0,
		"notices %v", told[contract.Notice](p))
	alive := dead
	alive.Answered = true
	p.look(id, alive)
	p.look(id, stopped)
	testkit.Same(t, "the second time was not told", 2, p.notices("SIGSTOP"))
}

// TestAfterASleep: all agents get time to recover. A probe that was running during the sleep does not count,
// and resources with an earlier warning keep it.
func TestAfterASleep(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxMemory = 300 << 20 })
	ids := []string{p.spawn("left half"), p.spawn("right half"), "arbiter"}
	for _, id := range ids {
		p.proven(id)
		p.look(id, dead)
		p.look(id, dead)
	}
	warned := p.notices("of 300.0 MiB memory")
	p.at = p.at.Add(8 * time.Hour)
	woke := p.at
	out := p.do(input.WokeFromSleep{Slept: 8 * time.Hour})
	for _, id := range ids {
		testkit.Same(t, fmt.Sprintf("%s is looked at after", id), WakeGrace,
			timer(out, WatchPrefix+RunOf(p.agent(id).AgentRef)))
	}
	p.out = nil
	next := map[string]time.Time{}
	for _, id := range ids { // these had been probed before the sleep
		out := p.do(input.Probed{Agent: p.agent(id).AgentRef, Result: dead})
		next[id] = p.at.Add(timer(out, WatchPrefix+RunOf(p.agent(id).AgentRef)))
	}
	for p.at.Sub(woke) < 4*WakeGrace && p.notices("sign of life") == 0 {
		for _, id := range ids {
			if p.at.Before(next[id]) {
				p.at = next[id].Add(-time.Second)
			}
			out := p.do(input.Probed{Agent: p.agent(id).AgentRef, Result: dead})
			next[id] = p.at.Add(timer(out, WatchPrefix+RunOf(p.agent(id).AgentRef)))
		}
	}
	if after := p.at.Sub(woke); after < WakeGrace || len(effects[input.Kill](p)) != 0 {
		t.Errorf("flagged %s after the sleep, kills %v", after, effects[input.Kill](p))
	}
	testkit.Same(t, "times before", 0, p.notices("of 300.0 MiB memory"))
	testkit.Same(t, "warned of memory", 3, warned)
}

// TestResources: one warning at three quarters; a restart at the limit, and not more restarts than the policy
// allows.
func TestResources(t *testing.T) {
	for name, c := range map[string]struct {
		warn, over bridge.ProbeResult
		want       string
	}{
		"memory": {bridge.ProbeResult{Answered: true, RSSBytes: 7 << 30},
			bridge.ProbeResult{Answered: true, RSSBytes: 8 << 30}, "8.0 GiB of memory, at most 8.0 GiB"},
		"output": {
			bridge.ProbeResult{Answered: true, OutputBytes: 3 << 30, OutputPath: "/tmp/a.output"},
			bridge.ProbeResult{Answered: true, OutputBytes: 1400 << 30, OutputPath: "/tmp/a.output"},
			"1.4 TiB of task output, at most 4.0 GiB (/tmp/a.output)",
		},
		"both": {
			bridge.ProbeResult{Answered: true, OutputBytes: 3 << 30, RSSBytes: 7 << 30},
			bridge.ProbeResult{Answered: true, OutputBytes: 3 << 30, RSSBytes: 9 << 30}, "9.0 GiB of memory",
		},
	} {
		t.Run(name, func(t *testing.T) {
			p, id := watched(t, func(o *runconfig.Options) { o.MaxMemory, o.MaxOutput = 8<<30, runconfig.DefaultMaxOutput })
			warnings := 1
			if name == "both" {
				warnings = 2
			}
			for range 20 {
				p.look(id, c.warn)
			}
			testkit.Same(t, fmt.Sprintf("warned times: %v", told[contract.Notice](p)), warnings, p.notices(" uses "))
			p.look(id, bridge.ProbeResult{Answered: true})
			p.look(id, c.warn)
			testkit.Same(t, "after it had gone down and up again, warned times", 2*warnings, p.notices(" uses "))
			p.look(id, c.over)
			k := effects[input.Kill](p)
			testkit.Need(t, len(k) == 1 && !k[0].Now, "kills %v", k)
			testkit.Same(t, fmt.Sprintf("notices %v", told[contract.Notice](p)), 1, p.notices(c.want))
			p.happen(id, bridge.Done{Exit: bridge.Exit{Expected: true}})
			p.contains("restart", last[contract.Restart](p).Reason, c.want)
			p.comes(id, p.remembers(id, bridge.DeliveryBegun))
			p.contains("afterwards", p.lastSent(id), "in the middle of your last turn")
		})
	}
}

// TestAnOffenderThatStaysOneIsParked: its files are still too large after each start.
func TestAnOffenderThatStaysOneIsParked(t *testing.T) {
	p, id := watched(t, func(o *runconfig.Options) { o.MaxOutput = 1 << 30 })
	var starts []time.Time
	for p.agent(id).Status != AgentParked && len(starts) < 100 {
		p.look(id, bridge.ProbeResult{Answered: true, OutputBytes: 2 << 30})
		out := p.happen(id, bridge.Done{Exit: bridge.Exit{Expected: true}})
		if p.agent(id).Status == AgentDown {
			p.at = p.at.Add(timer(out, RestartPrefix+RunOf(p.agent(id).AgentRef)))
			p.comes(id, p.remembers(id, bridge.DeliveryBegun))
			starts = append(starts, p.at)
		}
	}
	for i := range starts {
		if i >= 5 && starts[i].Sub(starts[i-5]) < time.Minute {
			t.Errorf("six starts within %s", starts[i].Sub(starts[i-5]))
		}
	}
	testkit.Check(t, len(starts) <= 20, "%d starts", len(starts))
	p.inspect(bridge.InspectResult{})
	p.contains("the Arbiter", lastMail(p, "arbiter"), "is gone", "task output")
}

// lastMail is the text of the last message to an agent, sent or not.
func lastMail(p *play, id string) string {
	text := ""
	for _, m := range told[contract.Message](p) {
		if m.To == id {
			text = m.Text
		}
	}
	return text
}

// TestABridgeThatDoesNotAnswer: it counts once for all agents that were probed together, because a busy machine
// delays all of them.
func TestABridgeThatDoesNotAnswer(t *testing.T) {
	p := begin(t, nil)
	ids := []string{"arbiter"}
	for i := range 3 {
		ids = append(ids, p.spawn(fmt.Sprintf("part %d", i)))
	}
	mute := func() {
		p.at = p.at.Add(runconfig.DefaultWatchEvery + 3*bridge.ProbeTimeout)
		for _, id := range ids {
			p.do(input.Probed{Agent: p.agent(id).AgentRef, Failed: "no answer", Silent: true})
		}
	}
	mute()
	mute()
	testkit.Same(t, "given up after two looks at all", 0, len(effects[input.DropBridge](p)))
	p.do(input.Probed{Agent: p.agent("arbiter").AgentRef, Result: bridge.ProbeResult{Answered: true}})
	mute()
	mute()
	testkit.Same(t, "an answer in between counts for nothing", 0, len(effects[input.DropBridge](p)))
	mute()
	testkit.Same(t, "times given up after three looks", 1, len(effects[input.DropBridge](p)))
}

// TestQuiet: the run reports each long silence of a working agent once, and no silence of other agents: not of one that
// waits for the API or for the human, and not of one whose turn has just begun.
func TestQuiet(t *testing.T) {
	p, id := watched(t, func(o *runconfig.Options) { o.QuietAfter = 5 * time.Minute })
	silent := func(d time.Duration) int {
		r := dead
		r.SilentMS, r.Answered = d.Milliseconds(), true
		p.look(id, r)
		return len(told[contract.Quiet](p))
	}
	testkit.Same(t, "an agent whose turn has just begun is called quiet", 0, silent(time.Hour))
	p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t1", Input: []byte(`{"command":"go test ./..."}`)})
	p.at = p.at.Add(time.Hour)
	testkit.Same(t, "told before its time", 0, silent(5*time.Minute-10*time.Second))
	timers := effects[input.SetTimer](p)
	testkit.Same(t, "looked at again after, not when the silence is long enough", 10*time.Second,
		timers[len(timers)-1].After)
	for range 5 {
		silent(5*time.Minute + time.Second)
	}
	testkit.Same(t, "told times of one silence", 1, silent(time.Hour))
	testkit.Like(t, "told", contract.Quiet{Seconds: 301, Doing: "Bash go test ./..."}, last[contract.Quiet](p))
	testkit.Same(t, "told of an agent that works", 1, silent(time.Second))
	p.happen(id, bridge.Retry{Attempt: 1, DelayMS: 600_000, Status: 529})
	testkit.Same(t, "an agent that waits for the API is called quiet", 1, silent(6*time.Minute))
	p.at = p.at.Add(10 * time.Minute)
	testkit.Same(t, "not told of the next silence", 2, silent(6*time.Minute))
	silent(time.Second)
	p.do(input.PermissionAsked{Params: bridge.PermissionParams{AgentRef: p.agent(id).AgentRef, Request: "r1",
		Tool: "Bash", Input: []byte(`{"command":"make"}`)}, Behavior: "ask"})
	testkit.Same(t, "an agent that waits for the human is called quiet", 2, silent(6*time.Minute))
	p, id = watched(t, nil) // the options switch it off
	p.at = p.at.Add(time.Hour)
	testkit.Same(t, "told times without a limit", 0, silent(time.Hour))
}
