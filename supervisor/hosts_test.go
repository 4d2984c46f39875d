package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// spread begins a run with hosts of some slots, in a repository.
func spread(t *testing.T, change func(*runconfig.Options)) *play {
	return begin(t, func(o *runconfig.Options) {
		o.Hosts = []runconfig.Host{{Name: "box", Slots: 1}, {Name: "gpu", Slots: 2}}
		o.Pools = []runconfig.Pool{{Name: "fast", Hosts: []string{"gpu"}}}
		o.Lease, o.MaxOrchestrators = time.Minute, 9
		o.Workspace = runconfig.Workspace{Root: "/w", Base: "b0", Own: "/own", Prefix: "sub"}
		if change != nil {
			change(o)
		}
	})
}

// spawnOn lets the Arbiter spawn an Orchestrator on a host, and returns its id, or the answer if there is
// none.
func (p *play) spawnOn(host string) (id, problem string) {
	p.t.Helper()
	return p.summon(fmt.Sprintf(`,"host":%q`, host))
}

// hostUp brings up the bridge of a host.
func (p *play) hostUp(host string, restarts ...string) []input.Effect {
	p.t.Helper()
	out := p.do(input.BridgeBack{Host: host, Claude: bridge.ClaudeInfo{Version: "2.1.329"}, Dir: "/far/" + host})
	for _, id := range restarts {
		p.restartDue(id)
	}
	return out
}

// onHost brings up an Orchestrator that works on a host.
func (p *play) onHost(host string) string {
	p.t.Helper()
	id, problem := p.spawnOn(host)
	testkit.Same(p.t, "problem", "", problem)
	if !p.s.Lifecycle.IsUp(host) {
		p.hostUp(host, id)
	}
	p.spawned(id)
	return id
}

// TestPlacement: the host with the most free slots, the one that was named, or the reason why not.
func TestPlacement(t *testing.T) {
	p := spread(t, nil)
	hosts := func() (list []string) {
		for _, a := range p.s.Agents[1:] {
			list = append(list, a.Host)
		}
		return list
	}
	for _, c := range []struct{ host, on, problem string }{
		{"", "gpu", ""}, {"", "box", ""}, {"fast", "gpu", ""},
		{"", "", "No host has a free slot. Full: box (1 slot), gpu (2 slots)."},
		{"fast", "", "Full: gpu (2 slots)."}, {"box", "", "Full: box (1 slot)."},
		{"moon", "", `There is no host or pool "moon" in this run. There are: here, box, gpu, fast.`},
		{"here", "", ""},
	} {
		before := len(p.s.Agents)
		_, problem := p.spawnOn(c.host)
		switch {
		case !strings.Contains(problem, c.problem) || (problem == "") != (c.problem == ""):
			t.Errorf("%q: %q", c.host, problem)
		case problem == "" && hosts()[before-1] != c.on:
			t.Errorf("%q: placed on %v", c.host, hosts())
		}
	}
	testkit.Same(t, "placed on", []string{"gpu", "box", "gpu", ""}, hosts())
	got := effects[input.OpenBridge](p)
	testkit.Check(t, len(got) == 2, "opened: %v", got)
	p = spread(t, func(o *runconfig.Options) { o.Workspace = runconfig.Workspace{} })
	_, problem := p.spawnOn("box")
	testkit.Includes(t, "without Git", problem, "no Git repository")
}

// TestAnAgentBeginsWhenItsHostIsUp: the agent starts when its host is up, in its own directory there.
func TestAnAgentBeginsWhenItsHostIsUp(t *testing.T) {
	p := spread(t, nil)
	id, _ := p.spawnOn("box")
	if a := p.agent(id); a.Status != AgentDown || a.Host != "box" || a.Isolation != runconfig.IsolationWorktree {
		t.Errorf("%+v", a.AgentIdentity)
	}
	testkit.Like(t, "the host", contract.Host{Name: "box", Status: contract.HostWaiting}, last[contract.Host](p))
	testkit.Like(t, "the spawn", contract.Spawn{Host: "box"}, last[contract.Spawn](p))
	p.hostUp("box", id)
	spawn := lastEffect[input.Spawn](p)
	testkit.Check(t, spawn.Params.ID == id && spawn.Params.Config.CWD == "/far/box/6f1c2a52/orch-1/sub" &&
		spawn.Place.Agent == id, "%+v, %+v", spawn.Params.Config.CWD, spawn.Place)
	testkit.Like(t, "the host", contract.Host{Status: contract.HostUp}, last[contract.Host](p))
}

