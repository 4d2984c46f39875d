package render

import "fmt"

// NotifyOptions set for what a person wants to be alerted, and how.
type NotifyOptions struct {
	Bell     bool // the terminal's bell
	Desktop  bool // a notification
	Finished bool // also when a run has ended, not only when input is needed
	Terminal NotifyTerminal
}

// NotifyCall is an alert that is due.
type NotifyCall struct{ Title, Body string }

// NotifyState records what was announced: each thing that begins to wait for a human is announced once, however
// long it lasts, and so is each end of a run. Things that begin at the same moment are one alert. The zero
// value has announced nothing.
type NotifyState struct {
	awaited map[string]bool // by Wait.Call
	ended   bool
}

// Ring records the current moment, and returns what to write to the terminal for it, usually nothing.
func (s *NotifyState) Ring(o NotifyOptions, m NotifyMoment) string {
	c, ok := s.Look(o, m)
	if !ok {
		return ""
	}
	return c.bytes(o)
}

// Look records the current moment, and returns the alert that is due for it. What happens while alerts are
// off, or while the terminal has the focus, counts as seen.
func (s *NotifyState) Look(o NotifyOptions, m NotifyMoment) (NotifyCall, bool) {
	began, over := s.began(m.Awaited), m.Ended != "" && !s.ended
	s.ended = m.Ended != ""
	switch {
	case m.Focused, !o.Bell && !o.Desktop:
		return NotifyCall{}, false
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
		return NotifyCall{"A word is awaited", body}, true
	case over && o.Finished:
		return NotifyCall{ending(m.Ended), "The run has ended: " + m.Ended + "."}, true
	}
	return NotifyCall{}, false
}

// began records what waits, and returns the new part.
func (s *NotifyState) began(list []NotifyWait) []NotifyWait {
	var fresh []NotifyWait
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

// bytes returns what to write to the terminal for an alert.
func (c NotifyCall) bytes(o NotifyOptions) string {
	out := ""
	if o.Desktop {
		out = o.Terminal.Sequence(c.Title, c.Body)
	}
	if o.Bell {
		out += bell
	}
	return out
}
