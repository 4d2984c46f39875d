package supervisor

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// trusted begins a run in a trusted workspace, and brings up its Arbiter.
func trusted(t *testing.T, change func(*runconfig.Options)) *play {
	t.Helper()
	return begin(t, func(o *runconfig.Options) {
		o.Trusted, o.TrustHash = true, "h1"
		if change != nil {
			change(o)
		}
	})
}

// refused lets the gate refuse the start of an agent.
func (p *play) refused(id, hash string) []input.Effect {
	p.t.Helper()
	if a := p.agent(id); a.Status != AgentStarting {
		p.t.Fatalf("%s does not start: it is %s", id, a.Status)
	}
	return p.do(input.NotSpawned{Agent: p.agent(id).AgentRef, Category: bridge.CatTrust, Message: "the workspace has changed since it was trusted: changed: hook", Trust: hash})
}

func said[B contract.Body](out []input.Effect) []B {
	var list []B
	for _, e := range out {
		if em, ok := e.(input.Emit); ok {
			if b, ok := em.Event.Body.(B); ok {
				list = append(list, b)
			}
		}
	}
	return list
}

func sourcesOf(p bridge.SpawnParams) string { return strings.Join(p.Config.SettingSources, ",") }

// TestDistrust: an agent whose workspace has changed is not started until the human has chosen; its messages
// wait.
func TestDistrust(t *testing.T) {
	for _, c := range []struct {
		name    string
		choose  func(p *play) []input.Effect
		sources string // of the next start; empty: there is none
		hash    string // that is recorded then
	}{
		{"trust", func(p *play) []input.Effect {
			return p.do(input.Command{Command: contract.Command{Ref: "1", Body: contract.Choose{Option: "trust"}},
				Channel: input.ChannelStdin})
		}, "user,project", "h2"},
		{"without", func(p *play) []input.Effect {
			return p.do(input.Command{Command: contract.Command{Ref: "1", Body: contract.Choose{Option: "without"}},
				Channel: input.ChannelScreen})
		}, "user", ""},
		{"nobody any more", func(p *play) []input.Effect { return p.do(input.InputEnded{}) }, "user", ""},
		{"cancel", func(p *play) []input.Effect {
			return p.do(input.Command{Command: contract.Command{Ref: "1", Body: contract.Choose{Option: "cancel"}},
				Channel: input.ChannelStdin})
		}, "", "h1"},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := trusted(t, nil)
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"the brief"}`)
			if got := sourcesOf(p.spawns("orch-1")[0]); got != "user,project" {
				t.Fatalf("setting sources %s", got)
			}
			out := p.refused("orch-1", "h2")
			want := []contract.Error{{Category: bridge.CatTrust, Message: "the workspace has changed since it was trusted: changed: hook", RecoveryOptions: []string{"trust", "without", "cancel"}}}
			if diff := cmp.Diff(want, said[contract.Error](out)); diff != "" {
				t.Fatalf("told (-want +got):\n%s", diff)
			}
			if a := p.agent("orch-1"); a.Status != AgentDown || len(p.spawns("orch-1")) != 1 {
				t.Fatalf("it is %s, %d starts", a.Status, len(p.spawns("orch-1")))
			}
			p.call("arbiter", "spawn_orchestrator", `{"prompt":"another brief"}`)
			testkit.Same(t, "another", AgentDown, p.agent("orch-2").Status)
			testkit.Same(t, "len(p.spawns(\"orch-2\"))", 0, len(p.spawns("orch-2")))
			p.dies("arbiter")
			for _, id := range []string{"arbiter", "orch-1"} {
				p.restartDue(id)
				testkit.Same(t, fmt.Sprintf("%s came back without a message", id), AgentDown, p.agent(id).Status)
			}
			out = c.choose(p)
			testkit.Same(t, "p.s.Options.TrustHash", c.hash, p.s.Options.TrustHash)
			testkit.Same(t, "options: trusted", (c.hash != ""), p.s.Options.Trusted)
			pins := slices.ContainsFunc(out, func(e input.Effect) bool { _, ok := e.(input.PinTrust); return ok })
			testkit.Same(t, "recorded", (c.hash == "h2"), pins)
			if c.sources == "" {
				if p.s.Ending == nil {
					t.Error("it goes on")
				}
				return
			}
			for _, id := range []string{"arbiter", "orch-1", "orch-2"} {
				n := len(p.spawns(id))
				p.comes(id, bridge.SpawnResult{})
				last := p.spawns(id)[len(p.spawns(id))-1]
				if got := sourcesOf(last); got != c.sources || last.Config.StrictMCP != (c.sources == "user" || id == "arbiter") {
					t.Errorf("%s: sources %s, strict %v", id, got, last.Config.StrictMCP)
				}
				if id != "arbiter" && last.Config.Resume {
					t.Errorf("%s resumes a session that never was (%d starts before)", id, n)
				}
			}
			p.contains("its first word", p.lastSent("orch-1"), "the brief")
			p.contains("the other's", p.lastSent("orch-2"), "another brief")
		})
	}
}

// TestDistrustAlone: without a human the run continues without the settings, and reports it.
func TestDistrustAlone(t *testing.T) {
	p := &play{t: t, at: time.Unix(1_800_000_000, 0)}
	p.do(input.Began{Options: runconfig.Options{Run: testRun, Delimiter: "7f3a9c", CWD: "/w", Task: "Build it", Trusted: true, TrustHash: "h1"}.WithDefaults()})
	out := p.refused("arbiter", "h2")
	if e := said[contract.Error](out); len(e) != 1 || e[0].Category != bridge.CatTrust {
		t.Errorf("errors %+v", e)
	}
	if n := said[contract.Notice](out); len(n) != 1 || !strings.Contains(n[0].Text, "not loaded from now on") {
		t.Errorf("notices %+v", n)
	}
	if p.s.Lifecycle.TrustQuestion != nil || p.s.Options.Trusted || len(p.spawns("arbiter")) != 2 || sourcesOf(p.spawns("arbiter")[1]) != "user" {
		t.Errorf("trusted %v, starts %+v", p.s.Options.Trusted, p.spawns("arbiter"))
	}
	p.spawned("arbiter")
	p.contains("the task", p.lastSent("arbiter"), "Build it")
}

// TestDistrustMeanwhile: the decision applies to starts that were in progress, and a state that cannot be
// determined cannot be trusted.
func TestDistrustMeanwhile(t *testing.T) {
	p := trusted(t, nil)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"a"}`)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"b"}`)
	p.call("arbiter", "spawn_orchestrator", `{"prompt":"c"}`)
	p.refused("orch-1", "h2")
	testkit.Same(t, "the same was asked twice", 0, len(said[contract.Error](p.refused("orch-2", "h2"))))
	p.mustCommand(contract.Choose{Option: "trust"})
	p.refused("orch-3", "h2") // its gate checked before the choice
	for _, id := range []string{"orch-1", "orch-2", "orch-3"} {
		p.comes(id, bridge.SpawnResult{})
	}
	if ok, _ := p.command(contract.Choose{Option: "trust"}); ok {
		t.Error("it was chosen twice")
	}
	p.dies("orch-1")
	p.restartDue("orch-1")
	p.refused("orch-1", "")
	if ok, _ := p.command(contract.Choose{Option: "trust"}); ok || p.s.Lifecycle.TrustQuestion == nil {
		t.Error("what cannot be told was trusted")
	}
	p.mustCommand(contract.Choose{Option: "without"})
	p.do(input.TrustRecorded{Hash: "h2"})
	testkit.Same(t, "that it is not recorded was not told", 1,
		len(said[contract.Notice](p.do(input.TrustRecorded{Hash: "h2", Failed: "disk full"}))))
}

// TestDistrustResumed: another process decides anew.
func TestDistrustResumed(t *testing.T) {
	p := trusted(t, nil)
	p.dies("arbiter")
	p.restartDue("arbiter")
	p.refused("arbiter", "h2")
	p.resume("")
	if p.s.Lifecycle.TrustQuestion != nil {
		t.Error("the old question stands")
	}
	p.refused("arbiter", "h2")
	p.mustCommand(contract.Choose{Option: "trust"})
	p.comes("arbiter", bridge.SpawnResult{Resumed: true})
}
