package supervisor

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// matrix is who may do what, as a person would write it: x may, . may not.
const matrix = `
                                stdin screen socket arbiter orch sub supervisor descendant
command/message                   x     x      x      .      .    .      .          .
command/permission                x     x      x      .      .    .      .          .
command/interrupt                 x     x      x      .      .    .      .          .
command/edit_message              x     x      x      .      .    .      .          .
command/withdraw_message          x     x      x      .      .    .      .          .
command/attach                    x     x      x      .      .    .      .          .
command/detach                    x     x      x      .      .    .      .          .
command/halt                      x     x      x      .      .    .      .          .
command/kill                      x     x      x      .      .    .      .          .
command/pause                     x     x      x      .      .    .      .          .
command/continue                  x     x      x      .      .    .      .          .
command/force_agent               x     x      x      .      .    .      .          .
command/skip_step                 x     x      x      .      .    .      .          .
command/retry                     x     x      x      .      .    .      .          .
command/reset                     x     x      x      .      .    .      .          .
command/set_acceptance            x     x      x      .      .    .      .          .
command/set_plan                  x     x      x      .      .    .      .          .
command/choose                    x     x      x      .      .    .      .          .
command/configure                 x     x      x      .      .    .      .          .
command/revert                    x     x      x      .      .    .      .          .
command/cancel                    x     x      x      .      .    .      .          .
command/malformed                 x     x      x      .      .    .      .          .
approve                           x     x      x      .      .    .      .          .
hook                              .     .      .      .      .    .      .          x
message/human                     .     .      .      x      .    .      x          .
message/arbiter                   x     x      x      .      x    .      x          .
message/orchestrator              x     x      x      x      .    .      x          .
tool/spawn_orchestrator           .     .      .      x      .    .      .          .
tool/release_orchestrator         .     .      .      x      .    .      .          .
tool/set_acceptance               .     .      .      x      .    .      .          .
tool/set_plan                     .     .      .      x      .    .      .          .
tool/status                       .     .      .      x      .    .      .          .
tool/report_progress              .     .      .      .      x    .      .          .
tool/update_plan                  .     .      .      .      x    .      .          .
tool/ask_predecessor              .     .      .      .      x    .      .          .
verdict/ADDRESS_HUMAN             .     .      .      x      .    .      .          .
verdict/ADDRESS_ORCHESTRATOR      .     .      .      x      .    .      .          .
verdict/SELECT_MODE               .     .      .      x      .    .      .          .
verdict/CONTINUE                  .     .      .      x      .    .      .          .
verdict/RETRY                     .     .      .      x      .    .      .          .
verdict/COMPLETE                  .     .      .      x      .    .      .          .
verdict/HANDOFF                   .     .      .      x      .    .      .          .
word/introduction                 .     .      .      .      x    .      .          .
word/question                     .     .      .      .      x    .      .          .
word/progress                     .     .      .      .      x    .      .          .
word/handoff                      .     .      .      .      x    .      .          .
word/done                         .     .      .      .      x    .      .          .
`

var parties = []Party{HumanStdin, HumanScreen, HumanSocket, TheArbiter, AnOrchestrator, ASubagent, TheSupervisor,
	ADescendant}

// everyMethod collects all methods from their declarations.
func everyMethod(t *testing.T) []RightsMethod {
	t.Helper()
	list := []RightsMethod{RightsApprove, RightsHook, ToHuman, ToArbiter, ToOrchestrator}
	bodies := map[string]contract.CommandBody{}
	for _, b := range commandBodies {
		name := strings.TrimPrefix(fmt.Sprintf("%T", b), "contract.")
		bodies[name] = b
		list = append(list, RightsCommand(b))
	}
	for name := range corpus.Receivers(t, "contract", "CommandType") {
		testkit.Check(t, bodies[name] != nil, "command %s is none of the samples", name)
	}
	for _, tool := range append(slices.Clone(ArbiterTools()), OrchestratorTools()...) {
		list = append(list, Tool(tool.Name))
	}
	for of, schema := range map[string]string{OfVerdict: string(verdict.ArbiterSchema()),
		OfWord: string(verdict.OrchestratorSchema())} {
		for _, name := range enumOf(t, schema, map[string]string{OfVerdict: "decision", OfWord: "kind"}[of]) {
			list = append(list, RightsMethod(of+name))
		}
	}
	slices.Sort(list)
	return list
}

