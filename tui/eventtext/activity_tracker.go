package eventtext

// This part of the package records what each agent does, from the events of a run: its last texts, the calls
// that run and those that have ended, its subagents, and its last sign of life.
//
// One goroutine feeds a [Tracker] and another reads it. It keeps the last few items of each agent and
// bounds each of them, so that it costs the same after ten events and after ten million. All texts that it
// returns are fit for a screen.

import (
	"slices"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Bounds of what is kept.
const (
	keptItems     = 48   // of an agent: more than any window shows
	keptSubagents = 32   // of an agent
	keptAgents    = 4096 // of a run
)

// AgentActivity is what one agent does.
type AgentActivity struct {
	Items     []ActivityItem     // the last of them, oldest first
	Subagents []SubagentActivity // those of the current turn, in the order of their start
	Seen      time.Time          // its last sign of life
}

// Tracker records what all agents do. One goroutine adds, any may read. The zero Tracker is ready to use.
type Tracker struct {
	mu     sync.Mutex
	agents map[string]*AgentActivity
	models []contract.ModelCost // of all agents, by model
}

// maxModels bounds the models whose costs are kept.
const maxModels = 40

// Models returns what each model has cost so far, and the window that Claude Code reported for it.
func (t *Tracker) Models() []contract.ModelCost {
	t.mu.Lock()
	defer t.mu.Unlock()
	return slices.Clone(t.models)
}

// spent adds up what models have cost.
func (t *Tracker) spent(list []contract.ModelCost) {
	for _, m := range list {
		i := slices.IndexFunc(t.models, func(x contract.ModelCost) bool { return x.Model == m.Model })
		switch {
		case i >= 0:
			t.models[i].CostUSD += m.CostUSD
			t.models[i].Window = max(t.models[i].Window, m.Window)
		case len(t.models) < maxModels:
			t.models = append(t.models, contract.ModelCost{Model: m.Model, CostUSD: m.CostUSD, Window: m.Window})
		}
	}
}

// Agent returns what an agent does. The result is not changed afterwards.
func (t *Tracker) Agent(id string) AgentActivity {
	t.mu.Lock()
	defer t.mu.Unlock()
	a := t.agents[id]
	if a == nil {
		return AgentActivity{}
	}
	items := a.Items[max(len(a.Items)-keptItems, 0):]
	return AgentActivity{Items: slices.Clone(items), Subagents: slices.Clone(a.Subagents), Seen: a.Seen}
}

// Forget removes everything that is recorded.
func (t *Tracker) Forget() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.agents, t.models = nil, nil
}

// Add records an event.
func (t *Tracker) Add(at time.Time, e contract.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if turn, ok := e.Body.(contract.Turn); ok {
		t.spent(turn.Models)
	}
	if _, ok := e.Body.(contract.Session); ok { // events of another process follow
		for _, a := range t.agents {
			a.ended(at)
		}
		return
	}
	if e.ID == contract.Human || e.ID == contract.Supervisor {
		return
	}
	a := t.agents[e.ID]
	if a == nil {
		if len(t.agents) >= keptAgents {
			return
		}
		if t.agents == nil {
			t.agents = map[string]*AgentActivity{}
		}
		a = &AgentActivity{}
		t.agents[e.ID] = a
	}
	a.add(at, e.Body)
}

// add records an event of the agent.
func (a *AgentActivity) add(at time.Time, body contract.Body) {
	switch b := body.(type) {
	case contract.Assistant:
		if i, ok := proseItem(at, b.Text); ok && b.Subagent == "" {
			a.keep(i)
		}
	case contract.Message: // sent by the agent: others have another id
		if b.From != contract.Human && b.From != contract.Supervisor {
			a.keep(sent(at, b))
		}
	case contract.Decision:
		if i, ok := proseItem(at, words.FirstLine(b.Reason)); ok {
			a.keep(i)
		}
	case contract.ToolUse:
		if s := a.subagent(b.Subagent); s != nil {
			s.calls(called(at, b))
		} else if b.Subagent == "" {
			a.keep(called(at, b))
		}
	case contract.ToolResult:
		a.answered(at, b)
	case contract.SubagentStart:
		a.started(at, b)
	case contract.SubagentProgress:
		if s := a.subagent(b.ToolUse); s != nil {
			s.progressed(b)
		}
	case contract.SubagentStop:
		if s := a.subagent(b.ToolUse); s != nil {
			s.stopped(at, b)
		}
	case contract.Turn:
		a.cut(at)
	case contract.Done, contract.Spawn, contract.Restart:
		a.ended(at)
	case contract.Delta, contract.Context, contract.Cost, contract.ToolCall, contract.Retry, contract.Delivered:
	default:
		return // about the agent, not from it
	}
	a.Seen = at
}

// keep adds an item. Old items are removed in batches: moving the others costs more than keeping them.
func (a *AgentActivity) keep(i ActivityItem) {
	if len(a.Items) == 2*keptItems {
		a.Items = append(make([]ActivityItem, 0, 2*keptItems), a.Items[keptItems:]...)
	}
	a.Items = append(a.Items, i)
}

// answered records the end of a call.
func (a *AgentActivity) answered(at time.Time, b contract.ToolResult) {
	if s := a.subagent(b.Subagent); s != nil {
		s.Doing = ActivityItem{}
		return
	}
	for i := len(a.Items) - 1; i >= 0; i-- {
		if item := &a.Items[i]; item.Runs() && item.Use == b.ToolUse {
			item.Until, item.Failed, item.Result = at, b.IsError, lastLines(b.Text)
			if item.Failed {
				item.Added, item.Removed = 0, 0
			}
			return
		}
	}
}

// cut ends the calls that a turn leaves without a result.
func (a *AgentActivity) cut(at time.Time) {
	for i := range a.Items {
		if item := &a.Items[i]; item.Runs() {
			item.Until, item.Cut = at, true
		}
	}
	a.Subagents = slices.DeleteFunc(a.Subagents, func(s SubagentActivity) bool { return !s.Ended.IsZero() })
}

// ended records that the agent's process, and all that it ran, has ended.
func (a *AgentActivity) ended(at time.Time) {
	a.cut(at)
	a.Subagents = nil
}
