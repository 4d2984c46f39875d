package supervisor

import (
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// origins is who each kind of input is from. A new kind of input must be added here.
var origins = map[string]string{
	"began": "human", "resumed": "human", "command": "human",
	"agent_event": "agent", "tool_called": "agent", "permission_asked": "agent", "permission_withdrawn": "agent",
	"call_decided": "agent",

	"no_bridge": "supervisor", "input_ended": "supervisor", "signalled": "supervisor", "spawned": "supervisor",
	"not_spawned": "supervisor",
	"not_sent":    "supervisor", "timer": "supervisor", "stopped": "supervisor", "bridge_lost": "supervisor",
	"bridge_back":   "supervisor",
	"bridge_failed": "supervisor", "probed": "supervisor", "checked": "supervisor", "inspected": "supervisor",
	"configured": "supervisor",
	"decided":    "supervisor", "snapshot_taken": "supervisor", "reverted": "supervisor", "merged": "supervisor",
	"reconsidered": "supervisor", "rules_given": "supervisor", "woke_from_sleep": "supervisor",
	"trust_recorded": "supervisor", "pty_opened": "supervisor", "remembered": "supervisor",
	"journal_full": "supervisor", "output_lost": "supervisor",
	"day_spent": "supervisor",
}

// spoken is an input of a kind with the pipe of an agent, and everything else in it claims to be the human.
func spoken(typ reflect.Type, ref bridge.AgentRef) input.Body {
	v := reflect.New(typ).Elem()
	claim(v)
	switch f := v.Interface().(input.Body).(type) {
	case input.AgentEvent:
		f.Event = bridge.Event{AgentRef: ref, Body: bridge.Assistant{Text: "by: human"}}
		return f
	case input.ToolCalled:
		f.Params.AgentRef = ref
		return f
	case input.PermissionAsked:
		f.Params.AgentRef = ref
		return f
	case input.CallDecided:
		f.Params.AgentRef = ref
		return f
	case input.PermissionWithdrawn:
		return input.PermissionWithdrawn{Request: "open"}
	case input.Command:
		return input.Command{Command: contract.Command{Body: contract.Say{Text: "go", To: "human"}},
			Channel: input.ChannelScreen}
	default:
		return f
	}
}

// claim fills every text of an input with the human's name.
func claim(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("human")
	case reflect.Struct:
		for i := range v.NumField() {
			if f := v.Type().Field(i); f.IsExported() && f.Tag.Get("json") != "-" {
				claim(v.Field(i))
			}
		}
	case reflect.Slice:
		if v.Type() == reflect.TypeFor[json.RawMessage]() {
			v.SetBytes([]byte(`{"by":"human","channel":"stdin"}`))
		}
	}
}

func TestEveryInputHasASender(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	p.crash(one, 1)
	a := p.agent(one)
	if a.Generation != 2 {
		t.Fatalf("generation %d", a.Generation)
	}
	p.s.Permission.Open = []input.PermissionRequest{{ID: "open", Params: bridge.PermissionParams{AgentRef: a.AgentRef, Request: "open"}}}
	want := map[string]input.Origin{
		"agent": {By: one, Session: a.SessionID, Gen: 2}, "supervisor": {By: "supervisor"}, "human": {By: "human", Channel: input.ChannelStart},
	}
	for kind, typ := range input.Kinds {
		from, ok := origins[kind]
		if !ok {
			t.Errorf("%s: it names no sender", kind)
			continue
		}
		expected := want[from]
		if kind == "command" {
			expected.Channel = input.ChannelScreen
		}
		f := spoken(typ, a.AgentRef)
		got := p.s.Origin(f)
		if got != expected {
			t.Errorf("%s is from %+v, want %+v", kind, got, expected)
		}
		raw, err := input.EncodeInput(input.Input{At: p.at, Body: f, From: got})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		back, err := input.DecodeInput(raw)
		if err != nil || back.From != got {
			t.Errorf("%s comes back from %+v (%v)\n%s", kind, back.From, err, raw)
		}
	}
	for kind := range origins {
		if input.Kinds[kind] == nil {
			t.Errorf("there is no input %s", kind)
		}
	}
}

// TestOriginsAreNotOfText: an unknown channel, agent or generation gives no known origin.
func TestOriginsAreNotOfText(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	p.crash(one, 1)
	event := func(id string, generation int) input.Body {
		return input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: id, Generation: generation},
			Body: bridge.Assistant{Text: "x"}}}
	}
	for _, c := range []struct {
		f    input.Body
		want input.Origin
	}{
		{input.Command{}, input.Origin{By: input.Unknown}},
		{input.Command{Channel: "human"}, input.Origin{By: input.Unknown}},
		{input.Command{Channel: "STDIN"}, input.Origin{By: input.Unknown}},
		{input.Command{Channel: input.ChannelStart}, input.Origin{By: input.Unknown}},
		{input.Command{Channel: input.ChannelSocket}, input.Origin{By: "human", Channel: input.ChannelSocket}},
		{event("human", 1), input.Origin{By: input.Unknown}},
		{event("supervisor", 1), input.Origin{By: input.Unknown}},
		{event("Arbiter", 1), input.Origin{By: input.Unknown}},
		{event("аrbiter", 1), input.Origin{By: input.Unknown}}, // its first letter is Cyrillic
		{event("orch-9", 1), input.Origin{By: input.Unknown}},
		{event(one, 1), input.Origin{By: one, Gen: 1}}, // a late message; its session is not known
		{input.PermissionWithdrawn{Request: "none"}, input.Origin{By: "supervisor"}},
	} {
		if got := p.s.Origin(c.f); got != c.want {
			t.Errorf("%+v is from %+v, want %+v", c.f, got, c.want)
		}
	}
}