// TestRights compares the table with the matrix, method by method and party by party, and the matrix with all
// declarations.
func TestRights(t *testing.T) {
	var methods []RightsMethod
	cases := 0
	for line := range strings.Lines(strings.TrimSpace(matrix)) {
		fields := strings.Fields(line)
		if fields[0] == "stdin" {
			continue
		}
		testkit.Need(t, len(fields) == 1+len(parties), "row %q", line)
		methods = append(methods, RightsMethod(fields[0]))
		for i, who := range parties {
			if want := fields[i+1] == "x"; May(who, RightsMethod(fields[0])) != want {
				t.Errorf("%s, %s: %t, want %t", who, fields[0], !want, want)
			}
			cases++
		}
	}
	slices.Sort(methods)
	testkit.Same(t, "the matrix has\nthere", everyMethod(t), methods)
	testkit.Check(t, cases == len(methods)*len(parties) && cases >= 300, "%d cases", cases)
	testkit.Same(t, "parties in the table", len(parties), len(rights()))
	for who, may := range rights() {
		for _, what := range may {
			testkit.Check(t, slices.Contains(methods, what), "%s may %s, which is nothing", who, what)
		}
	}
}

// TestUnknownPartyMayNothing: an unknown party may do nothing, and no party may call an unknown method.
func TestUnknownPartyMayNothing(t *testing.T) {
	for _, what := range append(everyMethod(t), "", "command/", "command/Permission", "tool/*", "*", "hook ",
		"approve\x00") {
		for _, who := range []Party{"", "human", "root", "Human-stdin", "human-stdin ", "аrbiter", "orch-1", "agent"} {
			testkit.Check(t, !May(who, what), "%q may %q", who, what)
		}
		if slices.Contains(everyMethod(t), what) {
			continue
		}
		for _, who := range parties {
			testkit.Check(t, !May(who, what), "%s may %q", who, what)
		}
	}
	testkit.Same(t, "no command at all is", "", RightsCommand(nil))
}

// TestCommandsNeedAChannel: a command that came by no channel of a human changes nothing, whichever it is; by
// each of those channels it is accepted.
func TestCommandsNeedAChannel(t *testing.T) {
	for _, b := range commandBodies {
		_, malformed := b.(contract.Malformed)
		for _, channel := range []string{"", "tool", "hook", "agent", "human", "arbiter", "Stdin", "stdin ",
			input.ChannelStart, "socket\n", input.ChannelStdin, input.ChannelScreen, input.ChannelSocket} {
			p := begin(t, nil)
			one := p.spawn("work")
			p.do(asked(p, one, "p1", "ask"))
			before := fingerprint(t, &p.s)
			out := p.do(byHuman(channel, b))
			if SentBy(channel) != "" {
				testkit.Check(t, !refused(out, "is accepted from stdin"), "%T by %q is not heard", b, channel)
				continue
			}
			after := p.s
			after.Budget.Runtime.LastAt = lastAtOf(t, before)
			testkit.Same(t, fmt.Sprintf("%T by %q changes the state", b, channel), before, fingerprint(t, &after))
			testkit.Check(t, malformed || refused(out, "is accepted from stdin") && len(out) == 1,
				"%T by %q: %+v", b, channel, out)
		}
	}
}

// refused reports whether a command was rejected with such words.
func refused(out []input.Effect, words string) bool {
	return slices.ContainsFunc(said[contract.Rejected](out),
		func(r contract.Rejected) bool { return strings.Contains(r.Message, words) })
}

