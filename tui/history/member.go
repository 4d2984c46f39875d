package history

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// hiddenRetries is how many retries of the API are not shown.
const hiddenRetries = 3

// inTalk reports whether an event is part of the conversation.
func inTalk(e contract.Event) bool {
	switch b := e.Body.(type) {
	case contract.Message:
		return b.From != contract.Supervisor || b.Kind != "continue" // to an agent that reported
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

// class is a kind of activity that begins with one event and ends with another.
type class uint8

const (
	toolCalls class = iota
	subagents
	requests
	messages
	questions // to the human
)

// key identifies something open.
type key struct {
	class class
	agent string
	id    string
}

// maxID bounds the ids that are remembered.
const maxID = 256

func (k key) known() bool { return k.id != "" && len(k.id) <= maxID && len(k.agent) <= maxID }

func opens(e contract.Event) (key, bool) {
	var k key
	switch b := e.Body.(type) {
	case contract.ToolUse:
		k = key{toolCalls, e.ID, b.ToolUse}
	case contract.SubagentStart:
		k = key{subagents, e.ID, subagentID(b.ToolUse, b.Description)}
	case contract.PermissionRequest:
		k = key{class: requests, id: b.Request}
	case contract.Message:
		if b.To != contract.Human { // it is not known what a human has read
			k = key{class: messages, id: b.MessageID}
		}
	case contract.Question:
		k = key{class: questions, id: b.Question}
	}
	return k, k.known()
}

func closes(e contract.Event) (key, bool) {
	var k key
	switch b := e.Body.(type) {
	case contract.ToolResult:
		k = key{toolCalls, e.ID, b.ToolUse}
	case contract.SubagentStop:
		k = key{subagents, e.ID, subagentID(b.ToolUse, b.Description)}
	case contract.Permission:
		k = key{class: requests, id: b.Request}
	case contract.Delivered:
		k = key{class: messages, id: b.MessageID}
	case contract.Withdrawn:
		k = key{class: messages, id: b.MessageID}
	case contract.Settled:
		k = key{class: questions, id: b.Item}
	}
	return k, k.known()
}

// subagentID identifies a subagent whose call is unknown by its description.
func subagentID(call, description string) string {
	if call == "" {
		return "\x00" + description
	}
	return call
}
