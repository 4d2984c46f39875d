package transcript

import (
	"context"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
)

// State is the delivery status of a message.
type State string

// States of a message.
const (
	Absent State = "absent" // not remembered by a resume: never read, or on an abandoned branch
	Seen   State = "seen"   // in the conversation, without an answer of the model
	Begun  State = "begun"  // the model began to answer; the turn has not ended
	Ruled  State = "ruled"  // its turn ended with a verdict
	Ended  State = "ended"  // its turn ended without one: interrupt or API failure after an answer, plain text
)

// Delivery is the state of one message.
type Delivery struct {
	ID      string
	State   State
	Verdict json.RawMessage // if State is Ruled
}

// ReadDeliveries reads the delivery status of messages by the ids with which they were sent, in the order of
// ids. No process may be writing the transcript. An error means that the file could not be read at all; damage
// in it is not an error.
func ReadDeliveries(ctx context.Context, path string, ids []string) ([]Delivery, error) {
	f, err := open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	h := newHistory(strings.TrimSuffix(filepath.Base(path), extension))
	if err := h.read(ctx, f); err != nil {
		return nil, err
	}
	return h.deliveries(ids), nil
}

func (h *history) deliveries(ids []string) []Delivery {
	branch := h.remembered()
	at := map[string]int{}
	for i, n := range branch {
		for _, id := range n.messages {
			if _, known := at[id]; !known {
				at[id] = i
			}
		}
	}
	list := make([]Delivery, len(ids))
	for i, id := range ids {
		list[i] = Delivery{ID: id, State: Absent}
		if from, ok := at[id]; ok {
			list[i].State, list[i].Verdict = h.follow(branch[from+1:])
		}
	}
	return list
}

// follow reads the rest of a turn, up to the next message from outside, which begins another turn.
func (h *history) follow(rest []*node) (State, json.RawMessage) {
	if end := slices.IndexFunc(rest, func(n *node) bool { return n.kind == prompt }); end >= 0 {
		rest = rest[:end]
	}
	state := Seen
	var verdict json.RawMessage
	for _, n := range rest {
		switch n.kind {
		case interrupt, failure:
			if state != Seen { // no model has answered
				state = Ended
			}
		case pushed:
			if state == Ended { // it continued after all
				state = Begun
			}
		case answer:
			state = Begun
			if n.final {
				state = Ended
			}
			for _, id := range n.verdicts {
				if v := h.accepted(id); v != nil {
					verdict = v
				}
			}
		}
	}
	if verdict != nil {
		return Ruled, verdict
	}
	return state, nil
}

// accepted returns a verdict that passed the CLI's check, or nil. Its attachment comes first, then the tool's
// result; after a crash there may be only the attachment.
func (h *history) accepted(id string) json.RawMessage {
	if v := h.ruled[id]; len(v) > 0 {
		return v
	}
	if h.results[id] && len(h.inputs[id]) > 0 {
		return h.inputs[id]
	}
	return nil
}