// TestLosingAHost: the loss of a host ends only its own agents. They are restarted when everything there has
// ended.
func TestLosingAHost(t *testing.T) {
	p := spread(t, nil)
	far, near := p.onHost("box"), p.onHost("here")
	p.do(input.BridgeLost{Host: "box", Message: "connection reset", Until: p.at.Add(time.Minute)})
	there, here, arbiter := p.agent(far), p.agent(near), p.agent("arbiter")
	testkit.Check(t, there.Status == AgentDown && here.Up() && arbiter.Up() && p.s.Ending == nil, "%s %s, %s %s", far,
		p.agent(far).Status, near, p.agent(near).Status)
	testkit.Like(t, "the host", contract.Host{Status: contract.HostLost, Reason: "connection reset"},
		last[contract.Host](p))
	wait := timer(p.out, LifecycleTimerKey("box"))
	testkit.Check(t, wait >= 59*time.Second, "it is opened again after %s", wait)
	p.do(input.Timer{Key: LifecycleTimerKey("box")})
	p.hostUp("box", far)
	if a := p.agent(far); a.Status != AgentStarting || a.Generation < 2 || p.agent(near).Generation != 1 {
		t.Errorf("%s generation %d is %s", far, a.Generation, a.Status)
	}
}

// TestWorkOfAnEndedAgentIsAwaited: a lost host is opened again for a snapshot of work there, although no agent lives on
// it, and is not dropped at once.
func TestWorkOfAnEndedAgentIsAwaited(t *testing.T) {
	p := spread(t, nil)
	id := p.onHost("box")
	p.s.Edit(id).Own = runconfig.Worktree{Branch: "arbiter/r/orch-1.1", Base: "b0",
		Isolation: runconfig.IsolationWorktree}
	p.turn(id, verdictTurn(report("progress", "Half.", false), bridge.Turn{Tools: 1}))
	testkit.Same(t, fmt.Sprintf("snapshots: %+v", p.s.Changes.Queue), 1, len(p.s.Changes.Queue))
	p.mustCommand(contract.Kill{ID: id})
	p.happen(id, bridge.Done{Exit: bridge.Exit{Expected: true}})
	p.out = nil
	p.do(input.BridgeLost{Host: "box", Message: "the link broke"})
	testkit.Need(t, timer(p.out, LifecycleTimerKey("box")) > 0, "nothing brings it back: %+v", p.s.Lifecycle.Bridges)
	p.do(input.Timer{Key: LifecycleTimerKey("box")})
	p.hostUp("box")
	testkit.Check(t, len(effects[input.OpenBridge](p)) == 1 && len(effects[input.DropBridge](p)) == 0,
		"opened %+v, dropped %+v", effects[input.OpenBridge](p), effects[input.DropBridge](p))
}

// TestAHostThatRefusesIsParked: it is not retried before the human asks for it, and the run continues.
func TestAHostThatRefusesIsParked(t *testing.T) {
	p := spread(t, nil)
	id, _ := p.spawnOn("box")
	p.do(input.BridgeFailed{Host: "box", Category: bridge.CatHost, Message: "Permission denied (publickey)"})
	n := len(effects[input.OpenBridge](p))
	testkit.Check(t, n == 1 && p.s.Ending == nil, "opened %d times, ending %+v", n, p.s.Ending)
	e := last[contract.Error](p)
	testkit.Check(t, slices.Equal(e.RecoveryOptions, []string{"retry host box"}), "%+v", e)
	_, problem := p.spawnOn("box")
	testkit.Check(t, strings.Contains(problem, "Permission denied"), "%v", problem)
	p.mustCommand(contract.Choose{Option: "retry host box"})
	testkit.Same(t, "opened times", 2, len(effects[input.OpenBridge](p)))
	p.hostUp("box", id)
	testkit.Same(t, id, AgentStarting, p.agent(id).Status)
}

// unreachable lets attempts to open a host fail for a while, each when its timer rings and a second after it began, and
// returns their number.
func (p *play) unreachable(host string, during time.Duration) (attempts int) {
	p.t.Helper()
	for end := p.at.Add(during); p.at.Before(end) && p.s.Ending == nil && !p.s.Lifecycle.Bridge(host).Parked; attempts++ {
		p.do(input.BridgeFailed{Host: host, Category: bridge.CatCrash, Message: "Connection refused"})
		if last, ok := p.out[len(p.out)-1].(input.SetTimer); ok && last.Key == LifecycleTimerKey(host) {
			p.at = p.at.Add(last.After)
		}
		p.do(input.Timer{Key: LifecycleTimerKey(host)})
	}
	return attempts
}

