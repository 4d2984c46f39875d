package contract

import (
	"reflect"

	"github.com/arbiter-cli/arbiter/bridge"
)

// trait says how a frontend treats an event that needs special treatment.
type trait uint8

const (
	// narrates: the event only reports what an agent is doing, and may be left out if a reader is too slow.
	// An event on which a script or a human acts may not.
	narrates trait = 1 << iota
	fine           // too detailed for prose: lines and files leave it out
	urgent         // something waits for a human to learn of it, or it is the last event
	talk           // part of the conversation between the human and the run
	aside          // in no agent's own stream, even if it is about an agent
)

var traits = func() map[reflect.Type]trait {
	all := make(map[reflect.Type]trait, len(events))
	for _, e := range events {
		all[reflect.TypeOf(e.body)] = e.traits
	}
	return all
}()

// Narrates reports whether an event may be left out for a slow reader.
func Narrates(b Body) bool { return traits[reflect.TypeOf(b)]&narrates != 0 }

// Fine reports whether an event is too detailed for prose.
func Fine(b Body) bool { return traits[reflect.TypeOf(b)]&fine != 0 }

// Urgent reports whether a human should learn of an event before others, and in any case.
func Urgent(b Body) bool { return traits[reflect.TypeOf(b)]&urgent != 0 }

// Talk reports whether an event is usually part of the conversation. A frontend may also show others in it
// in some cases.
func Talk(b Body) bool { return traits[reflect.TypeOf(b)]&talk != 0 }

// Aside reports whether an event is in no agent's own stream.
func Aside(b Body) bool { return traits[reflect.TypeOf(b)]&aside != 0 }

// Events returns an empty body of each event.
func Events() []Body {
	bodies := make([]Body, len(events))
	for i, e := range events {
		bodies[i] = e.body
	}
	return bodies
}

// EventNames returns the names of all events.
func EventNames() []string {
	names := make([]string, len(events))
	for i, e := range events {
		names[i] = e.body.EventName()
	}
	return names
}

// Relayed returns the event that frontends receive for an event of the bridge; nil: the event is not relayed.
func Relayed(body bridge.EventBody) Body {
	switch b := body.(type) {
	case bridge.Assistant:
		return Assistant{Text: b.Text, ContextPct: b.ContextPct, Subagent: b.Subagent}
	case bridge.Delta:
		return Delta(b)
	case bridge.ToolUse:
		return ToolUse(b)
	case bridge.ToolResult:
		return ToolResult(b)
	case bridge.ToolRan:
		return Notice{Text: "A hook of the settings changed a call of " + b.Tool + " before it ran. It ran with: " +
			string(b.Input)}
	case bridge.SubagentStart:
		return SubagentStart(b)
	case bridge.SubagentStop:
		return SubagentStop(b)
	case bridge.SubagentProgress:
		return SubagentProgress(b)
	case bridge.Context:
		return Context(b)
	case bridge.Compact:
		return Compact(b)
	case bridge.Retry:
		return Retry{Attempt: b.Attempt, DelayMS: b.DelayMS, Reason: b.Reason}
	case bridge.Error:
		return Error{Category: b.Category, Message: b.Message, RecoveryOptions: []string{}}
	case bridge.Notice:
		return Notice{Text: b.Text}
	}
	return nil
}
