package supervisor

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// dead is a probe without any sign of activity; other probes differ in one sign.
var dead = bridge.ProbeResult{SilentMS: 3_600_000, CPUMS: 1000, RSSBytes: 1 << 28, Processes: 1, TranscriptBytes: 5000, OutputBytes: 100}

// look lets the time until the next probe pass, and returns its effects.
func (p *play) look(id string, r bridge.ProbeResult) []input.Effect {
	p.t.Helper()
	a := p.agent(id)
	p.at = p.at.Add(runconfig.DefaultWatchEvery - 2*time.Second)
	n := len(effects[input.Probe](p))
	p.do(input.Timer{Key: WatchPrefix + RunOf(a.AgentRef)})
	if len(effects[input.Probe](p)) != n+1 {
		p.t.Fatalf("%s, which is %s, is not looked at", id, a.Status)
	}
	return p.do(input.Probed{Agent: a.AgentRef, Result: r})
}

// notices counts the notices about an agent that contain this text.
func (p *play) notices(part string) int {
	n := 0
	for _, b := range told[contract.Notice](p) {
		if strings.Contains(b.Text, part) {
			n++
		}
	}
	return n
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
		if p.at.Sub(began) > 10*time.Minute {
			t.Fatal("it was never flagged")
		}
	}
	if after := p.at.Sub(began); after < LifecycleSilence || after > LifecycleSilence+runconfig.DefaultWatchEvery {
		t.Errorf("flagged after %s", after)
	}
	for range 20 {
		p.look(id, dead)
	}
	testkit.Same(t, "flagged times", 1, p.notices("no sign of life"))
	told := 0
	for _, m := range p.sends("arbiter") {
		if strings.Contains(m.Content, "gives no sign of life") {
			told++
		}
	}
	if told != 1 || len(effects[input.Kill](p)) != 0 {
		t.Fatalf("the Arbiter was told %d times, kills %v", told, effects[input.Kill](p))
	}
	p.contains("the Arbiter", p.lastSent("arbiter"), "RETRY with to=orch-1", "release_orchestrator", "CONTINUE waits longer")

	p.verdict("arbiter", ruling("RETRY", "Try once more.", "to", id))
	if k := effects[input.Kill](p); len(k) != 1 || k[0].Agent.ID != id || !k[0].Now {
		t.Fatalf("kills %v", k)
	}
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
	if looks != HungArbiter+1 { // the first probe has nothing to compare with
		t.Errorf("ended after %d looks", looks)
	}
	p.happen("arbiter", bridge.Done{Exit: bridge.Exit{Code: -1, Signal: "killed"}})
	p.comes("arbiter", p.remembers("arbiter", bridge.DeliverySeen))
	p.contains("afterwards", p.lastSent("arbiter"), "before you could answer")
}

// TestIdleIsNotHung: an agent without a turn need not show activity.
func TestIdleIsNotHung(t *testing.T) {
	p := begin(t, nil)
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port?"))
	for range 100 {
		p.look("arbiter", dead)
	}
	testkit.Same(t, "an idle agent was flagged: p.notices(\"sign of life\")", 0, p.notices("sign of life"))
	testkit.Same(t, "an idle agent was flagged: len(effects[input.Kill](p))", 0, len(effects[input.Kill](p)))
}

// TestAStoppedProcess: it is reported as stopped, once each time, and left alone.
func TestAStoppedProcess(t *testing.T) {
	p, id := watched(t, nil)
	stopped := dead
	stopped.Stopped = true
	for range 10 {
		p.look(id, stopped)
	}
	if p.notices("SIGSTOP") != 1 || p.notices("sign of life") != 0 || len(effects[input.Kill](p)) != 0 {
		t.Errorf("notices %v", told[contract.Notice](p))
	}
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
		"memory": {bridge.ProbeResult{Answered: true, RSSBytes: 7 << 30}, bridge.ProbeResult{Answered: true, RSSBytes: 8 << 30}, "8.0 GiB of memory, at most 8.0 GiB"},
		"output": {
			bridge.ProbeResult{Answered: true, OutputBytes: 3 << 30, OutputPath: "/tmp/a.output"},
			bridge.ProbeResult{Answered: true, OutputBytes: 1400 << 30, OutputPath: "/tmp/a.output"}, "1.4 TiB of task output, at most 4.0 GiB (/tmp/a.output)",
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
			if k := effects[input.Kill](p); len(k) != 1 || k[0].Now {
				t.Fatalf("kills %v", k)
			}
			testkit.Same(t, fmt.Sprintf("notices %v", told[contract.Notice](p)), 1, p.notices(c.want))
			p.happen(id, bridge.Done{Exit: bridge.Exit{Expected: true}})
			if r := last[contract.Restart](p); !strings.Contains(r.Reason, c.want) {
				t.Errorf("restart %+v", r)
			}
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
	if len(starts) > 20 {
		t.Errorf("%d starts", len(starts))
	}
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
	if len(effects[input.DropBridge](p)) != 0 {
		t.Fatal("given up after two looks at all")
	}
	p.do(input.Probed{Agent: p.agent("arbiter").AgentRef, Result: bridge.ProbeResult{Answered: true}})
	mute()
	mute()
	if len(effects[input.DropBridge](p)) != 0 {
		t.Fatal("an answer in between counts for nothing")
	}
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
	if q := last[contract.Quiet](p); q.Seconds != 301 || q.Doing != "Bash go test ./..." {
		t.Errorf("told %+v", q)
	}
	testkit.Same(t, "told of an agent that works", 1, silent(time.Second))
	p.happen(id, bridge.Retry{Attempt: 1, DelayMS: 600_000, Status: 529})
	testkit.Same(t, "an agent that waits for the API is called quiet", 1, silent(6*time.Minute))
	p.at = p.at.Add(10 * time.Minute)
	testkit.Same(t, "not told of the next silence", 2, silent(6*time.Minute))
	silent(time.Second)
	p.do(input.PermissionAsked{Params: bridge.PermissionParams{AgentRef: p.agent(id).AgentRef, Request: "r1",
		Tool: "Bash", Input: []byte(`{"command":"make"}`)}, Behavior: "ask"})
	testkit.Same(t, "an agent that waits for the human is called quiet", 2, silent(6*time.Minute))
}

// TestNoAgentIsQuiet: silences are not reported if the options switch that off.
func TestNoAgentIsQuiet(t *testing.T) {
	p, id := watched(t, nil)
	p.at = p.at.Add(time.Hour)
	p.look(id, dead)
	testkit.Same(t, "told times", 0, len(told[contract.Quiet](p)))
}
