package history

import "github.com/arbiter-cli/arbiter/supervisor/contract"

// maxEdits bounds the messages that are remembered as changed. A further change is shown as a separate
// message.
const maxEdits = 4096

// edit is the latest text of a message that was changed before it was sent.
type edit struct {
	serial uint64 // how often it was changed
	entry  int    // the entry with the latest text
}

// reworded reports whether an event changes the text of an earlier message.
func reworded(e contract.Event) bool {
	m, ok := e.Body.(contract.Message)
	return ok && m.Edited
}

// edited gives a waiting message the text of the entry n, and reports whether there is such a message: the
// conversation shows it once, at its first place.
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

// latest returns the current text of a message, nil if it was not changed.
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