// TestAHostComesBackAfterHours: while a human is present, a host that is out of reach is lost for as long as it takes.
// It is tried with growing pauses, also after more than the failures in a row that park a local process.
func TestAHostComesBackAfterHours(t *testing.T) {
	p := spread(t, nil)
	id := p.onHost("box")
	p.do(input.BridgeLost{Host: "box", Message: "reset"})
	p.do(input.Timer{Key: LifecycleTimerKey("box")})
	p.out = nil
	n := p.unreachable("box", 8*time.Hour)
	testkit.Check(t, n >= 90 && n <= 250, "tried %d times in 8 hours", n)
	b := p.s.Lifecycle.Bridge("box")
	testkit.Need(t, !b.Parked && b.Status == StatusLost && b.Reason == "Connection refused" && p.s.Ending == nil,
		"%+v, ending %+v", b, p.s.Ending)
	testkit.Same(t, "events tell of one outage", 1, len(told[contract.Host](p))) // another reason
	for _, timer := range effects[input.SetTimer](p) {
		testkit.Check(t, timer.Key != LifecycleTimerKey("box") || timer.After <= runconfig.DefaultRestarts().Cap,
			"a pause of %s", timer.After)
	}
	r := last[contract.Restart](p)
	testkit.Check(t, strings.HasPrefix(r.Reason, "host box out of reach (Connection refused)"), "%+v", r)
	p.hostUp("box", id)
	testkit.Same(t, id, AgentStarting, p.agent(id).Status)
	// Failures before it was up for a while still count: it is not tried in a tight loop.
	p.do(input.BridgeLost{Host: "box", Message: "reset"})
	r = last[contract.Restart](p)
	testkit.Check(t, r.DelayMS >= 60_000, "%+v", r)
}

// TestALostHostIsToldOf: the Arbiter learns once that its agents wait for a host, and the human finds in the inbox why,
// and can have it tried at once.
func TestALostHostIsToldOf(t *testing.T) {
	p := spread(t, nil)
	id := p.onHost("box")
	p.do(input.BridgeLost{Host: "box", Message: "reset"})
	p.do(input.Timer{Key: LifecycleTimerKey("box")})
	p.unreachable("box", 10*time.Minute)
	p.verdict("arbiter", ruling("CONTINUE", "Go on."))
	heard := p.lastSent("arbiter")
	p.contains("the Arbiter", heard, id+" waits", "out of reach (Connection refused)", "release it")
	testkit.Same(t, fmt.Sprintf("told more than once:\n%s", heard), 1, strings.Count(heard, id+" waits"))
	// The last ring has begun an attempt, which cannot be hurried.
	ok, _ := p.command(contract.Choose{Option: "retry host box"})
	testkit.Check(t, !ok, "it is tried twice at once")
	p.do(input.BridgeFailed{Host: "box", Category: bridge.CatCrash, Message: "Connection refused"})
	items := InboxOf(&p.s)
	testkit.Check(t, len(items) == 1 && items[0].Host == "box" && items[0].Optional &&
		slices.Equal(items[0].Choices, []string{"retry host box"}) &&
		strings.Contains(items[0].Text, "Connection refused"), "%+v", items)
	p.out = nil
	p.mustCommand(contract.Choose{Option: "retry host box"})
	testkit.Same(t, "opened times", 1, len(effects[input.OpenBridge](p)))
	p.do(input.BridgeFailed{Host: "box", Category: bridge.CatHost, Message: "Permission denied (publickey)"})
	items = InboxOf(&p.s)
	testkit.Check(t, len(items) == 1 && !items[0].Optional && strings.Contains(items[0].Text, "Permission denied"),
		"%+v", items)
}

// TestOtherHostsAreUsedMeanwhile: nothing new is placed on a host that is lost, or was given up a short time ago, while
// another place is free.
func TestOtherHostsAreUsedMeanwhile(t *testing.T) {
	p := spread(t, func(o *runconfig.Options) { o.HereToo = true })
	lost := p.onHost("gpu")
	p.do(input.BridgeLost{Host: "gpu", Message: "reset"})
	on := func(want string) {
		t.Helper()
		id, problem := p.spawnOn("")
		testkit.Same(t, "problem", "", problem)
		testkit.Same(t, "placed on", want, p.agent(id).Host)
	}
	p.do(input.Timer{Key: LifecycleTimerKey("gpu")}) // it is being tried
	on("box")
	on(LifecycleHere)
	p.do(input.BridgeFailed{Host: "gpu", Category: bridge.CatCrash, Message: "Connection refused"})
	p.mustCommand(contract.Kill{ID: lost})
	p.do(input.Timer{Key: LifecycleTimerKey("gpu")})
	p.do(input.BridgeFailed{Host: "gpu", Category: bridge.CatCrash, Message: "Connection refused"})
	b := p.s.Lifecycle.Bridge("gpu")
	testkit.Need(t, b.Status == StatusDown && !b.Parked, "%+v", b)
	on(LifecycleHere)
	p.at = p.at.Add(time.Hour)
	on("gpu")
}

