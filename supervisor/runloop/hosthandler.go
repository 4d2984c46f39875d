package runloop

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/words"
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
	if h.l.redact != nil && h.l.onAnotherHost(e.ID, h.host) == "" {
		var pass bool
		if e, pass = h.l.pieces.Event(e, h.l.redact); !pass {
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
	return h.l.permission(ctx, h.host, p, askedCall(p, p.Input))
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

// Event and the other handler methods of Loop serve the bridge of this host.
func (l *Loop) Event(e bridge.Event) { l.Handler(supervisor.LifecycleHere).Event(e) }

func (l *Loop) ToolCall(ctx context.Context, p bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	return l.Handler(supervisor.LifecycleHere).ToolCall(ctx, p)
}

func (l *Loop) Permission(ctx context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	return l.Handler(supervisor.LifecycleHere).Permission(ctx, p)
}

func (l *Loop) Judge(ctx context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	return l.Handler(supervisor.LifecycleHere).Judge(ctx, p)
}

// onAnotherHost asks the present state whether an agent runs on another host.
func (l *Loop) onAnotherHost(agent, host string) string {
	return l.state.Load().OnAnotherHost(agent, host)
}
