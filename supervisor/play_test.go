package supervisor

import (
	"encoding/json"
	"fmt"
	"hash/crc32"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
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

	events stream // what the events have told so far
	was    State  // s after the last step
	text   string // fingerprint of was
	edited bool   // the test has written into the state
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
	t.Cleanup(func() {
		// What the test has written into the state itself is in no journal.
		if whole := len(p.in) > 0 && !p.edited && reflect.DeepEqual(p.s, p.was); whole && !t.Failed() && len(p.in) < 300 {
			p.folds()
		}
	})
	return p
}

// oneWorks begins a run in which an Orchestrator works, and the Arbiter waits for it.
func oneWorks(t *testing.T, change func(*runconfig.Options)) (*play, string) {
	t.Helper()
	p := begin(t, change)
	id := p.spawn("work")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	return p, id
}

// twoWork begins a run in which two Orchestrators work.
func twoWork(t *testing.T, change func(*runconfig.Options)) (p *play, one, two string) {
	t.Helper()
	p = begin(t, change)
	one, two = p.spawn("left half"), p.spawn("right half")
	p.verdict("arbiter", ruling("CONTINUE", "Patience."))
	return p, one, two
}

// do applies an input a second after the last one and returns its effects.
func (p *play) do(f input.Body) []input.Effect {
	p.t.Helper()
	p.at = p.at.Add(time.Second)
	before := p.text
	if before == "" || !reflect.DeepEqual(p.s, p.was) { // the test has set a field itself
		before, p.edited = fingerprint(p.t, &p.s), before != ""
	}
	p.in = append(p.in, input.Input{At: p.at, Body: f})
	s, out := Apply(p.s, input.Input{At: p.at, Body: f})
	testkit.Need(p.t, before == fingerprint(p.t, &p.s),
		"apply changed its input by %T, or the test has written into its agents", f)
	after := fingerprint(p.t, &s)
	checkEffects(p.t, &p.s, out)
	checkStep(p.t, &p.s, &s, f, out)
	if _, whole := p.in[0].Body.(input.Began); whole && !p.edited {
		p.events.follow(p.t, p.at, &p.s, &s, f, out)
	}
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
	testkit.Need(p.t, ok, "no agent %s", id)
	return a
}

func (p *play) spawned(id string) {
	p.t.Helper()
	p.do(input.Spawned{Agent: p.agent(id).AgentRef, Result: bridge.SpawnResult{Window: 200_000}})
}

func (p *play) happen(id string, b bridge.EventBody) []input.Effect {
	p.t.Helper()
	return p.do(byBridge(p.agent(id).AgentRef, b))
}

// turn ends the agent's running turn: its messages are delivered, and t follows.
func (p *play) turn(id string, t bridge.Turn) []input.Effect {
	p.t.Helper()
	a := p.agent(id)
	testkit.Need(p.t, a.Status == AgentBusy, "%s has no turn to end: it is %s", id, a.Status)
	p.proven(id)
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
	return p.turn(id, verdictTurn(v, bridge.Turn{}))
}

// verdictTurn is a turn that ends with a verdict.
func verdictTurn(v map[string]any, t bridge.Turn) bridge.Turn {
	t.Verdict = object(v)
	return t
}

// object is a value as JSON.
func object(v any) json.RawMessage {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return raw
}

// member is a JSON object with one text.
func member(field, text string) json.RawMessage { return object(map[string]string{field: text}) }

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

// byBridge is what the bridge tells of a process, and byHuman a command that came by a channel.
func byBridge(ref bridge.AgentRef, b bridge.EventBody) input.Body {
	return input.AgentEvent{Event: bridge.Event{AgentRef: ref, Body: b}}
}

func byHuman(channel string, b contract.CommandBody) input.Command {
	return input.Command{Channel: channel, Command: contract.Command{Ref: "r", Body: b}}
}

// notSpawned is a start of the agent that fails.
func (p *play) notSpawned(id string, c bridge.Category, message string) []input.Effect {
	p.t.Helper()
	return p.do(input.NotSpawned{Agent: p.agent(id).AgentRef, Category: c, Message: message})
}

// leaves has the Arbiter release an Orchestrator, which ends.
func (p *play) leaves(id string) {
	p.t.Helper()
	p.call("arbiter", "release_orchestrator", `{"id":"`+id+`","reason":"enough"}`)
	p.ends(id)
}