// TestNoHumanAndNoHost: without a human, a host that only a human can mend ends the run with a result that says so, if
// there is no other; a host that is out of reach does after the longest wait.
func TestNoHumanAndNoHost(t *testing.T) {
	refuses := func(p *play, host string) {
		p.do(input.BridgeFailed{Host: host, Category: bridge.CatHost, Message: "Permission denied"})
	}
	for name, c := range map[string]struct {
		human bool
		hosts int
		then  func(p *play)
	}{
		"refused": {false, 1, func(p *play) { refuses(p, "box") }},
		"out of reach for hours": {false, 1, func(p *play) {
			before := p.at
			p.unreachable("box", 24*time.Hour)
			took := p.at.Sub(before)
			testkit.Check(p.t, took >= 6*time.Hour && took <= 7*time.Hour, "given up after %s", took)
		}},
		"the human leaves": {true, 1, func(p *play) { refuses(p, "box"); p.do(input.InputEnded{}) }},
		"the last of two": {false, 2, func(p *play) {
			p.spawnOn("gpu")
			refuses(p, "box")
			a := p.agent("orch-1")
			testkit.Check(p.t, a.Gone() && p.s.Ending == nil, "%s, ending %+v", a.Status, p.s.Ending)
			refuses(p, "gpu")
		}},
	} {
		t.Run(name, func(t *testing.T) {
			p := spread(t, func(o *runconfig.Options) {
				o.HumanPresent, o.Hosts, o.Pools = c.human, o.Hosts[:c.hosts], nil
			})
			p.spawnOn("box")
			c.then(p)
			p.do(input.Stopped{})
			p.do(input.Timer{Key: lastSnapshotKey})
			ends := effects[input.Finish](p)
			testkit.Need(t, len(ends) == 1 && ends[0].Exit == contract.ExitEnvironment, "ends: %+v", ends)
			r := last[contract.Result](p)
			testkit.Check(t, r.Status == contract.StatusFailed &&
				strings.Contains(r.Summary, "no host can be used, and no human is present"), "%+v", r)
		})
	}
}

// TestLateReportsOfAnEarlierBridge: what is reported late about a bridge of a parked host does not count against the
// next one, which would be started again and again.
func TestLateReportsOfAnEarlierBridge(t *testing.T) {
	late := input.BridgeLost{Host: "box", Message: "it was closed"}
	for name, play := range map[string]func(p *play, id string){
		"the end, after another try": func(p *play, id string) {
			p.notSpawned(id, bridge.CatAuth, "not logged in")
			p.opensAfterTheEnd("box", func() { p.mustCommand(contract.Choose{Option: RetryOption("box")}) })
		},
		"the end, after two failures": func(p *play, id string) {
			p.spawned(id)
			failed := bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatAuth, Error: "log in"}
			p.turn(id, failed)
			p.happen(id, failed)
			p.opensAfterTheEnd("box", func() { p.mustCommand(contract.Choose{Option: RetryOption("box")}) })
		},
		"the start, after the end": func(p *play, _ string) {
			p.do(input.BridgeLost{Host: "box", Message: "the link broke"})
			p.do(input.Timer{Key: LifecycleTimerKey("box")})
			p.do(late)
			p.do(input.BridgeFailed{Host: "box", Category: bridge.CatHost, Message: "it broke the protocol"})
			p.hostUp("box")
			testkit.Same(t, "parked", true, p.s.Lifecycle.Bridge("box").Parked)
			p.mustCommand(contract.Choose{Option: RetryOption("box")})
		},
	} {
		t.Run(name, func(t *testing.T) {
			p := spread(t, nil)
			id, _ := p.spawnOn("box")
			p.hostUp("box", id)
			play(p, id)
			p.hostUp("box", id)
			b := p.s.Lifecycle.Bridge("box")
			testkit.Check(t, b.Up && p.agent(id).Status == AgentStarting, "%+v; %s is %s", b, id, p.agent(id).Status)
		})
	}
}

// opensAfterTheEnd: a host that is needed while its bridge is being ended is opened when the end is reported and what
// ran there has ended.
func (p *play) opensAfterTheEnd(host string, need func()) {
	p.t.Helper()
	p.out = nil
	need()
	p.do(input.BridgeLost{Host: host, Message: "it was closed", Until: p.at.Add(time.Minute)})
	wait := timer(p.out, LifecycleTimerKey(host))
	testkit.Check(p.t, wait >= 59*time.Second, "it is opened after %s", wait)
	testkit.Same(p.t, "opened before", 0, len(effects[input.OpenBridge](p)))
	p.do(input.Timer{Key: LifecycleTimerKey(host)})
	testkit.Same(p.t, "opened", 1, len(effects[input.OpenBridge](p)))
}

