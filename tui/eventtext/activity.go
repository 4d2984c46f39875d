package eventtext

// This part of the package records what each agent does, from the events of a run: its last texts, the calls
// that run and those that have ended, its subagents, and its last sign of life.
//
// One goroutine feeds a [Tracker] and another reads it. It keeps the last few items of each agent and
// bounds each of them, so that it costs the same after ten events and after ten million. All texts that it
// returns are fit for a screen.

import (
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// ActivityItem is something that an agent said or did.
type ActivityItem struct {
	At    time.Time
	Until time.Time // when a call ended; zero: it runs, or the item is not a call

	Text string // what was said; empty: the item is a call

	Use            string // id of the call
	Tool           string // its name, as it is shown
	Summary        string // what it is about, on one line
	Result         string // the last lines of its result
	Failed         bool
	Cut            bool // it ended without an answer
	Added, Removed int  // lines of a file that an edit added and removed
}

// Call reports whether the item is a call of a tool.
func (i ActivityItem) Call() bool { return i.Tool != "" }

// Runs reports whether the item is a call that has not ended.
func (i ActivityItem) Runs() bool { return i.Call() && i.Until.IsZero() }

// Bounds of texts that may have any length.
const (
	keptText   = 2 << 10 // bytes of what was said: its end
	keptResult = 3       // lines of an answer: its last
	keptLine   = 300     // runes of a line
	lookedAt   = 4 << 10 // bytes at the end of a result in which its last lines are searched
)

// proseItem makes an item of prose, of which it keeps the end.
func proseItem(at time.Time, text string) (ActivityItem, bool) {
	text = strings.TrimSpace(sanitize.Text(tail(text, keptText)))
	return ActivityItem{At: at, Text: Plain(text)}, text != ""
}

// marks are the Markdown marks that disturb in a text that is not laid out.
var marks = strings.NewReplacer("```", "", "**", "", "`", "")

// Plain returns a copy of a text without them.
func Plain(text string) string { return strings.Clone(marks.Replace(text)) }

// sent makes an item of a message: its recipient and its beginning. The conversation shows all of it.
func sent(at time.Time, b contract.Message) ActivityItem {
	text := One(words.FirstLine(strings.TrimSpace(b.Text)), keptLine)
	return ActivityItem{At: at, Text: "To " + amid(Name(b.To)) + ": " + Plain(text)}
}

func called(at time.Time, b contract.ToolUse) ActivityItem {
	i := ActivityItem{At: at, Use: b.ToolUse, Tool: FirstOf(ToolName(b.Tool), "a tool"), Summary: Summary(b.Tool, b.Input)}
	i.Added, i.Removed = EditedLines(b.Tool, b.Input)
	return i
}

// tail returns the end of a text: whole lines if they are short enough, so that no control sequence is cut
// in two and shown as text.
func tail(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = words.Tail(text, most)
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
		return text[i+1:]
	}
	return text
}

// lastLines returns the last lines of a result that are not blank, separated by newlines.
func lastLines(text string) string {
	text = tail(text, lookedAt)
	var lines []string
	for len(lines) < keptResult && text != "" {
		i := strings.LastIndexByte(text, '\n')
		if line := strings.TrimSpace(sanitize.Line(text[i+1:], keptLine)); line != "" {
			lines = append(lines, line)
		}
		text = text[:max(i, 0)]
	}
	slices.Reverse(lines)
	return strings.Join(lines, "\n")
}

// SubagentActivity is a subagent of an agent.
type SubagentActivity struct {
	ID     string // of the call that started it
	Name   string // what it was started for
	Began  time.Time
	Ended  time.Time // zero: it is working
	Failed bool
	Tokens int          // of its own context
	Doing  ActivityItem // the running call; without a tool: there is none
}

// Works reports whether the subagent has not ended.
func (s SubagentActivity) Works() bool { return s.Ended.IsZero() }

// subagent returns the subagent that a call started, or nil.
func (a *AgentActivity) subagent(id string) *SubagentActivity {
	i := slices.IndexFunc(a.Subagents, func(s SubagentActivity) bool { return id != "" && s.ID == id })
	if i < 0 {
		return nil
	}
	return &a.Subagents[i]
}

// started adds a subagent: to those that work, or as the first of a new group. If there are too many, the
// oldest one that has ended is removed.
func (a *AgentActivity) started(at time.Time, b contract.SubagentStart) {
	if b.ToolUse == "" || a.subagent(b.ToolUse) != nil {
		return
	}
	if a.Working() == 0 {
		a.Subagents = nil // another group begins
	}
	if len(a.Subagents) >= keptSubagents {
		drop := max(slices.IndexFunc(a.Subagents, func(s SubagentActivity) bool { return !s.Works() }), 0)
		a.Subagents = slices.Delete(a.Subagents, drop, drop+1)
	}
	a.Subagents = append(a.Subagents, SubagentActivity{
		ID:   b.ToolUse,
		Name: strings.Clone(FirstOf(One(b.Description, MaxSummary), "a subagent")), Began: at,
	})
}

// Working counts the subagents that have not ended.
func (a AgentActivity) Working() int {
	n := 0
	for _, s := range a.Subagents {
		if s.Works() {
			n++
		}
	}
	return n
}

// Running returns the running call that was started last, ignoring those that started a subagent; without a
// tool: there is none.
func (a AgentActivity) Running() ActivityItem {
	for _, item := range slices.Backward(a.Items) {
		if item.Runs() && a.subagent(item.Use) == nil {
			return item
		}
	}
	return ActivityItem{}
}

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
	return AgentActivity{Items: slices.Clone(a.Items), Subagents: slices.Clone(a.Subagents), Seen: a.Seen}
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
	switch e.Body.(type) {
	case contract.Session, contract.Result: // events of another process follow, or none
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
			s.Doing = called(at, b)
		} else if b.Subagent == "" {
			a.keep(called(at, b))
		}
	case contract.ToolResult:
		a.answered(at, b)
	case contract.SubagentStart:
		a.started(at, b)
	case contract.SubagentProgress:
		if s := a.subagent(b.ToolUse); s != nil {
			s.Tokens = max(b.Tokens, 0)
		}
	case contract.SubagentStop:
		if s := a.subagent(b.ToolUse); s != nil {
			_, s.Failed = SubagentEnd(b)
			s.Ended, s.Doing = at, ActivityItem{}
			if b.Tokens > 0 {
				s.Tokens = b.Tokens
			}
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

func (a *AgentActivity) keep(i ActivityItem) {
	if len(a.Items) == keptItems {
		a.Items = slices.Delete(a.Items, 0, 1)
	}
	a.Items = append(a.Items, i)
}

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

func (a *AgentActivity) cut(at time.Time) {
	for i := range a.Items {
		if item := &a.Items[i]; item.Runs() {
			item.Until, item.Cut = at, true
		}
	}
	a.Subagents = slices.DeleteFunc(a.Subagents, func(s SubagentActivity) bool { return !s.Works() })
}

// ended records that the agent's process, and all that it ran, has ended.
func (a *AgentActivity) ended(at time.Time) {
	a.cut(at)
	a.Subagents = nil
}
