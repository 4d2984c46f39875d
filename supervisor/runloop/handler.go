package runloop

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// requests are requests of agents that wait for an answer of the loop.
type requests[R any] struct{ waiting sync.Map } // by name: chan R

// answer sends r to the caller that waits under a name, if it still waits. The channel has room for it, so
// nothing blocks.
func (q *requests[R]) answer(name string, r R) {
	if ch, waits := q.waiting.LoadAndDelete(name); waits {
		ch.(chan R) <- r
	}
}

var errOver = errors.New("the run is over")

// put puts in an input from a host's bridge, and waits until the loop answers it under a name. A request that
// is withdrawn already gets no answer; otherwise it would be chance whether it gets one.
func (q *requests[R]) put(
	ctx context.Context, l *Loop, host, name string, f input.Body,
) (r R, err error) {
	if err := ctx.Err(); err != nil {
		return r, err
	}
	ch := make(chan R, 1)
	q.waiting.Store(name, ch)
	defer q.waiting.Delete(name)
	if !l.putFrom(host, f) {
		return r, errOver
	}
	select {
	case r = <-ch:
		return r, nil
	case <-ctx.Done():
		return r, ctx.Err()
	case <-l.done:
		return r, errOver
	}
}

// permission answers a request by an earlier answer or by what takes the call away, or has a human answer it.
func (l *Loop) permission(ctx context.Context, host string, p bridge.PermissionParams,
	call toolCall) (bridge.PermissionResult, error) {
	if trouble := l.outbox.trouble.Load(); trouble != nil {
		return bridge.PermissionResult{}, fmt.Errorf("what is decided cannot be recorded now: %s", *trouble)
	}
	if len(p.Input) > maxAskedInput {
		return bridge.PermissionResult{Behavior: bridge.Deny,
			Message: fmt.Sprintf("A call whose input has %s bytes cannot be shown to anybody: at most %s are asked "+
				"about. Do it in smaller pieces.",
				words.Number(len(p.Input)), words.Number(maxAskedInput))}, nil
	}
	changes := l.Snapshot().Permission.Changes
	d := l.answer(call)
	asked := input.PermissionAsked{
		Params: p, Behavior: d.Behavior, By: d.By, Rule: d.Rule, Reason: d.Reason, Action: call.key(), Changes: changes,
	}
	if d.Behavior == bridge.Ask && d.By != policy.ByRule && p.ReasonType != "rule" { // no rule answers an ask rule
		asked.Suggestions = l.suggest(p)
	}
	asked.Params.Suggestions = nil
	l.inputs.Store(p.Request, p.Input)
	defer l.inputs.Delete(p.Request)
	r, err := l.permissions.put(ctx, l, host, p.Request, asked)
	if err != nil && ctx.Err() != nil {
		l.Put(input.PermissionWithdrawn{Request: p.Request})
	}
	return r, err
}

// exact is a request's input with its secrets, while a caller waits for the answer.
func (l *Loop) exact(p bridge.PermissionParams) json.RawMessage {
	if in, ok := l.inputs.Load(p.Request); ok {
		return in.(json.RawMessage)
	}
	return p.Input
}

const (
	// maxCallInput bounds the input of a call of Arbiter's own tools, and maxAskedInput the input of a call
	// with a permission request: the journal keeps both in full.
	maxCallInput  = 1 << 20
	maxAskedInput = 8 << 20
)

// Handler serves the events and requests of a host's bridge. An event about an agent that does not run on that
// host is dropped, and reported to the human once.
func (l *Loop) Handler(host string) bridge.Handler { return hostHandler{l, host} }

type hostHandler struct {
	l    *Loop
	host string
}