// TestAHostThatNothingNeeds: its bridge is ended when its start takes longer than its agents live. That is no failure.
// An agent that is placed there meanwhile waits for the end.
func TestAHostThatNothingNeeds(t *testing.T) {
	p := spread(t, nil)
	id, _ := p.spawnOn("box")
	p.mustCommand(contract.Kill{ID: id})
	p.hostUp("box")
	testkit.Same(t, "bridges that are ended", 1, len(effects[input.DropBridge](p)))
	again := p.fork(t)
	p.do(input.BridgeLost{Host: "box", Message: "it was closed"})
	testkit.Same(t, "crashes", 0, p.s.Lifecycle.Crashes)
	testkit.Same(t, "the host", contract.Host{Name: "box", Status: contract.HostDown}, last[contract.Host](p))
	testkit.Same(t, "times it was lost", 0, len(testkit.Only(told[contract.Host](p),
		func(h contract.Host) bool { return h.Status == contract.HostLost })))

	again.opensAfterTheEnd("box", func() { again.spawnOn("box") })
}

// TestAHostWhereNoAgentCanWork is parked, and its agents wait there until a human retries it. A failure of another make
// there says nothing of the host.
func TestAHostWhereNoAgentCanWork(t *testing.T) {
	atStart := func(c bridge.Category) func(*play, string) {
		return func(p *play, id string) {
			p.notSpawned(id, c, "cannot work")
		}
	}
	inTurn := func(p *play, id string) {
		p.spawned(id)
		p.turn(id, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatAuth, Error: "log in"})
	}
	for name, c := range map[string]struct {
		make string
		fail func(p *play, id string)
	}{
		"at a start":               {"", atStart(bridge.CatClaudeMissing)},
		"in a turn":                {"", inTurn},
		"another make, at a start": {`,"make":"other"`, atStart(bridge.CatAuth)},
		"another make, in a turn":  {`,"make":"other"`, inTurn},
	} {
		t.Run(name, func(t *testing.T) {
			p := spread(t, func(o *runconfig.Options) {
				o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other", Command: []string{"other"}}}}
			})
			near, _ := p.spawnOn("here")
			p.spawned(near)
			id, problem := p.summon(c.make + `,"host":"box"`)
			testkit.Same(t, "problem", "", problem)
			p.hostUp("box", id)
			if cfg := p.spawns(id)[0].Config; (cfg.Make == nil) != (c.make == "") || p.agent(id).Host != "box" {
				t.Fatalf("on %q: %+v", p.agent(id).Host, cfg.Make)
			}
			c.fail(p, id)
			b, other := p.s.Lifecycle.Bridge("box"), p.agent(near)
			testkit.Need(t, p.s.Ending == nil && other.Up() && b.Parked == (c.make == "") && b.Up != b.Parked,
				"ending %+v; %+v; %s is %s", p.s.Ending, b, id, p.agent(id).Status)
			if !b.Parked {
				return
			}
			testkit.Same(t, id, AgentDown, p.agent(id).Status)
			drops := effects[input.DropBridge](p)
			testkit.Check(t, len(drops) == 1 && drops[0].Host == "box", "dropped %+v", drops)
			p.do(input.BridgeLost{Host: "box", Message: "it was closed"})
			p.mustCommand(contract.Choose{Option: "retry host box"})
			p.hostUp("box", id)
			p.comes(id, bridge.SpawnResult{Resumed: true})
			testkit.Same(t, id, AgentBusy, p.agent(id).Status)
		})
	}
}

// TestASuccessorElsewhereHearsOfIt: the first message to a successor on another host names the host, and the
// successor begins with the work that was brought back.
func TestASuccessorElsewhereHearsOfIt(t *testing.T) {
	p := spread(t, nil)
	old := p.onHost("box")
	a := p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":"go on","host":"gpu","successor_of":%q}`, old))
	testkit.Need(t, !a.IsError, "%v", a.Text)
	p.hostUp("gpu", "orch-2")
	p.spawned("orch-2")
	p.contains("the brief", p.lastSent("orch-2"), "Orchestrator I worked on host box, and you work on host gpu.")
	testkit.Same(t, "begins after", old, lastEffect[input.Spawn](p).Place.After)
}

// TestEndingWithoutAHost: a run ends normally although one of its hosts is lost.
func TestEndingWithoutAHost(t *testing.T) {
	p := spread(t, nil)
	p.onHost("box")
	p.do(input.Signal{Signal: "INT"})
	p.do(input.BridgeLost{Host: "box", Message: "reset"})
	testkit.Same(t, "the loss of a host has ended the run", 0, len(effects[input.Finish](p)))
	p.do(input.Stopped{})
	p.do(input.Timer{Key: lastSnapshotKey})
	testkit.Same(t, "the run has not ended", 1, len(effects[input.Finish](p)))
}

