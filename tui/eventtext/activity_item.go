package eventtext

import (
	"strings"
	"time"
	"unicode/utf8"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// ActivityItem is something that an agent said or did.
type ActivityItem struct {
	At    time.Time
	Until time.Time // when a call ended; zero: it runs, or the item is not a call

	Text string // what was said; empty: the item is a call

	Use            string // id of the call
	Tool           string // its name, as it is shown
	Summary        string // what it is about, on one line
	Result         string // the last lines of its result
	Failed         bool
	Cut            bool // it ended without an answer
	Added, Removed int  // lines of a file that an edit added and removed
}

// Call reports whether the item is a call of a tool.
func (i ActivityItem) Call() bool { return i.Tool != "" }

// Runs reports whether the item is a call that has not ended.
func (i ActivityItem) Runs() bool { return i.Call() && i.Until.IsZero() }

// Bounds of texts that may have any length.
const (
	keptText   = 2 << 10 // bytes of what was said: its end
	keptResult = 3       // lines of an answer: its last
	keptLine   = 300     // runes of a line
	lookedAt   = 4 << 10 // bytes at the end of a result in which its last lines are searched
)

// proseItem makes an item of prose, of which it keeps the end.
func proseItem(at time.Time, text string) (ActivityItem, bool) {
	text = strings.TrimSpace(sanitize.Text(tail(text, keptText)))
	return ActivityItem{At: at, Text: Plain(text)}, text != ""
}

// marks are the Markdown marks that disturb in a text that is not laid out.
var marks = strings.NewReplacer("```", "", "**", "", "`", "")

// Plain returns a copy of a text without them.
func Plain(text string) string { return strings.Clone(marks.Replace(text)) }

// sent makes an item of a message: its recipient and its beginning. The conversation shows all of it.
func sent(at time.Time, b contract.Message) ActivityItem {
	to := Name(b.To)
	switch b.To {
	case contract.Human:
		to = "you"
	case contract.Arbiter:
		to = "the Arbiter"
	}
	text := One(words.FirstLine(strings.TrimSpace(b.Text)), keptLine)
	return ActivityItem{At: at, Text: "To " + to + ": " + Plain(text)}
}

// called makes an item of a call.
func called(at time.Time, b contract.ToolUse) ActivityItem {
	i := ActivityItem{At: at, Use: b.ToolUse, Tool: ToolName(b.Tool), Summary: Summary(b.Tool, b.Input)}
	if i.Tool == "" {
		i.Tool = "a tool"
	}
	i.Added, i.Removed = EditedLines(b.Tool, b.Input)
	return i
}

// tail returns the end of a text: whole lines if they are short enough, so that no control sequence is cut
// in two and shown as text.
func tail(text string, most int) string {
	if len(text) <= most {
		return text
	}
	text = text[len(text)-most:]
	if i := strings.IndexByte(text, '\n'); i >= 0 && i < len(text)-1 {
		return text[i+1:]
	}
	for text != "" && !utf8.RuneStart(text[0]) {
		text = text[1:]
	}
	return text
}

// lastLines returns the last lines of a result that are not blank, separated by newlines.
func lastLines(text string) string {
	text = tail(text, lookedAt)
	var lines []string
	for len(lines) < keptResult && text != "" {
		i := strings.LastIndexByte(text, '\n')
		if line := strings.TrimSpace(sanitize.Line(text[i+1:], keptLine)); line != "" {
			lines = append(lines, line)
		}
		text = text[:max(i, 0)]
	}
	for i, j := 0, len(lines)-1; i < j; i, j = i+1, j-1 {
		lines[i], lines[j] = lines[j], lines[i]
	}
	return strings.Join(lines, "\n")
}
