package standin

import (
	"encoding/json"
	"sync"
)

// entry is one piece of a conversation: a message, or a content block of one.
type entry struct {
	role   string // user, assistant or system
	id     string // API message id of an assistant block; blocks of one message share it
	blocks []json.RawMessage
	prompt bool // a message of the host's
}

// wireMessage is a message of an API request.
type wireMessage struct {
	Role    string            `json:"role"`
	Content []json.RawMessage `json:"content"`
}

// history is a conversation as the model sees it. Tools that run side by side
// append to it, control requests read it.
type history struct {
	mu      sync.Mutex
	entries []entry
	base    int // how many of them a compaction left
}

func (h *history) add(e entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries = append(h.entries, e)
}

// addText appends a message of one text block.
func (h *history) addText(role, text string) {
	h.add(entry{role: role, blocks: []json.RawMessage{textBlock(text)}})
}

// replace puts other entries in the place of all.
func (h *history) replace(es []entry) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.entries, h.base = es, 0
}

// messages builds the request's messages: neighbours of one role become one
// message, and blocks of one answer come together although results of its first
// tools were recorded before its last blocks.
func (h *history) messages() []wireMessage {
	h.mu.Lock()
	defer h.mu.Unlock()
	out := []wireMessage{{Role: "user", Content: []json.RawMessage{textBlock(firstReminder)}}}
	answer, answerID := 0, ""
	for _, e := range h.entries {
		last := len(out) - 1
		switch {
		case e.role == "assistant" && e.id != "" && e.id == answerID:
			out[answer].Content = append(out[answer].Content, e.blocks...)
			continue
		case out[last].Role == e.role:
			out[last].Content = append(out[last].Content, e.blocks...)
		default:
			out = append(out, wireMessage{Role: e.role, Content: append([]json.RawMessage(nil), e.blocks...)})
		}
		if e.role == "assistant" {
			answer, answerID = len(out)-1, e.id
		}
	}
	return out
}

// firstReminder begins every conversation, as with the CLI: the sender's own
// words come after it.
const firstReminder = "<system-reminder>\nA stand-in plays Claude Code here.\n</system-reminder>\n"

func textBlock(s string) json.RawMessage {
	return encode(obj{"type": "text", "text": s})
}

// size estimates the tokens of the conversation, four bytes each.
func (h *history) size() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	n := 0
	for _, e := range h.entries {
		for _, b := range e.blocks {
			n += len(b)
		}
	}
	return n / 4
}