// TestChecksRunWhereTheWorkWasDone: checks run on the author's host, and again here on the merged files.
func TestChecksRunWhereTheWorkWasDone(t *testing.T) {
	p := spread(t, nil)
	id := p.onHost("box")
	p.verdict(id, proven("done", "true"))
	check := effects[input.RunCheck](p)[0]
	testkit.Same(t, "check.Host", "box", check.Host)
	testkit.Same(t, "check.Params.CWD", "/far/box/6f1c2a52/orch-1/sub", check.Params.CWD)
	// The host is lost during the check: it runs again with the host's next bridge.
	p.do(input.BridgeLost{Host: "box", Message: "reset"})
	p.do(input.Timer{Key: LifecycleTimerKey("box")})
	p.hostUp("box")
	testkit.Same(t, "checks", 2, len(effects[input.RunCheck](p)))
	p.bridgeReturns() // the one here, where it does not run
	testkit.Same(t, "checks", 2, len(effects[input.RunCheck](p)))
}

// TestTrustOnAHost: the question whether to trust the files that agents on a host load is about that host
// alone. Agents on other hosts continue, and the choice applies only there.
func TestTrustOnAHost(t *testing.T) {
	sources := func(p *play, id string) string {
		spawns := p.spawns(id)
		return sourcesOf(spawns[len(spawns)-1])
	}
	for _, c := range []struct {
		option, sources, there string
	}{{"trust", "user,project", "h9"}, {"without", "user", ""}} {
		p := spread(t, func(o *runconfig.Options) { o.Trusted, o.TrustHash = true, "h1" })
		far, _ := p.spawnOn("box")
		p.hostUp("box", far)
		testkit.Same(t, "it loads", "user,project", sources(p, far))
		p.refused(far, "h9")
		q := p.s.Lifecycle.TrustQuestion
		testkit.Need(t, q != nil && q.Host == "box" && q.Hash == "h9", "asked: %+v", q)
		near := p.onHost("here")
		other := p.onHost("gpu")
		nearAgent, otherAgent := p.agent(near), p.agent(other)
		testkit.Check(t, nearAgent.Up() && otherAgent.Up() && p.agent(far).Status == AgentDown,
			"here %s, gpu %s, box %s", p.agent(near).Status, p.agent(other).Status, p.agent(far).Status)
		p.mustCommand(contract.Choose{Option: c.option})
		p.restartDue(far)
		testkit.Same(t, fmt.Sprintf("%s: loads", c.option), c.sources, sources(p, far))
		testkit.Same(t, fmt.Sprintf("%s: p.agent(far).Status", c.option), AgentStarting, p.agent(far).Status)
		testkit.Same(t, fmt.Sprintf("%s: pinned", c.option), c.there, p.s.Lifecycle.Bridge("box").TrustHash)
		testkit.Same(t, fmt.Sprintf("%s: there", c.option), "h1", p.s.Options.TrustHash)
		if pins := effects[input.PinTrust](p); len(pins) != len(c.there)/2 || len(pins) == 1 && pins[0].Host != "box" {
			t.Errorf("%s: recorded %+v", c.option, pins)
		}
	}
}

// TestPlaceOfARequestOnAHost: a request of an agent on another host names that host and the directory there.
func TestPlaceOfARequestOnAHost(t *testing.T) {
	p := spread(t, nil)
	id := p.onHost("box")
	p.do(asked(p, id, "p1", "ask"))
	want := contract.CallPlace{CWD: p.s.OwnDir(id), Own: true, Host: "box"}
	got := last[contract.PermissionRequest](p).Place
	testkit.Check(t, got != nil && *got == want && strings.HasPrefix(got.CWD, "/far/box/"), "%+v, want %+v", got, want)
}

// othersToo is a run with a make `other`, and a mode that is of it.
func othersToo(t *testing.T) *play {
	t.Helper()
	return begin(t, func(o *runconfig.Options) {
		o.HumanPresent, o.Model = true, "opus"
		o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other", Command: []string{"other"}}, MaxTurns: 2}}
		o.Modes = append(agents.List(), agents.Agent{Name: "second", Description: "d", Make: "other", Model: "small"})
	})
}

// summon spawns an Orchestrator with more members of the call.
func (p *play) summon(more string) (id, problem string) {
	p.t.Helper()
	if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"`+more+`}`); a.IsError {
		return "", a.Text
	}
	return fmt.Sprintf("orch-%d", p.s.Spawned), ""
}