// call makes an agent call one of our tools and returns the answer.
func (p *play) call(id, tool, raw string) input.AnswerTool {
	p.t.Helper()
	out := p.do(input.ToolCalled{Call: "c1", Params: bridge.ToolCallParams{AgentRef: p.agent(id).AgentRef, Tool: tool,
		Input: json.RawMessage(raw)}})
	answers := ofType[input.AnswerTool](out)
	testkit.Need(p.t, len(answers) > 0, "%s was not answered: %v", tool, out)
	return answers[0]
}

// spawn lets the Arbiter call spawn_orchestrator and brings up the new Orchestrator.
func (p *play) spawn(brief string) string {
	p.t.Helper()
	a := p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":%q}`, brief))
	testkit.Need(p.t, !a.IsError, "spawn_orchestrator: %s", a.Text)
	id := fmt.Sprintf("orch-%d", p.s.Spawned)
	p.spawned(id)
	return id
}

// command gives a human's command and reports whether it was accepted.
func (p *play) command(b contract.CommandBody) (bool, string) {
	p.t.Helper()
	out := p.do(p.s.ExactInput(byHuman(input.ChannelStdin, b)))
	yes, no := said[contract.Accepted](out), said[contract.Rejected](out)
	testkit.Need(p.t, len(yes)+len(no) > 0, "command %T was neither accepted nor rejected", b)
	if len(yes) > 0 {
		return true, yes[0].Message
	}
	return false, no[0].Message
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
	p.mustCommand(c)
}

// lastSent returns the last message to the agent.
func (p *play) lastSent(id string) string {
	p.t.Helper()
	list := p.sends(id)
	testkit.Need(p.t, len(list) > 0, "nothing was sent to %s", id)
	return list[len(list)-1].Content
}

// ofType are the effects of one type, oldest first, and said the events.
func ofType[E input.Effect](out []input.Effect) (list []E) {
	for _, e := range out {
		if x, ok := e.(E); ok {
			list = append(list, x)
		}
	}
	return list
}

func said[B contract.Body](out []input.Effect) (list []B) {
	for _, e := range ofType[input.Emit](out) {
		if b, ok := e.Event.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}

// told and effects are those of the run so far.
func told[B contract.Body](p *play) []B { return said[B](p.out) }

func effects[E input.Effect](p *play) []E { return ofType[E](p.out) }

func last[B contract.Body](p *play) B {
	p.t.Helper()
	list := told[B](p)
	testkit.Need(p.t, len(list) != 0, "no %T event", *new(B))
	return list[len(list)-1]
}

// crash ends the agent's process unexpectedly and brings up the next one, n times or until the agent is parked.
func (p *play) crash(id string, n int) {
	p.t.Helper()
	for range n {
		p.dies(id)
		if p.agent(id).Status != AgentDown {
			return
		}
		p.comes(id, bridge.SpawnResult{Resumed: true})
	}
}

// loseBridge ends the bridge again and again.
func (p *play) loseBridge() {
	p.t.Helper()
	for p.s.Ending == nil {
		p.bridgeReturns()
	}
}

// contains and lacks look for parts of a text.
func (p *play) contains(what, text string, parts ...string) {
	p.t.Helper()
	testkit.Includes(p.t, what, text, parts...)
}

func (p *play) lacks(what, text string, parts ...string) {
	p.t.Helper()
	testkit.Excludes(p.t, what, text, parts...)
}

// mustCommand gives a command that has to be accepted.
func (p *play) mustCommand(b contract.CommandBody) {
	p.t.Helper()
	ok, why := p.command(b)
	testkit.Need(p.t, ok, "%T: %s", b, why)
}

// refuses gives a command that has to be rejected with this text.
func (p *play) refuses(b contract.CommandBody, want string) {
	p.t.Helper()
	ok, why := p.command(b)
	testkit.Check(p.t, !ok && strings.Contains(why, want), "%+v: accepted %v: %q, want %q", b, ok, why, want)
}

// goesOn fails if the run has ended.
func (p *play) goesOn(what string) {
	p.t.Helper()
	testkit.Need(p.t, p.s.Ending == nil, "%s: %+v", what, p.s.Ending)
}

// endsAs lets the agents stop, and compares the result.
func (p *play) endsAs(status string, exit contract.Exit, summary ...string) contract.Result {
	p.t.Helper()
	r, got := p.finished()
	testkit.Check(p.t, r.Status == status && got == exit, "result %+v, exit %d; want %s, %d", r, got, status, exit)
	p.contains("the summary", r.Summary, summary...)
	return r
}

// bridgeReturns ends the bridge and opens another, unless that ends the run.
func (p *play) bridgeReturns() {
	p.t.Helper()
	p.do(input.BridgeLost{Message: "gone"})
	p.do(input.Timer{Key: LifecycleTimerKey(LifecycleHere)})
	if p.s.Ending == nil {
		p.do(input.BridgeBack{})
	}
}

// finished lets the agents stop and returns the result and the exit code.
func (p *play) finished() (contract.Result, contract.Exit) {
	p.t.Helper()
	testkit.Need(p.t, p.s.Ending != nil, "the run goes on: %s", p.s.Task.Phase)
	p.do(input.Stopped{})
	ends := effects[input.Finish](p)
	testkit.Need(p.t, len(ends) == 1, "%d ends", len(ends))
	r := told[contract.Result](p)
	testkit.Need(p.t, len(r) == 1, "%d results", len(r))
	return last[contract.Result](p), ends[0].Exit
}

// Functions for what happens to processes, and to Arbiter itself.

// dies ends the agent's process unexpectedly. The report about the running turn comes first, as from the
// bridge.
func (p *play) dies(id string) {
	p.t.Helper()
	a := p.agent(id)
	if len(a.Turn) > 0 {
		p.happen(id, bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnLost})
	}
	p.happen(id, bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Code: -1, Signal: "killed", Stderr: "oom"}})
}

