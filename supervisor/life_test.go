package supervisor

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// Functions for what happens to processes, and to Arbiter itself.

// dies ends the agent's process unexpectedly. The report about the running turn comes first, as from the
// bridge.
func (p *play) dies(id string) {
	p.t.Helper()
	a := p.agent(id)
	if len(a.Turn) > 0 {
		p.happen(id, bridge.Turn{MessageIDs: a.Turn, Outcome: bridge.TurnLost})
	}
	p.happen(id, bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Code: -1, Signal: "killed"}})
}

// comes brings up the next process of an agent that is down; history is what its session's history says about
// what was open.
func (p *play) comes(id string, history bridge.SpawnResult) []input.Effect {
	p.t.Helper()
	if a := p.agent(id); a.Status == AgentDown {
		p.do(input.Timer{Key: RestartPrefix + RunOf(a.AgentRef)})
	}
	a := p.agent(id)
	if a.Status != AgentStarting {
		p.t.Fatalf("%s does not start: it is %s", id, a.Status)
	}
	if history.Window == 0 {
		history.Window = 200_000
	}
	return p.do(input.Spawned{Agent: a.AgentRef, Result: history})
}

// remembers is a history that says the same about everything that is open.
func (p *play) remembers(id, fate string) bridge.SpawnResult {
	p.t.Helper()
	r := bridge.SpawnResult{Resumed: true}
	for _, wire := range p.agent(id).Turn {
		f := bridge.DeliveryStatus{MessageID: wire, Status: fate}
		r.Deliveries = append(r.Deliveries, f)
	}
	return r
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
			p.happen(a.ID, bridge.Done{SessionID: a.SessionID, Exit: bridge.Exit{Expected: true}})
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
	var list []bridge.MessageParams
	for _, s := range effects[input.Send](p) {
		if s.Params.ID == id {
			list = append(list, s.Params)
		}
	}
	return list
}

// spawns are the starts of an agent's processes, oldest first.
func (p *play) spawns(id string) []bridge.SpawnParams {
	var list []bridge.SpawnParams
	for _, s := range effects[input.Spawn](p) {
		if s.Params.ID == id {
			list = append(list, s.Params)
		}
	}
	return list
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

// ruledStatus is a history in which the first open message has its verdict and the others are unchanged.
func ruledStatus(verdict map[string]any, wire string) bridge.DeliveryStatus {
	raw, err := json.Marshal(verdict)
	if err != nil {
		panic(err)
	}
	return bridge.DeliveryStatus{MessageID: wire, Status: bridge.DeliveryRuled, Verdict: raw}
}

// folds compares the state of a play with the state computed from its journal.
func (p *play) folds() {
	p.t.Helper()
	var fold Replayer
	for i, r := range records(p.t, p.in) {
		if err := fold.Take(r); err != nil {
			p.t.Fatalf("input %d: %v", i, err)
		}
	}
	if fingerprint(p.t, &p.s) != fingerprint(p.t, &fold.State) {
		p.t.Errorf("the journal folds to another state:\n%s", cmp.Diff(p.s, fold.State))
	}
}

// records are inputs as a journal holds them.
func records(t testing.TB, list []input.Input) []journal.Record {
	t.Helper()
	var out []journal.Record
	for i, in := range list {
		if !input.Recorded(in.Body) {
			continue
		}
		raw, err := input.EncodeInput(in)
		if err != nil {
			t.Fatal(err)
		}
		kind := journal.Input
		if input.Narrates(in.Body) {
			kind = journal.Narration
		}
		out = append(out, journal.Record{Seq: uint64(i + 1), Kind: kind, Payload: raw})
	}
	return out
}

// restartDue fires the timer that starts an agent's process again.
func (p *play) restartDue(id string) {
	p.do(input.Timer{Key: RestartPrefix + RunOf(p.agent(id).AgentRef)})
}
