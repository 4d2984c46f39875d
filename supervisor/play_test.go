package supervisor

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// play drives Apply by hand, with methods for events of the domain. It keeps the effects of the whole run, so
// that a test can check what was reported and sent.
type play struct {
	t   *testing.T
	s   State
	in  []input.Input
	out []input.Effect
	at  time.Time

	careful   bool           // a COMPLETE that is sent back for open points stays sent back, and pauses last
	completes map[string]any // the last COMPLETE

	was  State  // s after the last step
	text string // fingerprint of was
}

const testRun = "6f1c2a52-7a51-4b6e-9d0b-0f5f6a2b9c11"

func begin(t *testing.T, change func(*runconfig.Options)) *play {
	t.Helper()
	o := runconfig.Options{Run: testRun, Delimiter: "7f3a9c", CWD: "/w", HumanPresent: true, Task: "Build it"}
	if change != nil {
		change(&o)
	}
	p := &play{t: t, at: time.Unix(1_800_000_000, 0)}
	p.do(input.Began{Options: o.WithDefaults(), Claude: bridge.ClaudeInfo{Version: "2.1.329"}})
	p.spawned("arbiter")
	return p
}

// do applies an input a second after the last one and returns its effects.
func (p *play) do(f input.Body) []input.Effect {
	p.t.Helper()
	p.at = p.at.Add(time.Second)
	before := p.text
	if before == "" || !reflect.DeepEqual(p.s, p.was) { // the test has set a field itself
		before = fingerprint(p.t, &p.s)
	}
	p.in = append(p.in, input.Input{At: p.at, Body: f})
	s, out := Apply(p.s, input.Input{At: p.at, Body: f})
	if before != fingerprint(p.t, &p.s) {
		p.t.Fatalf("apply changed its input by %T, or the test has written into its agents", f)
	}
	after := fingerprint(p.t, &s)
	checkEffects(p.t, &p.s, out)
	checkStep(p.t, &p.s, &s, f, out)
	// Checking every step of a long play, or of all plays, would take too long: a hash of the state selects the
	// steps to check.
	if n := len(p.in); (n < 200 || n%16 == 0) && int(crc32.ChecksumIEEE([]byte(after)))%often(4, 1) == 0 {
		goesOnTheSame(p.t, before, input.Input{At: p.at, Body: f}, after, out)
	}
	p.s, p.was, p.text = s, s, after
	p.out = append(p.out, out...)
	checkInvariants(p.t, &p.s)
	if !p.careful && sentBackOpen(out) {
		v := p.completes
		if v == nil { // another decider decided it
			v = ruling("COMPLETE", "It is done.", "summary", "s")
		}
		out = append(out, p.verdict("arbiter", v)...)
	}
	for _, e := range out {
		if timer, ok := e.(input.SetTimer); ok && !p.careful && strings.HasPrefix(timer.Key, RhythmPrefix) {
			p.at = p.at.Add(timer.After)
			return append(out, p.do(input.Timer{Key: timer.Key})...)
		}
	}
	return out
}

// sentBackOpen reports whether a COMPLETE goes back to the Arbiter for points that it was not told of yet.
func sentBackOpen(out []input.Effect) bool {
	return slices.ContainsFunc(out, func(e input.Effect) bool {
		s, ok := e.(input.Send)
		return ok && s.Params.ID == contract.Arbiter && strings.Contains(s.Params.Content, "COMPLETE did not take effect yet")
	})
}

func (p *play) agent(id string) Agent {
	p.t.Helper()
	a, ok := p.s.Agent(id)
	if !ok {
		p.t.Fatalf("no agent %s", id)
	}
	return a
}

func (p *play) spawned(id string) {
	p.t.Helper()
	p.do(input.Spawned{Agent: p.agent(id).AgentRef, Result: bridge.SpawnResult{Window: 200_000}})
}

func (p *play) happen(id string, b bridge.EventBody) []input.Effect {
	p.t.Helper()
	return p.do(input.AgentEvent{Event: bridge.Event{AgentRef: p.agent(id).AgentRef, Body: b}})
}

// turn ends the agent's running turn: its messages are delivered, and t follows.
func (p *play) turn(id string, t bridge.Turn) []input.Effect {
	p.t.Helper()
	a := p.agent(id)
	if a.Status != AgentBusy {
		p.t.Fatalf("%s has no turn to end: it is %s", id, a.Status)
	}
	for _, m := range a.Turn {
		p.happen(id, bridge.Delivered{MessageID: m, Proof: "lifecycle"})
	}
	t.MessageIDs = p.agent(id).Turn
	if t.Outcome == "" {
		t.Outcome = bridge.TurnDone
	}
	if t.Outcome != bridge.TurnDone && t.Usage != (bridge.Usage{}) {
		p.speaks(id)
	}
	return p.happen(id, t)
}

// rambles plays turns without a verdict until the run asks for it no more.
func (p *play) rambles(id, text string) {
	p.t.Helper()
	for range 2 {
		p.turn(id, bridge.Turn{Text: text})
	}
}

// verdict ends the running turn with a verdict, given by its fields.
func (p *play) verdict(id string, v map[string]any) []input.Effect {
	p.t.Helper()
	if v["decision"] == verdict.Complete {
		p.completes = v
	}
	raw, err := json.Marshal(v)
	if err != nil {
		p.t.Fatal(err)
	}
	return p.turn(id, bridge.Turn{Verdict: raw})
}

func ruling(decision, message string, more ...string) map[string]any {
	v := map[string]any{"decision": decision, "message": message, "reason": "because"}
	for i := 0; i+1 < len(more); i += 2 {
		v[more[i]] = more[i+1]
	}
	return v
}

