package supervisor

import (
	"cmp"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Playback is the state of a run according to its events: what a screen shows of a run. Information that only
// the journal has is missing. The zero value is a run before its first event.
type Playback struct {
	state   State
	charges contract.Charges
}

// Snapshot returns the state after the events so far. It is not changed any more.
func (p *Playback) Snapshot() *State {
	p.state.Freeze()
	s := p.state
	return &s
}

// Add adds the next event.
func (p *Playback) Add(at time.Time, e contract.Event) {
	s := &p.state
	for _, c := range p.charges.Take(e) {
		s.Budget.Charge(c.Usage, c.CostUSD)
		p.edit(c.ID).Charge(c.CostUSD)
	}
	switch b := e.Body.(type) {
	case contract.Session:
		p.session(at, b)
	case contract.State:
		s.Task.Phase = machine.State(b.To)
	case contract.Spawn:
		p.spawned(at, e.ID, b)
	case contract.Message:
		p.message(b)
	case contract.Delivered, contract.Assistant, contract.ToolUse, contract.ToolResult, contract.ToolCall:
		p.status(at, e.ID, AgentBusy)
	case contract.Cost:
		live := &p.edit(e.ID).Live
		live.CostUSD, live.Usage = b.CostUSD, b.Usage
		p.status(at, e.ID, AgentBusy)
	case contract.Turn:
		p.status(at, e.ID, AgentReady)
		a := p.edit(e.ID)
		a.CostUnknown = a.CostUnknown || b.Unknown
	case contract.Context:
		c := &p.edit(e.ID).Context
		c.Tokens, c.Window, c.Pct, c.TurnsLeft, c.Source = b.Tokens, b.Window, b.Pct, b.TurnsLeft, b.Source
	case contract.ContextWarning:
		p.edit(e.ID).WarnedLevel = b.Level
	case contract.Compact:
		if !b.Blocked {
			p.edit(e.ID).WarnedLevel = ""
		}
	case contract.Plan:
		s.Task.Plan, s.Task.AgentTasks = b.Steps, b.Tasks
	case contract.Handoff:
		if a := p.edit(b.From); a.Role == RoleOrchestrator {
			a.Standing = HandedOff
		}
	case contract.Done:
		p.status(at, e.ID, AgentEnded)
		p.edit(e.ID).Dismissed = true
	case contract.Halted:
		s.Halted = true
	case contract.Result:
		s.Ending = &Ending{Status: b.Status, Summary: b.Summary, Said: true}
		s.Lifecycle.Crashes = b.Crashes
	}
	s.Budget.Runtime.LastAt = at
}

// session records that another process plays the run from here on.
func (p *Playback) session(at time.Time, b contract.Session) {
	s := &p.state
	if r := &s.Budget.Runtime; r.Began.IsZero() {
		r.Begin(at)
		s.Task.Phase = machine.Idle
	} else {
		r.Resume(at)
	}
	s.Ending, s.Halted = nil, false
	o := &s.Options
	o.Run, o.CWD, o.Rehearsal, o.Trusted, o.Permissions = b.Session, b.CWD, b.Rehearsal, b.Trusted, b.Permissions
	o.Sandbox, o.SandboxReason = nil, b.SandboxReason
	if b.Sandbox != "unsandboxed" && b.Sandbox != "" {
		o.Sandbox = new(bridge.SandboxConfig)
	}
	claude := s.Lifecycle.Claude()
	claude.Version, claude.Path = b.ClaudeVersion, b.Claude
	s.Lifecycle.Start(claude)
}

// edit returns a writable agent; one that is not known is nobody's.
func (p *Playback) edit(id string) *Agent { return cmp.Or(p.state.Edit(id), &Agent{}) }

func (p *Playback) status(at time.Time, id string, status AgentStatus) {
	if a := p.edit(id); a.Status != status {
		a.Status, a.Since = status, at
	}
}

// spawned adds an agent, or another session of it.
func (p *Playback) spawned(at time.Time, id string, b contract.Spawn) {
	p.state.Halted = p.state.Halted && b.Generation <= 1 // a halted run starts no process, but may add an agent
	a := p.state.Edit(id)
	if a == nil {
		a = &Agent{}
		a.ID, a.Role, a.Standing = id, RoleOrchestrator, AgentWorking
		if id == contract.Arbiter {
			a.Role, a.Standing = RoleArbiter, ""
		}
		p.state.Add(a)
	}
	if !b.Resumed { // another session, which is empty
		a.AgentContext = AgentContext{}
	}
	a.Name, a.Mode, a.SessionID, a.Generation, a.Predecessor = b.Name, b.Mode, b.SessionID, b.Generation, b.SuccessorOf
	a.Status, a.Since, a.Dismissed = AgentReady, at, false
}

func (p *Playback) message(b contract.Message) {
	if b.From == contract.Human && b.Kind == KindTask {
		p.state.Task.Text = b.Text
	}
	if a := p.edit(b.From); a.Role == RoleOrchestrator && b.To == contract.Arbiter {
		switch a.Standing = AgentWaiting; b.Kind {
		case verdict.KindDone:
			a.Standing = AgentFinished
		case verdict.KindHandoff:
			a.Standing = HandedOff
		}
	}
	if a := p.edit(b.To); a.Role == RoleOrchestrator && a.Standing != HandedOff {
		a.Standing = AgentWorking
	}
}