// TestToolsNeedTheRole: each of our tools works for its own party, and changes nothing when another party calls
// it.
func TestToolsNeedTheRole(t *testing.T) {
	inputs := map[string]string{
		"spawn_orchestrator": `{"prompt":"more"}`, "release_orchestrator": `{"id":"all","reason":"r"}`,
		"set_plan": `{"steps":[{"text":"a"}]}`, "set_acceptance": `{"criteria":[{"text":"a"}]}`, "status": `{}`,
		"report_progress": `{"message":"half"}`, "update_plan": `{"index":1,"status":"done"}`,
		"ask_predecessor": `{"question":"why"}`,
		"permit":          `{"request":"p1","behavior":"allow"}`, "mcp__arbiter__status": `{}`, "": `{}`, "Status": `{}`,
	}
	for tool, raw := range inputs {
		for _, caller := range []struct {
			who      Party
			id       string
			subagent string
		}{{TheArbiter, "arbiter", ""}, {AnOrchestrator, "orch-1", ""}, {ASubagent, "orch-1", "toolu_1"},
			{ASubagent, "arbiter", "toolu_2"}} {
			p := begin(t, nil)
			p.spawn("work")
			p.call("arbiter", "set_plan", `{"steps":[{"text":"one"}]}`)
			before := fingerprint(t, &p.s)
			p.out = nil
			p.do(input.ToolCalled{Call: "c", Params: bridge.ToolCallParams{AgentRef: p.agent(caller.id).AgentRef,
				Tool: tool, Input: []byte(raw), Subagent: caller.subagent}})
			may, answer := May(caller.who, Tool(tool)), lastEffect[input.AnswerTool](p)
			denied := strings.Contains(answer.Text, "has no tool") || strings.Contains(answer.Text, "may not call")
			testkit.Check(t, denied != may && (!denied || answer.IsError), "%s calls %q: %+v", caller.who, tool, answer)
			after := p.s
			after.Budget.Runtime.LastAt = lastAtOf(t, before)
			testkit.Check(t, may || fingerprint(t, &after) == before, "%s calls %q and changes the state", caller.who,
				tool)
		}
	}
}

// TestVerdictsNeedTheRole: a verdict of the other role is not accepted as a verdict, in any form.
func TestVerdictsNeedTheRole(t *testing.T) {
	for _, v := range []map[string]any{
		ruling("COMPLETE", "m", "summary", "s"), ruling("ADDRESS_HUMAN", "m"), ruling("SELECT_MODE", "m", "mode", "tester"),
		ruling("ADDRESS_ORCHESTRATOR", "m", "to", "orch-1"), ruling("APPROVE", "m"),
		{"decision": "permission", "behavior": "allow", "message": "m", "reason": "r"},
	} {
		p, one := oneWorks(t, nil)
		was := p.s.Task.Phase
		n := len(told[contract.Decision](p))
		p.verdict(one, v)
		testkit.Check(t, p.s.Task.Phase == was && p.s.Spawned == 1 && len(told[contract.Decision](p)) == n &&
			p.s.Ending == nil, "an Orchestrator ruled %v", v)
		testkit.Includes(t, fmt.Sprintf("%v was not corrected", v), p.lastSent(one), "kind: correction")
	}
	p := begin(t, nil)
	p.verdict("arbiter", report("question", "May I?", true))
	p.contains("the Arbiter gave an Orchestrator's verdict", p.lastSent("arbiter"), "kind: correction")
}

