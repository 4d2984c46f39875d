package rehearsal

import (
	"regexp"
	"slices"
	"strings"
	"sync"
)

// exchange is one past answer of the model and what it answered.
type exchange struct {
	incoming []word
	answer   content
}

// word is one piece of what a model is to answer.
type word struct {
	text   string
	result string // id of the tool call this is the result of
	failed bool   // the result is an error
	system bool   // environment, hooks' context, words folded into a running turn
}

// What the CLI puts into a history that was cut off (observed with CLI 2.1.329).
const (
	noResponse  = "No response requested."       // for an answer that was lost
	lostOutcome = "[Tool call interrupted:"      // for a result that was lost
	interrupted = "[Request interrupted by user" // after an answer or a call that was interrupted
)

// takeUpAgain is the opening of a supervisor's word that the last process ended,
// and that the model is to take up what was interrupted.
var takeUpAgain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*⟦[^\n]*\bfrom:? supervisor\b[^\n]*\bretry\b`)
})

// readMessages splits the conversation into exchanges.
func (c *call) readMessages() {
	var pending []word
	for _, m := range c.Messages {
		if c.cwd == "" && m.Role != "assistant" {
			c.findCwd(m.Content.text())
		}
		if m.Role == "assistant" {
			if answer := withoutFiller(m.Content); len(answer) > 0 {
				c.history = append(c.history, exchange{pending, answer})
				pending = nil
			}
			continue
		}
		heard := m.Content
		if m.Role == "user" && c.firstText == "" {
			c.firstText = withoutReminders(heard).text()
		}
		if m.Role == "user" && len(c.history) == 0 {
			heard = withoutReminders(heard)
		}
		for _, b := range heard {
			if t := (content{b}).text(); strings.TrimSpace(t) != "" {
				pending = append(pending, word{t, b.ResultOf, b.Failed, m.Role == "system"})
			}
		}
	}
	c.hear(pending)
	for i := 0; i < len(c.history); {
		if c.cutOff(i) {
			c.withdraw(i)
			i = max(i-1, 0) // the answer before may be followed by the supervisor's word now
		} else {
			i++
		}
	}
	if c.cwd == "" {
		c.findCwd(c.System.text())
	}
}

func (c *call) hear(pending []word) { c.pending, c.incoming = pending, textOf(pending) }

// after returns the words that followed an answer.
func (c *call) after(i int) []word {
	if i+1 < len(c.history) {
		return c.history[i+1].incoming
	}
	return c.pending
}

// withdraw takes an answer back that did not come to its end: what it answered is
// to be answered still, together with all that came since.
func (c *call) withdraw(i int) {
	words := slices.Concat(c.history[i].incoming, c.after(i))
	if i+1 < len(c.history) {
		c.history[i+1].incoming = words
	} else {
		c.hear(words)
	}
	c.history = slices.Delete(c.history, i, i+1)
}

// cutOff reports whether an answer's process ended before the answer had its effect:
// the outcome of a call is unknown; or the supervisor asks for the turn to be taken
// up again, and what stands between is a call that failed, as calls of a dying
// process do, or nothing. A verdict may have been heard although its result was not
// kept, so that the supervisor's word decides.
func (c *call) cutOff(i int) bool {
	calls, rules := map[string]bool{}, false
	for _, b := range c.history[i].answer {
		switch {
		case b.Type == "tool_use" && b.Name == structuredOutput:
			rules = true
		case b.Type == "tool_use":
			calls[b.ID] = true
		}
	}
	failed := false
	after := c.after(i)
	for _, w := range after {
		if calls[w.result] && strings.HasPrefix(w.text, lostOutcome) {
			return true
		}
		failed = failed || calls[w.result] && w.failed
	}
	return (rules || failed || len(calls) == 0) && resumed(after)
}

// resumed reports whether the first that anybody said is the supervisor's word that the
// process ended. Marks of an interrupt before it are of the process's end.
func resumed(words []word) bool {
	for _, w := range words {
		if w.spoken() && !w.mark() {
			return takeUpAgain().MatchString(w.text)
		}
	}
	return false
}

// spoken tells words of a sender from those of the CLI.
func (w word) spoken() bool { return w.result == "" && !w.system && !reminder().MatchString(w.text) }

func (w word) mark() bool { return w.spoken() && strings.HasPrefix(w.text, interrupted) }

// onPurpose reports whether the kept beginning of an answer was cut by an interrupt that
// was meant: it is spent.
func onPurpose(after []word) bool {
	i := slices.IndexFunc(after, word.spoken)
	return i >= 0 && after[i].mark() && !resumed(after)
}

// spent finds where answers were cut on purpose before anything of them was kept.
func spent(words []word) []int {
	var at []int
	first := true
	for i, w := range words {
		if w.mark() && !first && !resumed(words[i:]) {
			at = append(at, i)
		}
		first = first && !w.spoken()
	}
	return at
}

func textOf(words []word) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, "\n")
}

// withoutFiller drops the answer the CLI makes up on resume for one that was lost:
// no step of the script gave it.
func withoutFiller(c content) content {
	return slices.DeleteFunc(slices.Clone(c), func(b block) bool {
		return b.Type == "text" && b.Text == noResponse
	})
}

// withoutReminders drops the blocks that are nothing but a system reminder: a
// conversation begins with some, and what they say is not the sender's.
func withoutReminders(c content) content {
	return slices.DeleteFunc(slices.Clone(c), func(b block) bool {
		return b.Type == "text" && reminder().MatchString(b.Text)
	})
}