func TestMakeOfASummons(t *testing.T) {
	for _, c := range []struct{ more, plan, make, model, problem string }{
		{"", "", "", "opus", ""},
		{`,"make":"claude"`, "", "", "opus", ""},
		{`,"make":"other"`, "", "other", "", ""},
		{`,"mode":"second"`, "", "other", "small", ""},
		{`,"mode":"second","make":"claude"`, "", "", "opus", ""},
		{"", `{"text":"a","make":"other"}`, "other", "", ""},
		{"", `{"text":"a","make":"other","mode":"tester"}`, "", "opus", ""},
		{`,"make":"claude"`, `{"text":"a","make":"other"}`, "", "opus", ""},
		{`,"make":"third"`, "", "", "", `There is no make "third". Makes: claude, other.`},
		{`,"make":"other","host":"box"`, "", "", "", `There is no host or pool "box"`},
	} {
		p := othersToo(t)
		if c.plan != "" {
			a := p.call("arbiter", "set_plan", `{"steps":[`+c.plan+`]}`)
			testkit.Need(t, !a.IsError, "%v", a.Text)
		}
		id, problem := p.summon(c.more)
		testkit.Check(t, strings.Contains(problem, c.problem) && (problem != "") == (c.problem != ""),
			"%s: problem %q, want %q", c.more, problem, c.problem)
		if id == "" {
			continue
		}
		cfg, name := p.spawns(id)[0].Config, ""
		if cfg.Make != nil {
			name = cfg.Make.Name
		}
		if a := p.agent(id); a.Make != c.make || name != c.make || cfg.Model != c.model {
			t.Errorf("%s %s: make %q, %q, model %q", c.more, c.plan, a.Make, name, cfg.Model)
		}
	}
	p := begin(t, func(o *runconfig.Options) {
		o.Makes, o.DefaultMake = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other"}}}, "other"
	})
	id, _ := p.summon("")
	testkit.Check(t, p.agent(id).Make == "other", "the default does not count")
	p = othersToo(t)
	p.contains("plan", p.call("arbiter", "set_plan", `{"steps":[{"text":"a","make":"third"}]}`).Text, "no make")
	p.contains("prompt", p.spawns("arbiter")[0].Config.SystemPrompt, "`make` chooses the make of agent: claude, other.")
	ok, why := p.command(contract.SetPlan{Steps: []contract.Step{{Text: "a", Make: "third"}}})
	testkit.Check(t, !ok, "a plan for a make that is not there: %s", why)
}

// TestMakeWithUnknowns: what a make lacks is said once and in status, nothing is sent into its turn, it hands off by
// its turns while its context is unknown, its session is its own, and the end says that its cost is not known.
func TestMakeWithUnknowns(t *testing.T) {
	p := othersToo(t)
	id, _ := p.summon(`,"make":"other"`)
	up := func() {
		p.do(input.Spawned{Agent: p.agent(id).AgentRef, Result: bridge.SpawnResult{SessionID: p.agent(id).SessionID,
			MakeSession: "theirs", Lacks: []string{"delivery is shown as written"}, Resumed: true}})
	}
	up()
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.contains("status", p.call("arbiter", "status", "{}").Text, "of make other", "context unknown",
		"lacks: delivery is shown as written")
	sent := len(p.sends(id))
	p.command(contract.Say{To: id, Text: "Mind the gap.", Strength: contract.Steer})
	now := len(p.sends(id))
	testkit.Check(t, now == sent, "%d messages were sent into its turn", now-sent)
	p.refuses(contract.Attach{ID: id}, "of make other")
	p.turn(id, verdictTurn(report("progress", "on", false), bridge.Turn{CostUnknown: true}))
	p.contains("the next message", p.lastSent(id), "Mind the gap.")
	p.contains("status", p.call("arbiter", "status", "{}").Text, "cost unknown")
	p.verdict(id, report("progress", "on", false))
	p.contains("limit", p.agent(id).ReachedLimit, "nobody knows how full its context is")
	p.crash(id, 1)
	p.restartDue(id)
	if list := p.spawns(id); len(list) != 2 || !list[1].Config.Resume || list[1].Config.MakeSession != "theirs" {
		t.Errorf("restarts: %d, %+v", len(list), list[len(list)-1].Config.MakeSession)
	}
	up()
	testkit.Same(t, "what it lacks was said times", 1, p.notices("What it lacks: "))
	p.command(contract.Cancel{})
	p.endsAs(contract.StatusCancelled, contract.ExitFailed, "The cost is not complete: what "+id+" cost is not known.")
}

