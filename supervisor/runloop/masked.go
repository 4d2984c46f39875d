package runloop

import (
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/mask"
)

// Redact sets what masks secrets in what agents, tools and processes tell. It is applied
// before an input gets into the loop, so that neither the journal nor a frontend nor another
// agent ever has them, and after the rules have decided on the exact input, which the
// input then names by its hash. What the human says is kept as he typed it: it has to be
// delivered. It must be safe for concurrent use, and be called before [Loop.Run].
func (l *Loop) Redact(f func(string) string) { l.redact = f }

// masked is f without secrets.
func (l *Loop) masked(f input.Body) input.Body {
	switch f.(type) {
	// the human's own, or ours
	case input.Command, input.Began, input.Resumed, input.InputEnded, input.Signal, input.Timer, input.WokeFromSleep,
		input.DaySpent:
		return f // they may come before the loop is furnished
	}
	if l.redact == nil {
		return f
	}
	switch f := f.(type) {
	case input.NoBridge:
		options := f.Options
		f = mask.In(f, l.redact)
		f.Options = options
		return f
	case input.Decided: // its input is made of what was masked, and of the human's task
		input := f.Input
		f = mask.In(f, l.redact)
		f.Input = input
		return f
	case input.PermissionAsked:
		ref, request, action, rules := f.Params.AgentRef, f.Params.Request, f.Action, f.Suggestions
		f = mask.In(f, l.redact)
		f.Params.AgentRef, f.Params.Request, f.Action = ref, request, action // who waits is found by it
		f.Suggestions = nil
		for _, rule := range rules {
			if l.redact(rule) == rule { // with a mark in it, it would be another rule
				f.Suggestions = append(f.Suggestions, rule)
			}
		}
		return f
	case input.Reconsidered:
		settled := f.Settled
		f = mask.In(f, l.redact)
		for i, of := range settled {
			f.Settled[i].Request, f.Settled[i].Asked = of.Request, of.Asked // who waits is found by them
		}
		return f
	case input.ToolCalled:
		ref, call := f.Params.AgentRef, f.Call
		f.Params = mask.In(f.Params, l.redact)
		f.Params.AgentRef, f.Call = ref, call
		return f
	case input.AgentEvent:
		ref := f.Event.AgentRef
		f.Event = mask.In(f.Event, l.redact)
		f.Event.AgentRef = ref
		return f
	}
	return mask.In(f, l.redact)
}

func (l *Loop) maskedText(s string) string {
	if l.redact == nil {
		return s
	}
	return l.redact(s)
}
