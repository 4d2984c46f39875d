package history

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// hiddenRetries is how many retries of the API are not shown.
const hiddenRetries = 3

// continues is the kind of the supervisor's message to an agent that reported and continues.
const continues = "continue"

// Kinds of messages to the Arbiter that answer what it asked.
const (
	answer = "answer"
	task   = "task"
)

// inTalk reports whether an event is part of the conversation.
func inTalk(e contract.Event) bool {
	switch b := e.Body.(type) {
	case contract.Message:
		return b.From != contract.Supervisor || b.Kind != continues
	case contract.Spawn:
		return !b.Resumed // the same agent; why it came back was reported
	case contract.Retry:
		return b.Attempt >= hiddenRetries
	case contract.Done:
		return e.ID != contract.Arbiter
	}
	return contract.Talk(e.Body)
}

// inStream reports whether an event is part of the streams of the agents it concerns. A tool's result is,
// if its call is unknown.
func inStream(e contract.Event) bool {
	if b, ok := e.Body.(contract.Permission); ok {
		return b.Behavior != "allow" // a rule allowed it without asking; the call is shown already
	}
	return !contract.Aside(e.Body)
}

// parties returns the ids that an event is about, the one it names first at the beginning.
func parties(e contract.Event) []string {
	all := []string{e.ID}
	add := func(id string) {
		if id != "" && !slices.Contains(all, id) {
			all = append(all, id)
		}
	}
	switch b := e.Body.(type) {
	case contract.Message:
		add(b.From)
		add(b.To)
	case contract.Handoff:
		add(b.From)
		add(b.To)
	case contract.Decision:
		add(b.To)
	}
	return all
}

// agentic reports whether an id may be an agent's.
func agentic(id string) bool { return id != "" && id != contract.Human && id != contract.Supervisor }
