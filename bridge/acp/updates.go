package acp

import (
	"context"
	"fmt"
	"slices"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// SessionUpdate implements sdk.Client. It is called for one update after the other, see [stdout].
func (a *agent) SessionUpdate(_ context.Context, n sdk.SessionNotification) error {
	a.mu.Lock()
	defer a.tell()
	u := n.Update
	if a.loading != nil {
		a.loading.add(u, a.tools.names, a.traits.toolMeta)
	}
	switch {
	case u.CurrentModeUpdate != nil:
		a.heedMode(string(u.CurrentModeUpdate.CurrentModeId))
	case u.ConfigOptionUpdate != nil:
		for _, o := range u.ConfigOptionUpdate.ConfigOptions {
			if o.Select != nil && o.Select.Id == "mode" {
				a.heedMode(string(o.Select.CurrentValue))
			}
		}
	case u.UsageUpdate != nil:
		a.measure(u.UsageUpdate)
	case a.loading != nil || a.turn == nil:
		// a replay, or what follows a turn
	case u.AgentMessageChunk != nil && u.AgentMessageChunk.Content.Text != nil:
		text := u.AgentMessageChunk.Content.Text.Text
		if a.turn.text.Len()+len(text) > bridge.MaxTurnText {
			a.flushText()
		}
		a.turn.text.WriteString(text)
		if a.Config.Partial {
			a.say(bridge.Delta{Text: text})
		}
	case u.ToolCall != nil:
		a.flushText()
		c := a.callOf(string(u.ToolCall.ToolCallId))
		c.learn(updateOf(u.ToolCall), a.traits.toolMeta)
		a.follow(c)
	case u.ToolCallUpdate != nil:
		c := a.callOf(string(u.ToolCallUpdate.ToolCallId))
		c.learn(*u.ToolCallUpdate, a.traits.toolMeta)
		a.follow(c)
	case u.Plan != nil:
		tasks := bridge.Tasks{}
		for _, e := range u.Plan.Entries {
			tasks.Items = append(tasks.Items, bridge.Task{Text: e.Content, Status: string(e.Status)})
		}
		a.say(tasks)
	}
	return nil
}

// updateOf returns the first notice of a call in the form of the further ones.
func updateOf(t *sdk.SessionUpdateToolCall) sdk.SessionToolCallUpdate {
	return sdk.SessionToolCallUpdate{Meta: t.Meta, Content: t.Content, Kind: &t.Kind, Locations: t.Locations,
		RawInput: t.RawInput, RawOutput: t.RawOutput, Status: &t.Status, Title: &t.Title}
}

// The functions below are called with the lock held.

// callOf returns the call of the running turn with an id, which may be new. Outside of a turn nothing is kept of it.
func (a *agent) callOf(id string) *call {
	if a.turn == nil {
		return &call{id: id}
	}
	c := a.turn.calls[id]
	if c == nil {
		c = &call{id: id, known: make(chan struct{})}
		a.turn.calls[id] = c
	}
	return c
}

// report emits the beginning of a call, once.
func (a *agent) report(c *call) {
	tool, input := c.claude(a.tools.names)
	if c.reported || a.turn == nil || tool == verdictTool {
		return
	}
	a.flushText()
	c.reported = true
	if c.own(a.tools.names) == "" {
		a.turn.tools++
	}
	a.turn.failed = nil
	a.say(bridge.ToolUse{Tool: tool, Input: input, ToolUse: c.id})
}

// follow emits what is new about a call. A call is reported when its input is known, or it has begun or is over.
func (a *agent) follow(c *call) {
	if c.over {
		return
	}
	over := c.status == sdk.ToolCallStatusCompleted || c.status == sdk.ToolCallStatusFailed
	if over || c.knowsInput() && c.status == sdk.ToolCallStatusInProgress {
		a.report(c)
	}
	if !over || a.turn == nil {
		return
	}
	c.over = true
	defer func() { c.input, c.content, c.output, c.terminal = nil, nil, nil, "" }() // a turn may have thousands of calls
	if !c.reported {
		return // the verdict
	}
	failed := c.status == sdk.ToolCallStatusFailed
	a.say(bridge.ToolResult{ToolUse: c.id, Text: jsonl.Cut(c.text(), bridge.ToolResultCap), IsError: failed})
	if failed {
		a.turn.failed = c.failed(a.tools.names)
	} else if c.kind == sdk.ToolKindEdit {
		for _, path := range c.files() {
			if !slices.Contains(a.turn.files, path) && len(a.turn.files) < bridge.TurnFiles {
				a.turn.files = append(a.turn.files, path)
			}
		}
	}
}

// flushText emits the text so far, as one answer.
func (a *agent) flushText() {
	text := strings.TrimSpace(a.turn.text.String())
	a.turn.text.Reset()
	if text == "" {
		return
	}
	a.turn.last = jsonl.Cut(text, bridge.MaxTurnText)
	a.say(bridge.Assistant{Text: text, ContextPct: a.context.Pct})
}

// measure takes in what the make says about its context and its costs.
func (a *agent) measure(u *sdk.SessionUsageUpdate) {
	if u.Cost != nil && strings.EqualFold(u.Cost.Currency, "USD") && u.Cost.Amount > 0 {
		if !a.costs.begun && a.resumed {
			a.costs.counted = u.Cost.Amount // what came before this process is not known
		}
		a.costs.begun, a.costs.total = true, u.Cost.Amount
		if a.turn != nil {
			a.say(bridge.Spent{CostUSD: max(a.costs.total-a.costs.counted, 0)})
		}
	}
	window := u.Size
	if limit := a.Config.ContextCap; limit > 0 && limit < window {
		window = limit
	}
	if window <= 0 || u.Used <= 0 {
		return
	}
	a.context = bridge.ContextResult{Tokens: u.Used, Window: window, Pct: 100 * float64(u.Used) / float64(window)}
	a.say(bridge.Context{Tokens: u.Used, Window: window, Pct: a.context.Pct, Source: "stream"})
}

// heedMode sets the mode back if it is another one: a model might approve in it, or nobody.
func (a *agent) heedMode(mode string) {
	want := a.traits.mode
	if want == "" || mode == want || a.loading != nil || a.down {
		return
	}
	a.work.Go(func() { // a request cannot be made from within an update
		if err := a.setMode(a.Ctx); err != nil {
			if a.Ctx.Err() == nil {
				a.Emit(bridge.Error{Category: bridge.CatProtocol, Message: fmt.Sprintf("%v; it is ended", err)})
				a.breakOff()
			}
			return
		}
		a.mu.Lock()
		defer a.tell()
		a.notice("mode "+mode, fmt.Sprintf("it went into mode %.40q, which nobody asked for; it was set back to %s", mode,
			want))
	})
}

// replay is the history of a session that is loaded: what it says about messages whose turn has no known end.
type replay struct {
	calls map[string]*call
	acts  []act
}

// act is something in the history: a text of the user, or what the model did.
type act struct {
	user    string
	verdict []byte
}

func (r *replay) add(u sdk.SessionUpdate, names map[string]bool, toolMeta string) {
	switch {
	case u.UserMessageChunk != nil && u.UserMessageChunk.Content.Text != nil:
		r.acts = append(r.acts, act{user: u.UserMessageChunk.Content.Text.Text})
	case u.AgentMessageChunk != nil:
		r.acts = append(r.acts, act{})
	case u.ToolCall != nil:
		c := &call{id: string(u.ToolCall.ToolCallId)}
		r.calls[c.id] = c
		c.learn(updateOf(u.ToolCall), toolMeta)
		r.tool(c, names)
	case u.ToolCallUpdate != nil:
		if c := r.calls[string(u.ToolCallUpdate.ToolCallId)]; c != nil {
			c.learn(*u.ToolCallUpdate, toolMeta)
			r.tool(c, names)
		}
	}
}

func (r *replay) tool(c *call, names map[string]bool) {
	x := act{}
	if c.own(names) == verdictTool && c.status == sdk.ToolCallStatusCompleted {
		x.verdict = encode(c.input)
	}
	r.acts = append(r.acts, x)
}

// delivery says what became of a message, by its mark.
func (r *replay) delivery(id string) bridge.DeliveryStatus {
	d := bridge.DeliveryStatus{MessageID: id, Status: bridge.DeliveryAbsent}
	for _, x := range r.acts {
		switch {
		case strings.Contains(x.user, markOf(id)):
			d.Status = bridge.DeliverySeen
		case d.Status == bridge.DeliveryAbsent:
		case strings.Contains(x.user, markPrefix):
			return d // the next message
		case x.user != "":
		case len(x.verdict) > 0:
			d.Status, d.Verdict = bridge.DeliveryRuled, x.verdict
		case d.Status != bridge.DeliveryRuled:
			d.Status = bridge.DeliveryBegun
		}
	}
	return d
}

// markPrefix begins the mark of a message, in a block of its own: the history of a session shows by it which messages
// the session has received.
const markPrefix = "[arbiter message "

func markOf(id string) string { return markPrefix + id + "]" }