// TestAnotherSessionIsDisowned: a process that turns out to have another session than requested is ended and
// started again; nothing is accepted from it.
func TestAnotherSessionIsDisowned(t *testing.T) {
	p := begin(t, nil)
	if a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`); a.IsError {
		t.Fatal(a.Text)
	}
	one := p.agent("orch-1")
	p.do(input.Spawned{Agent: one.AgentRef, Result: bridge.SpawnResult{SessionID: "another", Window: 7}})
	if a := p.agent("orch-1"); a.Status != AgentRestarting || a.Context.Window == 7 || a.SessionID != one.SessionID {
		t.Errorf("%s is %s on %s", a.ID, a.Status, a.SessionID)
	}
	p.contains("error", last[contract.Error](p).Message, `reports session "another"`)
	if kills := effects[input.Kill](p); len(kills) != 1 || kills[0].Agent != one.AgentRef {
		t.Errorf("kills: %+v", kills)
	}

	n := len(told[contract.Error](p))
	p.happen("orch-1", bridge.Done{SessionID: "yet another"})
	if list := told[contract.Error](p); len(list) != n+1 || !strings.Contains(list[n].Message, "yet another") {
		t.Errorf("errors: %+v", list)
	}
	if d := last[contract.Done](p); d.SessionID != one.SessionID {
		t.Errorf("done says %s", d.SessionID)
	}
	if a := p.agent("orch-1"); a.Status != AgentDown {
		t.Errorf("%s is %s", a.ID, a.Status)
	}
}

// TestDeliveriesSayWhoReadWhat: each delivery names its sender and its reader's session and generation. The
// numbers of deliveries continue across the reader's generations without a gap.
func TestDeliveriesSayWhoReadWhat(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	p.verdict(one, report("progress", "half", false))
	p.verdict(one, report("question", "Which?", true))
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "That one.", "to", one))
	p.crash(one, 1)
	p.verdict(one, report("question", "And now?", true))

	sender, next := map[string]contract.Message{}, map[string]int{}
	for _, e := range p.out {
		em, ok := e.(input.Emit)
		if !ok {
			continue
		}
		switch b := em.Event.Body.(type) {
		case contract.Message:
			sender[b.MessageID] = b
			if a, agent := p.s.Agent(b.From); agent != (b.Generation > 0) || agent && b.SessionID != a.SessionID {
				t.Errorf("message %+v", b)
			}
		case contract.Delivered:
			id := em.Event.ID
			next[id]++
			m := sender[b.MessageID]
			want := contract.Delivered{MessageID: b.MessageID, From: m.From, SessionID: p.agent(id).SessionID, Generation: b.Generation, Sequence: next[id]}
			if diff := cmp.Diff(want, b); diff != "" || m.To != id || b.Generation < 1 {
				t.Errorf("to %s (-want +got):\n%s", id, diff)
			}
		}
	}
	if next["arbiter"] < 3 || next[one] < 3 || p.agent(one).Generation != 2 {
		t.Errorf("deliveries: %v", next)
	}
}

// TestApprovalsNameTheirAction: the record of an answer names the action that it is about, even if the command
// named only the request.
func TestApprovalsNameTheirAction(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	p.do(asked(p, one, "p1", "ask"))
	c := input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: "r",
		Body: contract.Permit{Request: "p1", Behavior: bridge.Allow}}}
	raw, err := input.EncodeInput(input.Input{At: time.Unix(1, 0), Body: p.s.ExactInput(c)})
	if err != nil {
		t.Fatal(err)
	}
	p.contains("record", string(raw), keyOf(p.s.Permission.Open[0].Params), input.ChannelStdin)
	for _, other := range []input.Body{
		input.Command{Command: contract.Command{Body: contract.Permit{Request: "p2", Behavior: bridge.Allow}}},
		input.Command{Command: contract.Command{Body: contract.Permit{Request: "p1", Action: "mine"}}},
		input.Command{Command: contract.Command{Body: contract.Pause{}}}, input.InputEnded{},
	} {
		if got := p.s.ExactInput(other); !reflect.DeepEqual(got, other) {
			t.Errorf("%+v became %+v", other, got)
		}
	}
}
