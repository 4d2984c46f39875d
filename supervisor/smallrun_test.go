package supervisor

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// smallRun contains some of everything that a journal can contain.
func smallRun(t *testing.T) *play {
	p := begin(t, func(o *runconfig.Options) {
		o.Env, o.Allow, o.Trusted = map[string]string{"LANG": "C"}, []string{"Bash(make *)"}, true
	})
	p.verdict("arbiter", ruling("ADDRESS_HUMAN", "Which port? <8080> & others"))
	p.say("8080")
	one := p.spawn("serve on 8080")
	p.call("arbiter", "set_plan", `{"steps":[{"text":"serve"},{"text":"test"}]}`)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.happen(one, bridge.Assistant{Text: "I begin."})
	p.happen(one, bridge.ToolUse{Tool: "Bash", Input: json.RawMessage(`{"command":"make && ls"}`)})
	p.happen(one, bridge.Context{Tokens: 1000, Window: 200_000, Pct: 0.5})
	p.do(asked(p, one, "p1", "ask"))
	p.command(contract.Permit{Request: "p1", Behavior: "allow", Scope: "run"})
	p.call(one, "report_progress", `{"message":"half is there"}`)
	p.call(one, "update_plan", `{"index":1,"status":"done"}`)
	p.happen(one, bridge.Retry{Attempt: 1, DelayMS: 500, Status: 529, Reason: "overloaded"})
	p.rebirth(one, bridge.DeliveryBegun)
	p.do(input.Probed{Agent: p.agent(one).AgentRef, Result: bridge.ProbeResult{SilentMS: 100, CPUMS: 50, RSSBytes: 1 << 28, Answered: true}})
	p.do(input.WokeFromSleep{Slept: time.Hour})
	p.verdict(one, report("handoff", "my context thins", true))
	two := p.spawn("go on")
	p.verdict("arbiter", ruling("CONTINUE", "Another is summoned."))
	p.command(contract.Malformed{Problem: "line 9 is not JSON", Raw: json.RawMessage("{")})
	p.do(asked(p, two, "p2", "ask"))
	p.stopped()

	p.do(input.Resumed{Options: p.s.Options, Claude: bridge.ClaudeInfo{Version: "2.1.330"}, Word: "Port 9090 instead.", Notice: "3 processes were ended", Stay: true})
	p.back(bridge.DeliveryAbsent)
	p.command(contract.Permit{Request: "p2", Behavior: "deny", Message: "not now"})
	p.do(asked(p, two, "p3", "ask"))
	p.do(input.BridgeLost{Message: "signal: killed"})
	p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
	p.do(input.BridgeBack{Claude: p.s.Lifecycle.Claude(), Swept: 2})
	p.back(bridge.DeliverySeen)
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.turn(two, bridge.Turn{Outcome: bridge.TurnFailed, Category: bridge.CatOverloaded, Error: "529", CostUSD: 0.25})
	p.do(input.Timer{Key: RetryPrefix + RunOf(p.agent(two).AgentRef)})
	p.verdict(two, report("question", "Both ports?", true))
	p.command(contract.Pause{})
	p.say("Later: docs", contract.Note, two)
	return p
}

// TestASmallRunFolds: replaying the journal of that run gives the state that the run ended in.
func TestASmallRunFolds(t *testing.T) { smallRun(t).folds() }