// Event implements bridge.Handler.
//
// The loop ignores the output of a terminal: the client that shows it takes it before.
func (h hostHandler) Event(e bridge.Event) {
	if _, ok := e.Body.(bridge.PTY); ok {
		return
	}
	if n, ok := e.Body.(bridge.Notice); ok && n.Frame != "" { // a person can do nothing about it: doctor counts them
		h.l.log.Info("ignored an unknown frame", "agent", e.ID, "frame", sanitize.Line(n.Frame, 100))
		return
	}
	h.l.subagents.Take(e)
	switch b := e.Body.(type) {
	case bridge.Context:
		h.l.readings.Store(e.AgentRef, b)
	case bridge.Compact:
		if !b.Blocked {
			h.l.readings.Delete(e.AgentRef)
		}
	case bridge.Done:
		h.l.readings.Delete(e.AgentRef)
	}
	if h.l.Redact != nil && h.l.onAnotherHost(e.ID, h.host) == "" {
		var pass bool
		if e, pass = h.l.pieces.Event(e, h.l.Redact); !pass {
			return
		}
	}
	h.l.putFrom(h.host, input.AgentEvent{Event: e})
}

// ToolCall implements bridge.Handler: it waits for the loop's answer.
func (h hostHandler) ToolCall(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	if len(p.Input) > maxCallInput {
		return bridge.ToolCallResult{IsError: true,
			Text: fmt.Sprintf("The input has %s bytes, and at most %s are taken. Say it in fewer words; what is long "+
				"belongs into files, which you name.",
				words.Number(len(p.Input)), words.Number(maxCallInput))}, nil
	}
	call := fmt.Sprintf("call-%d", h.l.calls.Add(1))
	return h.l.tools.put(ctx, h.l, h.host, call, input.ToolCalled{Call: call, Params: p})
}

// Permission implements bridge.Handler: the rules are evaluated here, because they read the file system, and
// the loop decides by their result.
func (h hostHandler) Permission(ctx context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	return h.l.permission(ctx, h.host, p, toolCall{agent: p.ID, tool: p.Tool, input: p.Input, cwd: p.CWD})
}

// Judge implements bridge.Handler: every tool call is checked against the run's state, the role, the mode and
// the rules before the CLI decides. It never waits for a human. Its decision is first handed to the loop, which
// records it; if the journal accepts nothing, the call is denied.
func (h hostHandler) Judge(ctx context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	if why := h.l.onAnotherHost(p.ID, h.host); why != "" {
		h.l.putFrom(h.host, input.CallDecided{Params: p, Behavior: bridge.Deny, Reason: why}) // this input reports the denial
		return bridge.JudgeResult{Behavior: bridge.Deny, Message: input.Denial(why)}, nil
	}
	return h.l.judge(ctx, p)
}

// onAnotherHost asks the present state whether an agent runs on another host.
func (l *Loop) onAnotherHost(agent, host string) string {
	return l.state.Load().OnAnotherHost(agent, host)
}

// unknown drops an input from an agent that this run does not have: it is not recorded and changes nothing.
// A caller that waits for an answer is refused.
func (l *Loop) unknown(in input.Input) bool {
	f := in.Body
	why, named := l.state.Load().UnknownSender(f, in.From.Host)
	if why == "" {
		return false
	}
	ref, _ := input.SourceAgent(f)
	l.log.Warn("input from an unknown agent is dropped", "type", f.InputName(), "agent", ref.ID, "generation",
		ref.Generation, "why", why)
	switch f := f.(type) {
	case input.ToolCalled:
		l.tools.answer(f.Call, bridge.ToolCallResult{Text: "You are not known here.", IsError: true})
	case input.PermissionAsked:
		l.permissions.answer(f.Params.Request,
			bridge.PermissionResult{Behavior: bridge.Deny, Message: "Denied: you are not known here."})
	}
	if key := ref.String(); named && !l.unknowns[key] && len(l.unknowns) < maxUnknowns {
		if l.unknowns == nil {
			l.unknowns = map[string]bool{}
		}
		l.unknowns[key] = true
		l.report(contract.Supervisor, contract.Error{
			Category: bridge.CatProtocol,
			Message: fmt.Sprintf("an input that claims to be from %.100q, generation %d, was dropped: %s", ref.ID,
				ref.Generation, why),
			RecoveryOptions: []string{},
		})
	}
	return true
}

// maxUnknowns is how many unknown agents are reported to the human.
const maxUnknowns = 20
