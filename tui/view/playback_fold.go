package view

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
)

// maxAgents bounds how many agents are kept; further ones are only in the events.
const maxAgents = 4096

// unsandboxed is a session's sandbox value if it has none.
const unsandboxed = "unsandboxed"

// playbackFold is the state of a run according to its events: what a screen shows of a run. Information that only
// the journal has is missing.
type playbackFold struct{ state supervisor.State }

// snapshot returns a copy that is not changed any more.
func (f *playbackFold) snapshot() *supervisor.State {
	s := f.state
	s.Agents = make([]*supervisor.Agent, len(f.state.Agents))
	for i, a := range f.state.Agents {
		b := *a
		s.Agents[i] = &b
	}
	return &s
}

// add applies an event.
func (f *playbackFold) add(at time.Time, e contract.Event) {
	s := &f.state
	switch b := e.Body.(type) {
	case contract.Session:
		f.session(at, b)
	case contract.State:
		s.Task.Phase = machine.State(b.To)
	case contract.Spawn:
		f.spawned(at, e.ID, b)
	case contract.Message:
		f.message(b)
	case contract.Delivered, contract.Assistant, contract.ToolUse, contract.ToolResult, contract.ToolCall:
		f.status(at, e.ID, supervisor.AgentBusy)
	case contract.Cost:
		if a := f.agent(e.ID); a != nil {
			a.Live.CostUSD, a.Live.Usage = b.CostUSD, b.Usage
		}
		f.status(at, e.ID, supervisor.AgentBusy)
	case contract.Turn:
		f.turned(at, e.ID, b)
	case contract.Context:
		if a := f.agent(e.ID); a != nil {
			c := &a.Context
			c.Tokens, c.Window, c.Pct, c.TurnsLeft, c.Source = b.Tokens, b.Window, b.Pct, b.TurnsLeft, b.Source
		}
	case contract.ContextWarning:
		if a := f.agent(e.ID); a != nil {
			a.WarnedLevel = b.Level
		}
	case contract.Plan:
		s.Task.Plan, s.Task.AgentTasks = b.Steps, b.Tasks
	case contract.Handoff:
		if a := f.agent(b.From); a != nil {
			a.Standing = supervisor.HandedOff
		}
	case contract.Done:
		if a := f.agent(e.ID); a != nil {
			f.status(at, e.ID, supervisor.AgentEnded)
			a.Dismissed = true
		}
	case contract.Halted:
		s.Halted = true
	case contract.Result:
		s.Ending = &supervisor.Ending{Status: b.Status, Summary: b.Summary, Said: true}
		s.Budget.CostUSD, s.Budget.Usage, s.Lifecycle.Crashes = b.CostUSD, b.Usage, b.Crashes
		for _, a := range s.Agents {
			a.AgentSpending = supervisor.AgentSpending{CostUSD: a.CostUSD}
		}
	}
	s.Budget.Runtime.LastAt = at
}

// session records that another process plays the run from here on.
func (f *playbackFold) session(at time.Time, b contract.Session) {
	s := &f.state
	if r := &s.Budget.Runtime; r.Began.IsZero() {
		r.Begin(at)
	} else {
		r.Resume(at)
	}
	s.Ending, s.Halted = nil, false
	o := &s.Options
	o.Run, o.CWD, o.Rehearsal, o.Trusted, o.Permissions = b.Session, b.CWD, b.Rehearsal, b.Trusted, b.Permissions
	o.Sandbox, o.SandboxReason = nil, b.SandboxReason
	if b.Sandbox != unsandboxed && b.Sandbox != "" {
		present(&o.Sandbox)
	}
	claude := s.Lifecycle.Claude()
	claude.Version, claude.Path = b.ClaudeVersion, b.Claude
	s.Lifecycle.Start(claude)
}

// present sets a value that only shows that something exists.
func present[T any](p **T) { *p = new(T) }

func (f *playbackFold) agent(id string) *supervisor.Agent {
	i := slices.IndexFunc(f.state.Agents, func(a *supervisor.Agent) bool { return a.ID == id })
	if i < 0 {
		return nil
	}
	return f.state.Agents[i]
}

// status sets the state of an agent's process.
func (f *playbackFold) status(at time.Time, id string, status supervisor.AgentStatus) {
	if a := f.agent(id); a != nil && a.Status != status {
		a.Status, a.Since = status, at
	}
}

// spawned adds an agent, or another session of it.
func (f *playbackFold) spawned(at time.Time, id string, b contract.Spawn) {
	f.state.Halted = false
	a := f.agent(id)
	if a == nil {
		if len(f.state.Agents) >= maxAgents {
			return
		}
		a = &supervisor.Agent{}
		a.ID, a.Role, a.Standing = id, supervisor.RoleOrchestrator, supervisor.AgentWorking
		if id == contract.Arbiter {
			a.Role = supervisor.RoleArbiter
		}
		f.state.Agents = append(f.state.Agents, a)
	}
	a.Name, a.Mode, a.SessionID, a.Generation, a.Predecessor = b.Name, b.Mode, b.SessionID, b.Generation, b.SuccessorOf
	a.Status, a.Since, a.Dismissed = supervisor.AgentReady, at, false
}

// message updates the states of a message's parties.
func (f *playbackFold) message(b contract.Message) {
	if t := &f.state.Task; b.From == contract.Human && b.Kind == "task" && t.Text == "" {
		t.Text = b.Text
	}
	if a := f.agent(b.From); a != nil && b.To == contract.Arbiter {
		switch b.Kind {
		case "question":
			a.Standing = supervisor.AgentWaiting
		case "done":
			a.Standing = supervisor.AgentFinished
		}
	}
	if a := f.agent(b.To); a != nil && a.Role == supervisor.RoleOrchestrator && a.Standing != supervisor.HandedOff {
		a.Standing = supervisor.AgentWorking
	}
}

// turned adds what a turn has cost.
func (f *playbackFold) turned(at time.Time, id string, b contract.Turn) {
	s := &f.state
	s.Budget.Charge(b.Usage, b.CostUSD)
	if a := f.agent(id); a != nil {
		a.AgentSpending = supervisor.AgentSpending{CostUSD: a.CostUSD + b.CostUSD}
		a.Turns++
	}
	f.status(at, id, supervisor.AgentReady)
}
