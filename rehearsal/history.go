package rehearsal

import (
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/transcript"
)

// exchange is one past answer of the model, with the texts that it answered.
type exchange struct {
	incoming []inputPart
	answer   content
}

// inputPart is one piece of the input that a model must answer.
type inputPart struct {
	text   string
	result string // id of the tool call whose result this is
	failed bool   // the result is an error
	system bool   // environment, hooks' context, messages folded into a running turn
}

// Texts that the CLI adds to a history that was cut off (observed with CLI 2.1.329).
const (
	noResponse  = "No response requested."       // for an answer that was lost
	lostOutcome = "[Tool call interrupted:"      // for a result that was lost
	interrupted = "[Request interrupted by user" // after an answer or a call that was interrupted
)

// takeUpAgain matches the beginning of a supervisor's message which says that the last process ended, and
// that the model must continue the interrupted work.
var takeUpAgain = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^\s*⟦[^\n]*\bfrom:? supervisor\b[^\n]*\bretry\b`)
})

// readMessages splits the conversation into exchanges.
func (c *call) readMessages() {
	var pending []inputPart
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
		parts := m.Content
		if m.Role == "user" && c.firstText == "" {
			c.firstText = withoutReminders(parts).text()
		}
		if m.Role == "user" && len(c.history) == 0 {
			parts = withoutReminders(parts)
		}
		for _, b := range parts {
			if t := (content{b}).text(); strings.TrimSpace(t) != "" {
				pending = append(pending, inputPart{t, b.ToolUseID, b.IsError, m.Role == "system"})
			}
		}
	}
	c.setPending(pending)
	for i := 0; i < len(c.history); {
		if c.cutOff(i) {
			c.withdraw(i)
			i = max(i-1, 0) // the supervisor's message may now follow the answer before
		} else {
			i++
		}
	}
	if c.cwd == "" {
		c.findCwd(c.System.text())
	}
}

func (c *call) setPending(pending []inputPart) { c.pending, c.incoming = pending, textOf(pending) }

// after returns the input that followed an answer.
func (c *call) after(i int) []inputPart {
	if i+1 < len(c.history) {
		return c.history[i+1].incoming
	}
	return c.pending
}

// withdraw removes an incomplete answer: its input must still be answered, together with everything that
// came since.
func (c *call) withdraw(i int) {
	words := slices.Concat(c.history[i].incoming, c.after(i))
	if i+1 < len(c.history) {
		c.history[i+1].incoming = words
	} else {
		c.setPending(words)
	}
	c.history = slices.Delete(c.history, i, i+1)
}

// cutOff reports whether an answer's process ended before the answer had its effect: the outcome of a call
// is unknown; or the supervisor asks the model to continue the turn, and in between there is only a call
// that failed, as calls of an ending process do, or nothing. A verdict may have been received although its
// result was not kept, so that the supervisor's message decides.
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

// resumed reports whether the first message of a sender is the supervisor's message that the process ended.
// Marks of an interrupt before it were caused by the end of the process.
func resumed(words []inputPart) bool {
	for _, w := range words {
		if w.isFromSender() && !w.mark() {
			return takeUpAgain().MatchString(w.text)
		}
	}
	return false
}

// isFromSender reports whether a word comes from a sender and not from the CLI.
func (w inputPart) isFromSender() bool {
	return w.result == "" && !w.system && !reminder().MatchString(w.text)
}

func (w inputPart) mark() bool { return w.isFromSender() && strings.HasPrefix(w.text, interrupted) }

// onPurpose reports whether an intended interrupt cut an answer of which only the beginning was kept: then
// the answer counts as given.
func onPurpose(after []inputPart) bool {
	i := slices.IndexFunc(after, inputPart.isFromSender)
	return i >= 0 && after[i].mark() && !resumed(after)
}

// spent finds the places where answers were cut on purpose before any part of them was kept.
func spent(words []inputPart) []int {
	var at []int
	first := true
	for i, w := range words {
		if w.mark() && !first && !resumed(words[i:]) {
			at = append(at, i)
		}
		first = first && !w.isFromSender()
	}
	return at
}

func textOf(words []inputPart) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = w.text
	}
	return strings.Join(texts, "\n")
}

// withoutFiller removes the answer that the CLI makes up on resume for a lost one: no step of the script
// gave it.
func withoutFiller(c content) content {
	return slices.DeleteFunc(slices.Clone(c), func(b transcript.Block) bool {
		return b.Type == "text" && b.Text == noResponse
	})
}

// withoutReminders removes the blocks that contain only a system reminder: a conversation begins with some,
// and they do not come from the sender.
func withoutReminders(c content) content {
	return slices.DeleteFunc(slices.Clone(c), func(b transcript.Block) bool {
		return b.Type == "text" && reminder().MatchString(b.Text)
	})
}
