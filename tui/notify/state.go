package notify

import "fmt"

// Options say what a person wants to be called for, and how.
type Options struct {
	Bell     bool // the terminal's bell
	Desktop  bool // a notification
	Finished bool // also when a run has ended, not only when a word is awaited
	Terminal Terminal
}

// Call is a call that is due.
type Call struct{ Title, Body string }

// State remembers what was called for: whatever a human begins to be awaited for is called for
// once, however long it lasts, and so is each end of a run. What begins at the same moment is
// one call. The zero value has seen nothing.
type State struct {
	awaited map[string]bool // by Wait.Call
	ended   bool
}

// Ring takes the present moment in, and returns what to write to the terminal for it,
// mostly nothing.
func (s *State) Ring(o Options, m Moment) string {
	c, ok := s.Look(o, m)
	if !ok {
		return ""
	}
	return c.bytes(o)
}

// Look takes the present moment in, and returns the call that is due for it. What
// happens while nobody may be called, or while the terminal has the focus, is seen.
func (s *State) Look(o Options, m Moment) (Call, bool) {
	began, over := s.began(m.Awaited), m.Ended != "" && !s.ended
	s.ended = m.Ended != ""
	switch {
	case m.Focused, !o.Bell && !o.Desktop:
		return Call{}, false
	case len(began) > 0 && m.Ended == "", over && m.Ended == "needs_input":
		body := ""
		for _, w := range began {
			if body = w.For; body != "" {
				break
			}
		}
		if body == "" {
			body = "The thread waits for you."
		}
		if more := len(began) - 1; more > 0 {
			body += fmt.Sprintf(" And %d more.", more)
		}
		return Call{"A word is awaited", body}, true
	case over && o.Finished:
		return Call{ending(m.Ended), "The run has ended: " + m.Ended + "."}, true
	}
	return Call{}, false
}

// began takes in what is awaited, and returns what of it was not before.
func (s *State) began(list []Wait) []Wait {
	var fresh []Wait
	now := make(map[string]bool, len(list))
	for _, w := range list {
		if !s.awaited[w.Call] && !now[w.Call] {
			fresh = append(fresh, w)
		}
		now[w.Call] = true
	}
	s.awaited = now
	return fresh
}

func ending(status string) string {
	switch status {
	case "complete":
		return "It is done."
	case "cancelled":
		return "It was ended."
	case "limit":
		return "A limit is reached."
	}
	return "It has failed."
}

// bytes is what to write to the terminal for a call.
func (c Call) bytes(o Options) string {
	out := ""
	if o.Desktop {
		out = o.Terminal.Sequence(c.Title, c.Body)
	}
	if o.Bell {
		out += bell
	}
	return out
}