// TestMessagesNeedTheRight: an Orchestrator may write to the Arbiter only.
func TestMessagesNeedTheRight(t *testing.T) {
	p := begin(t, nil)
	one, two := p.spawn("work"), p.spawn("more work")
	for _, c := range []struct {
		from, to string
		may      bool
	}{
		{one, two, false}, {one, one, false}, {one, contract.Human, false}, {one, contract.Arbiter, true},
		{contract.Arbiter, one, true},
		{contract.Arbiter, contract.Arbiter, false}, {contract.Arbiter, contract.Human, true}, {contract.Human, one, true},
		{contract.Supervisor, two, true}, {"somebody", one, false}, {"", one, false}, {contract.Human, "somebody", false},
		{contract.Human, "", false},
	} {
		testkit.Same(t, fmt.Sprintf("%q to %q", c.from, c.to), c.may, p.s.mayWrite(c.from, c.to))
		st := &step{State: p.s, at: p.at}
		n := len(st.Conversation.Mail)
		st.post(Mail{From: c.from, To: c.to, Kind: KindInstruction, Text: "do it"})
		testkit.Check(t, c.to == contract.Human || (len(st.Conversation.Mail) > n) == c.may,
			"%q to %q: posted %t", c.from, c.to, len(st.Conversation.Mail) > n)
	}
}

// commandBodies has one command of each kind.
var commandBodies = []contract.CommandBody{
	contract.Say{Text: "<a> & b\n\u2028c", To: "orch-1", Strength: contract.Steer},
	contract.Permit{Request: "p1", Behavior: "deny", Scope: "run", Message: "no"},
	contract.Interrupt{ID: "orch-1"}, contract.Kill{ID: "orch-1"}, contract.Pause{}, contract.Continue{}, contract.Halt{},
	contract.EditMessage{MessageID: "m1", Text: "<b>"}, contract.WithdrawMessage{MessageID: "m1"},
	contract.Attach{ID: "orch-1"}, contract.Detach{ID: "orch-1"},
	contract.ForceAgent{Mode: "tester"}, contract.SkipStep{}, contract.RetryLast{}, contract.Reset{},
	contract.SetPlan{Steps: []contract.Step{{Text: "one", Status: contract.StepDone, Agent: "orch-1"}}},
	contract.SetAcceptance{Criteria: []contract.AcceptanceCriterion{{Text: "one", Command: "true"}}},
	contract.Revert{Path: "a.go", Seen: "0f", Hunk: "-1,2 +1,3"},
	contract.Choose{Option: "retry"}, contract.Configure{ID: "orch-1", Model: "m"}, contract.Cancel{},
	contract.Malformed{Problem: "line 3 is not JSON", Raw: json.RawMessage("{\x00 no \xc3\xa4 JSON")},
}

// origins is who each kind of input is from. A new kind of input must be added here.
var origins = map[string]string{
	"began": "human", "resumed": "human", "command": "human",
	"agent_event": "agent", "tool_called": "agent", "permission_asked": "agent", "permission_withdrawn": "agent",
	"call_decided": "agent",

	"no_bridge": "supervisor", "input_ended": "supervisor", "signalled": "supervisor", "spawned": "supervisor",
	"not_spawned": "supervisor", "not_sent": "supervisor", "timer": "supervisor", "stopped": "supervisor",
	"bridge_lost": "supervisor", "bridge_back": "supervisor", "bridge_failed": "supervisor", "probed": "supervisor",
	"checked": "supervisor", "inspected": "supervisor", "configured": "supervisor", "decided": "supervisor",
	"snapshot_taken": "supervisor", "reverted": "supervisor", "merged": "supervisor", "reconsidered": "supervisor",
	"rules_given": "supervisor", "woke_from_sleep": "supervisor", "trust_recorded": "supervisor",
	"pty_opened": "supervisor", "remembered": "supervisor", "journal_full": "supervisor", "output_lost": "supervisor",
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
		return byHuman(input.ChannelScreen, contract.Say{Text: "go", To: "human"})
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
	testkit.Need(t, a.Generation == 2, "generation %d", a.Generation)
	p.s.Permission.Open = []input.PermissionRequest{{ID: "open",
		Params: bridge.PermissionParams{AgentRef: a.AgentRef, Request: "open"}}}
	want := map[string]input.Origin{
		"agent": {By: one, Session: a.SessionID, Gen: 2}, "supervisor": {By: "supervisor"},
		"human": {By: "human", Channel: input.ChannelStart},
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
		testkit.Same(t, fmt.Sprintf("%s is from", kind), expected, got)
		raw, err := input.EncodeInput(input.Input{At: p.at, Body: f, From: got})
		if err != nil {
			t.Errorf("%s: %v", kind, err)
			continue
		}
		back, err := input.DecodeInput(raw)
		testkit.Check(t, err == nil && back.From == got, "%s comes back from %+v (%v)\n%s", kind, back.From, err, raw)
	}
	for kind := range origins {
		testkit.Check(t, input.Kinds[kind] != nil, "there is no input %s", kind)
	}
}