// comes brings up the next process of an agent that is down; history is what its session's history says about
// what was open.
func (p *play) comes(id string, history bridge.SpawnResult) []input.Effect {
	p.t.Helper()
	if p.agent(id).Status == AgentDown {
		p.restartDue(id)
	}
	a := p.agent(id)
	testkit.Need(p.t, a.Status == AgentStarting, "%s does not start: it is %s", id, a.Status)
	if history.Window == 0 {
		history.Window = 200_000
	}
	return p.do(input.Spawned{Agent: a.AgentRef, Result: history})
}

// remembers is a history that says the same about everything that is open.
func (p *play) remembers(id, fate string) bridge.SpawnResult {
	p.t.Helper()
	return bridge.SpawnResult{Resumed: true, Deliveries: testkit.Each(p.agent(id).Turn,
		func(wire string) bridge.DeliveryStatus { return bridge.DeliveryStatus{MessageID: wire, Status: fate} })}
}

// rebirth ends a process and brings up the next one, with a history.
func (p *play) rebirth(id, fate string) {
	p.t.Helper()
	p.dies(id)
	p.comes(id, p.remembers(id, fate))
}

// proven makes the CLI prove that it has accepted what it was sent.
func (p *play) proven(id string) {
	p.t.Helper()
	for _, wire := range p.agent(id).Turn {
		p.happen(id, bridge.Delivered{MessageID: wire, Proof: "lifecycle"})
	}
}

// speaks lets a model begin to answer what the agent's session contains.
func (p *play) speaks(id string) {
	p.t.Helper()
	p.happen(id, bridge.Context{Tokens: 1000, Window: 200_000, Pct: 0.5, Source: "stream"})
}

// stopped is the first Ctrl-C, after which all agents end normally.
func (p *play) stopped() {
	p.t.Helper()
	p.do(input.Signal{Signal: "INT"})
	for _, a := range p.s.Agents {
		if a.Status == AgentStopping {
			p.ends(a.ID)
		}
	}
	p.do(input.Stopped{})
}

// resume resumes the run in another process of Arbiter. Effects of earlier processes are dropped, so that a
// test sees what this one does.
func (p *play) resume(word string) {
	p.t.Helper()
	p.out = nil
	p.at = p.at.Add(time.Hour) // the run was not running
	p.do(input.Resumed{Options: p.s.Options, Claude: p.s.Lifecycle.Claude(), Word: word, Stay: true})
}

// back brings up all agents after a resume, each with a history that says this about what was open.
func (p *play) back(fate string) {
	p.t.Helper()
	for _, a := range p.s.Agents {
		if a.Status == AgentStarting || a.Status == AgentDown {
			p.comes(a.ID, p.remembers(a.ID, fate))
		}
	}
}

// sends are the messages written to an agent, oldest first.
func (p *play) sends(id string) []bridge.MessageParams {
	sends := testkit.Only(effects[input.Send](p), func(s input.Send) bool { return s.Params.ID == id })
	return testkit.Each(sends, func(s input.Send) bridge.MessageParams { return s.Params })
}

// spawns are the starts of an agent's processes, oldest first.
func (p *play) spawns(id string) []bridge.SpawnParams {
	spawns := testkit.Only(effects[input.Spawn](p), func(s input.Spawn) bool { return s.Params.ID == id })
	return testkit.Each(spawns, func(s input.Spawn) bridge.SpawnParams { return s.Params })
}

// saidDelivered counts `delivered` by message.
func (p *play) saidDelivered() map[string]int {
	said := map[string]int{}
	for _, d := range told[contract.Delivered](p) {
		said[d.MessageID]++
	}
	return said
}

