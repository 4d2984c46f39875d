package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// reads lets an agent's process report how much of the five-hour window is used.
func (p *play) reads(id string, pct float64, resets time.Time) {
	p.t.Helper()
	p.happen(id, bridge.Quota{Window: "five_hour", UsedPct: pct, ResetsAt: resets.Unix()})
}

// TestQuotaIsReported: quota is reported when it changes, with a forecast, and with one warning.
func TestQuotaIsReported(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	resets := p.at.Add(3 * time.Hour)
	p.reads("arbiter", 50, resets)
	p.at = p.at.Add(31 * time.Minute)
	p.reads(one, 81, resets)
	p.reads("arbiter", 81, resets) // another process of the same account
	if list := told[contract.Quota](p); len(list) != 2 {
		t.Errorf("told %+v", list)
	}
	q := last[contract.Quota](p)
	if q.Window != "five_hour" || q.UsedPct != 81 || q.ResetsAt != resets.UTC().Format(time.RFC3339) ||
		time.Duration(q.LeftSeconds)*time.Second/time.Minute != 19 {
		t.Errorf("told %+v", q)
	}
	if p.notices("used to 81 %") != 1 || p.notices("used up in 19m") != 1 {
		t.Errorf("notices %+v", told[contract.Notice](p))
	}
	p.verdict(one, report("progress", "done so far", true))
	if len(p.sends("arbiter")) == 0 || p.s.Budget.Holds() {
		t.Error("held without a reserve")
	}
	p.folds()
}

// TestQuotaReserve: when the reserve is reached, running turns end, nothing is sent and no agent starts; the
// run continues at the reset, also in another process.
func TestQuotaReserve(t *testing.T) {
	for name, between := range map[string]func(p *play){
		"":                   func(*play) {},
		"killed and resumed": func(p *play) { p.do(input.Resumed{Options: p.s.Options, Salt: "/2"}) },
		"slept":              func(p *play) { p.do(input.WokeFromSleep{Slept: time.Minute}) },
	} {
		t.Run(name, func(t *testing.T) {
			p := begin(t, func(o *runconfig.Options) { o.QuotaReserve = 20 })
			one := p.spawn("work")
			resets := p.at.Add(time.Hour).Truncate(time.Second)
			p.reads(one, 79, resets)
			if p.s.Budget.Holds() {
				t.Fatal("held before the reserve is reached")
			}
			p.reads(one, 81, resets)
			if p.notices("are left for you") != 1 || len(effects[input.Kill](p)) != 0 {
				t.Errorf("notices %+v", told[contract.Notice](p))
			}
			answer := p.call("arbiter", "spawn_orchestrator", `{"prompt":"more"}`)
			if !answer.IsError || !strings.Contains(answer.Text, "five-hour window") {
				t.Errorf("another agent starts: %+v", answer)
			}
			p.verdict("arbiter", ruling("CONTINUE", "Go on.", "to", one))
			p.verdict(one, report("question", "what next?", true))
			before := len(p.sends("arbiter")) + len(p.sends(one))
			between(p)
			if name == "killed and resumed" {
				p.comes("arbiter", bridge.SpawnResult{Window: 1000, Resumed: true})
				p.comes(one, bridge.SpawnResult{Window: 1000, Resumed: true})
			}
			p.say("hurry")
			if n := len(p.sends("arbiter")) + len(p.sends(one)); n != before {
				t.Errorf("%d messages were sent past the reserve", n-before)
			}
			timers := effects[input.SetTimer](p)
			after := time.Duration(0)
			for _, timer := range timers {
				if timer.Key == ResetTimer {
					after = timer.After
				}
			}
			if after < 50*time.Minute || after > time.Hour+ResetGrace {
				t.Errorf("wakes after %s", after)
			}
			p.at = resets.Add(ResetGrace)
			p.do(input.Timer{Key: ResetTimer})
			if n := len(p.sends("arbiter")) + len(p.sends(one)); n <= before || p.notices("the run continues") != 1 {
				t.Errorf("%d messages were sent after the reset", n-before)
			}
			p.folds()
		})
	}
}

// TestQuotaReserveIsLifted: the human can lift the reserve until the reset.
func TestQuotaReserveIsLifted(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.QuotaReserve = 20 })
	resets := p.at.Add(time.Hour)
	p.reads("arbiter", 81, resets)
	p.verdict("arbiter", ruling("ASK_HUMAN", "Which?"))
	p.say("This one.")
	before := len(p.sends("arbiter"))
	if ok, why := p.command(contract.Continue{}); !ok {
		t.Fatal(why)
	}
	if len(p.sends("arbiter")) != before+1 {
		t.Error("the human's word is still held")
	}
	p.reads("arbiter", 85, resets)
	if p.s.Budget.Holds() {
		t.Error("held again in the same window")
	}
	p.spawn("work")
	p.reads("arbiter", 90, resets.Add(5*time.Hour))
	if !p.s.Budget.Holds() {
		t.Error("not held in the next window")
	}
	p.folds()
}

// TestQuotaResetsTooLate: a run ends at its limit, also when resumed, if the quota resets later than the run may wait.
func TestQuotaResetsTooLate(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.QuotaReserve = 20 })
	one := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Wait."))
	p.reads(one, 90, p.at.Add(100*time.Hour))
	if p.s.Ending != nil {
		t.Fatal("it ended while a turn ran")
	}
	p.verdict(one, report("progress", "so far", true))
	if r, exit := p.finished(); exit != contract.ExitLimit || !strings.Contains(r.Summary, "--quota-reserve") {
		t.Errorf("%+v, exit code %d", r, exit)
	}
	spawns := len(effects[input.Spawn](p))
	p.do(input.Resumed{Options: p.s.Options, Salt: "/2"})
	if p.s.Ending == nil || len(effects[input.Spawn](p)) != spawns {
		t.Error("it goes on, though the reserve is still reached")
	}
}