// TestOriginsAreNotOfText: an unknown channel, agent or generation gives no known origin.
func TestOriginsAreNotOfText(t *testing.T) {
	p, unknown := begin(t, nil), input.Origin{By: input.Unknown}
	one := p.spawn("work")
	p.crash(one, 1)
	for _, c := range []struct {
		f    input.Body
		want input.Origin
	}{
		{input.Command{}, unknown}, {input.Command{Channel: "human"}, unknown},
		{input.Command{Channel: "STDIN"}, unknown}, {input.Command{Channel: input.ChannelStart}, unknown},
		{input.Command{Channel: input.ChannelSocket}, input.Origin{By: "human", Channel: input.ChannelSocket}},
		{event("human", 1), unknown}, {event("supervisor", 1), unknown}, {event("Arbiter", 1), unknown},
		{event("аrbiter", 1), unknown}, // its first letter is Cyrillic
		{event("orch-9", 1), unknown},
		{event(one, 1), input.Origin{By: one, Gen: 1}}, // a late message; its session is not known
		{input.PermissionWithdrawn{Request: "none"}, input.Origin{By: "supervisor"}},
	} {
		testkit.Same(t, fmt.Sprintf("%+v is from", c.f), c.want, p.s.Origin(c.f))
	}
}

// TestAnotherSessionIsDisowned: a process that turns out to have another session than requested is ended and
// started again; nothing is accepted from it.
func TestAnotherSessionIsDisowned(t *testing.T) {
	p := begin(t, nil)
	a := p.call("arbiter", "spawn_orchestrator", `{"prompt":"work"}`)
	testkit.Need(t, !a.IsError, "%v", a.Text)
	one := p.agent("orch-1")
	p.do(input.Spawned{Agent: one.AgentRef, Result: bridge.SpawnResult{SessionID: "another", Window: 7}})
	if a := p.agent("orch-1"); a.Status != AgentRestarting || a.Context.Window == 7 || a.SessionID != one.SessionID {
		t.Errorf("%s is %s on %s", a.ID, a.Status, a.SessionID)
	}
	p.contains("error", last[contract.Error](p).Message, `reports session "another"`)
	kills := effects[input.Kill](p)
	testkit.Check(t, len(kills) == 1 && kills[0].Agent == one.AgentRef, "kills: %+v", kills)

	n := len(told[contract.Error](p))
	p.happen("orch-1", bridge.Done{SessionID: "yet another"})
	list := told[contract.Error](p)
	testkit.Check(t, len(list) == n+1 && strings.Contains(list[n].Message, "yet another"), "errors: %+v", list)
	testkit.Same(t, "done says", one.SessionID, last[contract.Done](p).SessionID)
	if a := p.agent("orch-1"); a.Status != AgentDown {
		t.Errorf("%s is %s", a.ID, a.Status)
	}
}

