package history

import "github.com/arbiter-cli/arbiter/supervisor/contract"

// maxEdits bounds the messages that are remembered as changed. The next one is shown like
// another message.
const maxEdits = 4096

// edit is the latest text of a message that was changed before it was sent.
type edit struct {
	serial uint64 // how often it was changed
	entry  int    // that says the latest
}

// reworded reports whether a message was said before, with another text.
func reworded(e contract.Event) bool {
	m, ok := e.Body.(contract.Message)
	return ok && m.Edited
}

// edited has a message that waits say what the entry n does, and reports whether there is
// one: the conversation shows it once, where it was said first.
func (c *Store) edited(e contract.Event, n int) bool {
	if !reworded(e) {
		return false
	}
	m := e.Body.(contract.Message)
	first := c.open.waiting(key{class: messages, id: m.MessageID})
	if len(first) == 0 {
		return false
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.edits)+len(first) > maxEdits {
		return false
	}
	for _, owner := range first {
		c.edits[owner] = edit{c.edits[owner].serial + 1, n}
	}
	return true
}

// latest is what a message says now, nil if it says what it said.
func (c *Store) latest(n int) *contract.Message {
	c.mu.Lock()
	last, ok := c.edits[n]
	c.mu.Unlock()
	if !ok {
		return nil
	}
	if r, ok := c.record(last.entry); ok {
		if e, err := c.event(r); err == nil {
			if m, ok := e.Body.(contract.Message); ok {
				return &m
			}
		}
	}
	return nil
}