// TestDeliveryToAMake: it is announced as written, and counts as that in the ledger.
func TestDeliveryToAMake(t *testing.T) {
	p := othersToo(t)
	id, _ := p.summon(`,"make":"other"`)
	p.spawned(id)
	p.happen(id, bridge.Delivered{MessageID: p.agent(id).Turn[0], Proof: bridge.ProofWritten})
	p.happen(id, bridge.Context{Tokens: 1, Window: 100})
	proofs := []string{}
	for _, e := range effects[input.Emit](p) {
		if b, ok := e.Event.Body.(contract.Delivered); ok {
			proofs = append(proofs, fmt.Sprintf("%s %s", e.Event.ID, b.Proof))
		}
	}
	testkit.Check(t, slices.Contains(proofs, id+" written") && !slices.Contains(proofs, "arbiter written"), "proofs %q",
		proofs)
}

// TestAMakeIsNotSteered: it cannot be reached in its turn, and reads nothing about that turn in another one.
func TestAMakeIsNotSteered(t *testing.T) {
	p := othersToo(t)
	id, _ := p.summon(`,"make":"other"`)
	p.spawned(id)
	for range failsForAgent {
		p.happen(id, bridge.ToolUse{Tool: "Bash", ToolUse: "t", Input: member("command", "make test")})
		p.happen(id, bridge.ToolResult{ToolUse: "t", IsError: true, Text: "no"})
	}
	n := len(p.sends(id))
	p.verdict("arbiter", ruling("CONTINUE", "I wait."))
	p.verdict(id, report("done", "all of it", true))
	testkit.Same(t, "messages after its turn", 0, len(p.sends(id)[n:]))
}

// TestArbiterOfAMake: the Arbiter has its own model, may write nothing, and is not trusted with what it does not ask
// about. The run ends if it does not start. Claude's models are not chosen for it.
func TestArbiterOfAMake(t *testing.T) {
	begun := func(more func(*runconfig.Options)) *play {
		return begin(t, func(o *runconfig.Options) {
			o.HumanPresent, o.Model, o.ArbiterMake = true, "opus", "other"
			o.Sandbox = &bridge.SandboxConfig{Write: []string{"/w"}, Read: []string{"/r"}}
			o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other", Command: []string{"other"},
				AcceptUnasked: true}, MaxTurns: 2}}
			more(o)
		})
	}
	p := begun(func(o *runconfig.Options) { o.ArbiterModel = "theirs" })
	c := p.spawns("arbiter")[0].Config
	testkit.Check(t, c.Make != nil && c.Make.Name == "other" && !c.Make.AcceptUnasked && c.Model == "theirs" &&
		len(c.Sandbox.Write) == 0 && c.Sandbox.ReadOnly && slices.Equal(c.Sandbox.Read, []string{"/r", "/w"}),
		"config %+v, make %+v, sandbox %+v", c, c.Make, c.Sandbox)
	id, _ := p.summon("")
	if c := p.spawns(id)[0].Config; c.Make != nil || c.Model != "opus" || !slices.Equal(c.Sandbox.Write, []string{"/w"}) {
		t.Errorf("an Orchestrator: %+v, %+v", c, c.Sandbox)
	}
	p.refuses(contract.Configure{Model: "sonnet"}, "of make other")
	p.notSpawned("arbiter", bridge.CatAuth, "log in")
	testkit.Check(t, p.s.Ending != nil, "the run goes on without an Arbiter")
	p = begun(func(*runconfig.Options) {})
	testkit.Same(t, "it gets Claude's model", "", p.spawns("arbiter")[0].Config.Model)
}

// TestArbiterOfAMakeIsRenewed: it is, when its turns are used up while nobody knows how full its context is; the
// successor's turns are counted anew.
func TestArbiterOfAMakeIsRenewed(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) {
		o.HumanPresent, o.ArbiterMake = true, "other"
		o.Makes = []runconfig.Make{{MakeSpec: bridge.MakeSpec{Name: "other", Command: []string{"other"}}, MaxTurns: 2}}
	})
	p.s.Edit("arbiter").Context = bridge.Context{}
	one := p.spawn("build it")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	a := p.agent("arbiter")
	testkit.Need(t, a.ReachedLimit == "" && a.Turns == 1, "after %d turns: %s", a.Turns, a.ReachedLimit)
	p.verdict(one, report("question", "Which port?", true))
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "8080", "to", one))
	p.contains("the demand", p.lastSent("arbiter"), "kind: renewal", "nobody knows how full its context is")
	p.renewNow("the port is 8080")
	if a := p.agent("arbiter"); a.Make != "other" || a.Turns != 0 || a.ReachedLimit != "" {
		t.Errorf("the successor: make %q, %d turns, limit %q", a.Make, a.Turns, a.ReachedLimit)
	}
}