// timer returns the duration of a timer that these effects set; 0 if they set none, or stop it.
func timer(out []input.Effect, key string) time.Duration {
	for _, e := range slices.Backward(out) {
		if s, ok := e.(input.SetTimer); ok && s.Key == key {
			return s.After
		}
	}
	return 0
}

// hadRuled ends the process of an agent whose session has a verdict that nobody received, and brings up the next one.
func (p *play) hadRuled(id string, verdict map[string]any) {
	p.t.Helper()
	p.dies(id)
	p.comes(id, bridge.SpawnResult{Resumed: true, Deliveries: []bridge.DeliveryStatus{
		{MessageID: p.agent(id).Turn[0], Status: bridge.DeliveryRuled, Verdict: object(verdict)}}})
}

// folds compares the state of a play with the state computed from its journal.
func (p *play) folds() {
	p.t.Helper()
	var fold Replayer
	for i, r := range records(p.t, p.in) {
		err := fold.Take(r)
		testkit.Need(p.t, err == nil, "input %d: %v", i, err)
	}
	testkit.Same(p.t, "the state that the journal folds to", fingerprint(p.t, &p.s), fingerprint(p.t, &fold.State))
}

// records are inputs as a journal holds them.
func records(t testing.TB, list []input.Input) []journal.Record {
	t.Helper()
	var out []journal.Record
	for i, in := range list {
		if !input.Recorded(in.Body) {
			continue
		}
		out = append(out, recordOf(t, in, i))
	}
	return out
}

func recordOf(t testing.TB, in input.Input, i int) journal.Record {
	t.Helper()
	kind := journal.Input
	if input.Narrates(in.Body) {
		kind = journal.Narration
	}
	return journal.Record{Seq: uint64(i + 1), Kind: kind, Payload: testkit.Must(input.EncodeInput(in))(t)}
}

// restartDue fires the timer that starts an agent's process again.
func (p *play) restartDue(id string) {
	p.t.Helper()
	p.do(input.Timer{Key: RestartPrefix + RunOf(p.agent(id).AgentRef)})
}

// This file builds runs for tests of single concepts.

// readyRun returns a run with an Arbiter that is ready.
func readyRun(o runconfig.Options) *step {
	o.Run, o.Delimiter = "run", "d"
	at := time.Unix(1, 0)
	st := &step{State: State{Options: o.WithDefaults()}, at: at, out: input.Collector{Now: at}}
	st.Lifecycle.Start(bridge.ClaudeInfo{})
	st.Add(&Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter, Generation: 1},
			Role: RoleArbiter, Name: "The Arbiter"},
		AgentProcess: AgentProcess{Status: AgentReady},
	})
	return st
}

// addOrchestrator adds the next Orchestrator to a run, at work, with a running turn. The caller may change the
// result.
func addOrchestrator(st *step) *Agent {
	st.Spawned++
	a := &Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: fmt.Sprintf("orch-%d", st.Spawned), Generation: 1},
			Role: RoleOrchestrator, Name: "Orchestrator " + contract.Roman(st.Spawned)},
		AgentProcess: AgentProcess{Status: AgentBusy},
		AgentWork:    AgentWork{Standing: AgentWorking},
	}
	st.Add(a)
	return a
}

// did returns the effects of one kind so far, and emitted the events.
func did[E input.Effect](st *step) []E { return ofType[E](st.out.Effects()) }

func emitted[B contract.Body](st *step) []B { return said[B](st.out.Effects()) }

// often returns how many repetitions a loop makes: a few for each change, and many where
// ARBITER_LONG is set, as by scripts/nightly.
func often(few, many int) int {
	if testkit.AtNight() {
		return many
	}
	return few
}

// enumOf are the values that a schema allows for a field: its description says what each of them is.
func enumOf(t *testing.T, schema, field string) (names []string) {
	t.Helper()
	var s struct {
		Properties map[string]struct{ Description string }
	}
	err := json.Unmarshal([]byte(schema), &s)
	_, list, found := strings.Cut(s.Properties[field].Description, "One of:")
	testkit.Need(t, err == nil && found, "the schema does not list the values of %s: %v", field, err)
	return testkit.Each(regexp.MustCompile(` (\w+): `).FindAllStringSubmatch(list, -1),
		func(m []string) string { return m[1] })
}

// lastAtOf is the time of the last input that counts, from a state as text.
func lastAtOf(t *testing.T, state string) time.Time {
	t.Helper()
	var s State
	testkit.OK(t, json.Unmarshal([]byte(state), &s))
	return s.Budget.Runtime.LastAt
}
