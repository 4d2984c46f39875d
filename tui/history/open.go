package history

import (
	"container/list"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// class is a kind of activity that begins with one event and ends with another.
type class uint8

const (
	toolCalls class = iota
	subagents
	requests
	messages
	questions // of the Arbiter to the human: one at a time, and asked again by another process
	classes
)

// key identifies something open.
type key struct {
	class class
	agent string
	id    string
}

// maxID bounds the ids that are remembered.
const maxID = 256

// maxOpen bounds the open activities of each class. One that is dropped has no outcome.
const maxOpen = 4096

func (k key) known() bool { return k.id != "" && len(k.id) <= maxID && len(k.agent) <= maxID }

// opens returns the key of what an event begins.
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
		k = theQuestion
	}
	return k, k.known()
}

// theQuestion is the key of the question to the human.
var theQuestion = key{class: questions, id: "question"}

// closes returns the key of what an event ends.
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
	case contract.Message:
		if b.To == contract.Arbiter && (b.Kind == answer || b.Kind == task) {
			k = theQuestion
		}
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

// pending is an open activity: the entries that wait for the same outcome. There are several if a question
// is asked again after the run was resumed.
type pending struct {
	key     key
	entries []int
}

// maxWaiting bounds the entries that wait for the same outcome.
const maxWaiting = 8

// openSet holds the open activities. It belongs to the writer.
type openSet struct {
	byKey map[key]*list.Element
	order [classes]list.List // of *pending, the oldest first
}

// add opens an activity for an entry and returns the entries that were dropped to make room.
func (o *openSet) add(k key, n int) (dropped []int) {
	if o.byKey == nil {
		o.byKey = make(map[key]*list.Element)
	}
	order := &o.order[k.class]
	if el, ok := o.byKey[k]; ok {
		p := el.Value.(*pending)
		if len(p.entries) == maxWaiting {
			dropped, p.entries = p.entries[:1:1], p.entries[1:]
		}
		p.entries = append(p.entries, n)
		order.MoveToBack(el)
		return dropped
	}
	if order.Len() >= maxOpen {
		p := order.Remove(order.Front()).(*pending)
		delete(o.byKey, p.key)
		dropped = p.entries
	}
	k.agent, k.id = strings.Clone(k.agent), strings.Clone(k.id) // copies, to free the event's text
	o.byKey[k] = order.PushBack(&pending{k, []int{n}})
	return dropped
}

// end closes an activity and returns the entries that waited for it.
func (o *openSet) end(k key) []int {
	el, ok := o.byKey[k]
	if !ok {
		return nil
	}
	delete(o.byKey, k)
	return o.order[k.class].Remove(el).(*pending).entries
}

// waiting returns the entries that wait for a key.
func (o *openSet) waiting(k key) []int {
	if el, ok := o.byKey[k]; ok {
		return el.Value.(*pending).entries
	}
	return nil
}