// TestDeliveriesSayWhoReadWhat: each delivery names its sender and its reader's session and generation. The
// numbers of deliveries continue across the reader's generations without a gap.
func TestDeliveriesSayWhoReadWhat(t *testing.T) {
	p, one := oneWorks(t, nil)
	p.verdict(one, report("progress", "half", false))
	p.verdict(one, report("question", "Which?", true))
	p.verdict("arbiter", ruling("ADDRESS_ORCHESTRATOR", "That one.", "to", one))
	p.crash(one, 1)
	p.verdict(one, report("question", "And now?", true))

	sender, next := map[string]contract.Message{}, map[string]int{}
	for _, e := range effects[input.Emit](p) {
		switch b := e.Event.Body.(type) {
		case contract.Message:
			sender[b.MessageID] = b
			a, agent := p.s.Agent(b.From)
			testkit.Check(t, agent == (b.Generation > 0) && (!agent || b.SessionID == a.SessionID), "message %+v", b)
		case contract.Delivered:
			id := e.Event.ID
			next[id]++
			m := sender[b.MessageID]
			want := contract.Delivered{MessageID: b.MessageID, From: m.From, SessionID: p.agent(id).SessionID,
				Generation: b.Generation, Sequence: next[id]}
			testkit.Same(t, "to "+id, want, b)
			testkit.Check(t, m.To == id && b.Generation >= 1, "to %s: %+v of %+v", id, b, m)
		}
	}
	testkit.Check(t, next["arbiter"] >= 3 && next[one] >= 3 && p.agent(one).Generation == 2, "deliveries: %v", next)
}

// TestApprovalsNameTheirAction: the record of an answer names the action that it is about, even if the command
// named only the request.
func TestApprovalsNameTheirAction(t *testing.T) {
	p := begin(t, nil)
	one := p.spawn("work")
	p.do(asked(p, one, "p1", "ask"))
	c := byHuman(input.ChannelStdin, contract.Permit{Request: "p1", Behavior: bridge.Allow})
	raw := testkit.Must(input.EncodeInput(input.Input{At: time.Unix(1, 0), Body: p.s.ExactInput(c)}))(t)
	p.contains("record", string(raw), keyOf(p.s.Permission.Open[0].Params), input.ChannelStdin)
	for _, other := range []input.Body{
		input.Command{Command: contract.Command{Body: contract.Permit{Request: "p2", Behavior: bridge.Allow}}},
		input.Command{Command: contract.Command{Body: contract.Permit{Request: "p1", Action: "mine"}}},
		input.Command{Command: contract.Command{Body: contract.Pause{}}}, input.InputEnded{},
	} {
		testkit.Same(t, "became", other, p.s.ExactInput(other))
	}
}

// run has an Arbiter and one Orchestrator in its second generation.
func run() *State {
	agent := func(id string, role Role) *Agent {
		return &Agent{AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: id, Generation: 2},
			Role: role, SessionID: "s-" + id}}
	}
	return &State{
		Roster: Roster{Spawned: 3, Agents: []*Agent{
			agent(contract.Arbiter, RoleArbiter), agent("orch-3", RoleOrchestrator),
		}},
	}
}

func event(id string, generation int) input.Body {
	return byBridge(bridge.AgentRef{ID: id, Generation: generation}, bridge.Notice{Text: "n"})
}

// TestUnknown: an input of an agent that ended long ago is not reported; one of an agent that never existed, or
// does not exist yet, is.
func TestUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		body  input.Body
		named bool
		known bool
	}{
		"known":            {event("orch-3", 1), false, true},
		"forgotten":        {event("orch-1", 1), false, false},
		"never summoned":   {event("orch-4", 1), true, false},
		"a generation off": {event("orch-3", 3), true, false},
	} {
		why, named := run().UnknownSender(c.body, "")
		testkit.Check(t, (why == "") == c.known && named == c.named, "%s: %q, %v", name, why, named)
	}
}

const auditTestRun = "0f3b8a52-6d1a-4a0e-9d43-2f1f6a1f0001"

// memory is the file of a log.
type memory struct{ *bytes.Reader }

func (m memory) Size() (int64, error) { return m.Reader.Size(), nil }
func (m memory) Close() error         { return nil }

