package notify

// Options say what a person wants to be called for, and how.
type Options struct {
	Bell     bool // the terminal's bell
	Desktop  bool // a notification
	Finished bool // also when a run has ended, not only when a word is awaited
	Terminal Terminal
}

// Call is a call that is due.
type Call struct{ Title, Body string }

// State remembers what was called for: each time a human begins to be awaited is one
// call, however long it lasts and however much is added to it, and so is each end of a
// run. The zero value has seen nothing.
type State struct {
	awaited bool
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
	began, over := m.Human && !s.awaited, m.Ended != "" && !s.ended
	s.awaited, s.ended = m.Human, m.Ended != ""
	switch {
	case m.Focused, !o.Bell && !o.Desktop:
		return Call{}, false
	case began && m.Ended == "", over && m.Ended == "needs_input":
		body := m.For
		if body == "" {
			body = "The thread waits for you."
		}
		return Call{"A word is awaited", body}, true
	case over && o.Finished:
		return Call{ending(m.Ended), "The run has ended: " + m.Ended + "."}, true
	}
	return Call{}, false
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