func report(kind, message string, expects bool) map[string]any {
	v := map[string]any{"kind": kind, "message": message, "expects_response": expects}
	if kind == verdict.KindDone || kind == verdict.KindHandoff {
		v["handoff"] = verdict.Document{
			Accomplished: []string{"the first half"}, Remaining: []string{"the second half"}, KeyContext: "port 8080",
			Decisions: []verdict.Decision{}, Constraints: []string{}, Files: []string{"a.go"},
			Checks: []verdict.Check{}, OpenQuestions: []string{}, Claims: []verdict.Claim{},
		}
	}
	return v
}

// call makes an agent call one of our tools and returns the answer.
func (p *play) call(id, tool, raw string) input.AnswerTool {
	p.t.Helper()
	out := p.do(input.ToolCalled{Call: "c1", Params: bridge.ToolCallParams{AgentRef: p.agent(id).AgentRef, Tool: tool, Input: json.RawMessage(raw)}})
	for _, e := range out {
		if a, ok := e.(input.AnswerTool); ok {
			return a
		}
	}
	p.t.Fatalf("%s was not answered: %v", tool, out)
	return input.AnswerTool{}
}

// spawn lets the Arbiter call spawn_orchestrator and brings up the new Orchestrator.
func (p *play) spawn(brief string) string {
	p.t.Helper()
	if a := p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":%q}`, brief)); a.IsError {
		p.t.Fatalf("spawn_orchestrator: %s", a.Text)
	}
	id := fmt.Sprintf("orch-%d", p.s.Spawned)
	p.spawned(id)
	return id
}

// command gives a human's command and reports whether it was accepted.
func (p *play) command(b contract.CommandBody) (bool, string) {
	p.t.Helper()
	for _, e := range p.do(p.s.ExactInput(input.Command{Channel: input.ChannelStdin,
		Command: contract.Command{Ref: "r", Body: b}})) {
		if em, ok := e.(input.Emit); ok {
			switch b := em.Event.Body.(type) {
			case contract.Accepted:
				return true, b.Message
			case contract.Rejected:
				return false, b.Message
			}
		}
	}
	p.t.Fatalf("command %T was neither accepted nor rejected", b)
	return false, ""
}

func (p *play) say(text string, more ...string) {
	p.t.Helper()
	c := contract.Say{Text: text}
	if len(more) > 0 {
		c.Strength = more[0]
	}
	if len(more) > 1 {
		c.To = more[1]
	}
	if ok, why := p.command(c); !ok {
		p.t.Fatalf("message was rejected: %s", why)
	}
}

// lastSent returns the last message to the agent.
func (p *play) lastSent(id string) string {
	p.t.Helper()
	for i := len(p.out) - 1; i >= 0; i-- {
		if s, ok := p.out[i].(input.Send); ok && s.Params.ID == id {
			return s.Params.Content
		}
	}
	p.t.Fatalf("nothing was sent to %s", id)
	return ""
}

// told collects the events of one type, oldest first.
func told[B contract.Body](p *play) []B {
	var list []B
	for _, e := range p.out {
		if em, ok := e.(input.Emit); ok {
			if b, ok := em.Event.Body.(B); ok {
				list = append(list, b)
			}
		}
	}
	return list
}

func last[B contract.Body](p *play) B {
	p.t.Helper()
	list := told[B](p)
	if len(list) == 0 {
		var none B
		p.t.Fatalf("no %s event", none.EventName())
	}
	return list[len(list)-1]
}

// effects collects the effects of one type, oldest first.
func effects[E input.Effect](p *play) []E {
	var list []E
	for _, e := range p.out {
		if x, ok := e.(E); ok {
			list = append(list, x)
		}
	}
	return list
}

// crash ends the agent's process unexpectedly and brings up the next one, n times or until the agent is parked.
func (p *play) crash(id string, n int) {
	p.t.Helper()
	for range n {
		a := p.agent(id)
		if len(a.Turn) > 0 {
			p.happen(id, bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnLost})
		}
		p.happen(id, bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Code: -1, Signal: "killed", Stderr: "oom"}})
		if p.agent(id).Status != AgentDown {
			return
		}
		p.do(input.Timer{Key: RestartPrefix + RunOf(p.agent(id).AgentRef)})
		p.do(input.Spawned{Agent: p.agent(id).AgentRef, Result: bridge.SpawnResult{Window: 200_000, Resumed: true}})
	}
}

// loseBridge ends the bridge again and again.
func (p *play) loseBridge() {
	p.t.Helper()
	for p.s.Ending == nil {
		p.do(input.BridgeLost{Message: "gone"})
		p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
		if p.s.Ending == nil {
			p.do(input.BridgeBack{})
		}
	}
}

func (p *play) contains(what, text string, parts ...string) {
	p.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			p.t.Errorf("%s lacks %q:\n%s", what, part, text)
		}
	}
}

// finished lets the agents stop and returns the result and the exit code.
func (p *play) finished() (contract.Result, contract.Exit) {
	p.t.Helper()
	if p.s.Ending == nil {
		p.t.Fatalf("the run goes on: %s", p.s.Task.Phase)
	}
	p.do(input.Stopped{})
	ends := effects[input.Finish](p)
	if len(ends) != 1 {
		p.t.Fatalf("%d ends", len(ends))
	}
	if r := told[contract.Result](p); len(r) != 1 {
		p.t.Fatalf("%d results", len(r))
	}
	return last[contract.Result](p), ends[0].Exit
}