// recorded is the event log of a run with these inputs.
func recorded(t *testing.T, inputs ...input.Body) *journal.EventLog {
	t.Helper()
	var (
		state   State
		telling LogEncoder
		chain   journal.LogChain
		raw     []byte
	)
	for i, f := range inputs {
		in := input.Input{At: time.Date(2026, 3, 1, 12, 0, i, 0, time.UTC), Body: f}
		after, effects := Apply(state, in)
		for _, told := range LogItems(&state, Replayed{Input: in, Effects: effects}, &after) {
			content, err := telling.Content(uint64(i+1), in.At, told)
			if err == nil {
				raw, err = chain.Append(raw, content)
			}
			testkit.OK(t, err)
		}
		state = after
	}
	return journal.NewLog(memory{bytes.NewReader(raw)})
}

// TestAuditIsTamperProof: every change of an export is detected, with its line.
func TestAuditIsTamperProof(t *testing.T) {
	log := recorded(t,
		input.Began{Options: runconfig.Options{Run: auditTestRun, Delimiter: "d", Task: "Weave <it> \u2028 \xff",
			HumanPresent: true}.WithDefaults()},
		byHuman(input.ChannelStdin, contract.Say{Text: "And quickly."}), input.Signal{Signal: "INT"},
	)
	var lines []string
	err := AuditOf(t.Context(), log, auditTestRun, true, func(l AuditLine) error {
		lines = append(lines, string(l.Raw)+"\n")
		return nil
	})
	testkit.Need(t, err == nil && len(lines) >= 8, "%d lines, %v", len(lines), err)
	verify := func(lines []string) error {
		a, err := ReadAudit(strings.NewReader(strings.Join(lines, "")))
		if err == nil {
			err = a.Against(t.Context(), log)
		}
		return err
	}
	testkit.OK(t, verify(lines))
	broken := func(what string, line int, changed []string) {
		t.Helper()
		b, ok := errors.AsType[*Broken](verify(changed))
		testkit.Check(t, ok && b.Line == line, "%s: %v, want line %d", what, b, line)
	}
	for i, line := range lines {
		for _, at := range []int{1, len(line) / 3, len(line) / 2, len(line) - 3} {
			b := []byte(line)
			b[at] ^= 1
			broken(fmt.Sprint("flip in line ", i+1), i+1, slices.Concat(lines[:i], []string{string(b)}, lines[i+1:]))
		}
		broken("left out", i+1, slices.Concat(lines[:i], lines[i+1:]))
		if i > 0 {
			broken("twice", i+1, slices.Concat(lines[:i], []string{lines[i-1]}, lines[i:]))
			broken("swapped", i, slices.Concat(lines[:i-1], []string{line, lines[i-1]}, lines[i+1:]))
		}
		broken("blank in it", i+1, slices.Concat(lines[:i], []string{" " + line}, lines[i+1:]))
	}
	// A complete forged chain is correct in itself, but does not match the journal.
	broken("made anew", 3, forgedAudit(t, lines))
}

// forgedAudit changes a line and computes the chain after it again, as anybody can who knows the format.
func forgedAudit(t *testing.T, lines []string) []string {
	t.Helper()
	canonical := func(fields map[string]any) string {
		var b bytes.Buffer
		enc := json.NewEncoder(&b)
		enc.SetEscapeHTML(false)
		testkit.OK(t, enc.Encode(fields))
		return strings.TrimSuffix(b.String(), "\n")
	}
	var list []string
	prev := ""
	for i, line := range lines {
		dec := json.NewDecoder(strings.NewReader(line))
		dec.UseNumber()
		var fields map[string]any
		testkit.OK(t, dec.Decode(&fields))
		if i == 2 {
			fields["by"] = "orch-1"
		}
		if prev != "" {
			fields["prev"] = prev
		}
		if fields["what"] == "end" {
			fields["detail"].(map[string]any)["head"] = prev
		}
		delete(fields, "hash")
		prev = fmt.Sprintf("%x", sha256.Sum256([]byte(canonical(fields))))
		fields["hash"] = prev
		list = append(list, canonical(fields)+"\n")
	}
	return list
}
