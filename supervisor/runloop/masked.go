package runloop

import (
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// Redact sets the function that masks secrets in the output of agents, tools and processes. It is applied
// before an input gets into the loop, so that neither the journal nor a frontend nor another agent ever gets
// them, and after the rules have decided on the exact input, which the recorded input then identifies by its
// hash. Text of the human is kept as typed: it has to be delivered. The function must be safe for concurrent
// use. Call Redact before [Loop.Run].
func (l *Loop) Redact(f func(string) string) { l.redact = f }

// masked returns f without secrets.
func (l *Loop) masked(f input.Body) input.Body {
	switch f.(type) {
	// the human's own, or ours
	case input.Command, input.Began, input.Resumed, input.InputEnded, input.Signal, input.Timer, input.WokeFromSleep,
		input.DaySpent:
		return f // they may come before the loop is set up
	}
	if l.redact == nil {
		return f
	}
	switch f := f.(type) {
	case input.NoBridge:
		options := f.Options
		f = MaskIn(f, l.redact)
		f.Options = options
		return f
	case input.Decided: // its input consists of masked text, and of the human's task
		input := f.Input
		f = MaskIn(f, l.redact)
		f.Input = input
		return f
	case input.PermissionAsked:
		ref, request, action, rules := f.Params.AgentRef, f.Params.Request, f.Action, f.Suggestions
		f = MaskIn(f, l.redact)
		f.Params.AgentRef, f.Params.Request, f.Action = ref, request, action // the waiting caller is found by it
		f.Suggestions = nil
		for _, rule := range rules {
			if l.redact(rule) == rule { // with a mask in it, it would be another rule
				f.Suggestions = append(f.Suggestions, rule)
			}
		}
		return f
	case input.Reconsidered:
		unmasked := f.Resolutions
		f = MaskIn(f, l.redact)
		for i, of := range unmasked { // the waiting callers are found by these ids
			f.Resolutions[i].Request, f.Resolutions[i].Asked = of.Request, of.Asked
		}
		return f
	case input.ToolCalled:
		ref, call := f.Params.AgentRef, f.Call
		f.Params = MaskIn(f.Params, l.redact)
		f.Params.AgentRef, f.Call = ref, call
		return f
	case input.AgentEvent:
		ref := f.Event.AgentRef
		f.Event = MaskIn(f.Event, l.redact)
		f.Event.AgentRef = ref
		return f
	}
	return MaskIn(f, l.redact)
}

func (l *Loop) maskedText(s string) string {
	if l.redact == nil {
		return s
	}
	return l.redact(s)
}
