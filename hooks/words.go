package hooks

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf16"
)

// Marks begin the texts that the harness itself sends to a model. Together with the place where they come, they
// distinguish these texts from others that the model reads: no person and no tool can answer a hook.
const (
	MarkContext  = "[arbiter: context]"
	MarkReminder = "[arbiter: rules]"
)

const blockReason = MarkContext + " Compaction was blocked. The work is handed over instead."

// warningText says how full the context is and what to do.
func warningText(p Policy, l Level, r Reading, pressing bool) string {
	var b strings.Builder
	b.WriteString(MarkContext + " ")
	switch {
	case r.Window > 0:
		fmt.Fprintf(&b, "%s: %.0f %% full, %s of %s tokens.", l, r.Pct, grouped(r.Tokens), grouped(r.Window))
	default:
		fmt.Fprintf(&b, "%s: full.", l)
	}
	if pressing {
		b.WriteString("\nA compaction was blocked, so that no detail is lost. It cannot be blocked for long: end this " +
			"turn now.")
	}
	b.WriteString("\n" + advice(p.Role, l))
	return b.String()
}

// advice says what a role should do at a level.
func advice(role string, l Level) string {
	switch {
	case role == RoleArbiter && l == LevelCritical:
		return "End this turn now with the decision that you have. The supervisor then asks you for HANDOFF."
	case role == RoleArbiter:
		return "End this turn soon, and read nothing large. The supervisor will ask you for HANDOFF between two turns."
	case l == LevelCritical:
		return "Start nothing new. Commit what works, then end this turn with kind `handoff` and its document: what " +
			"is done, what remains, what a successor must know, and checks that prove it."
	}
	return "Finish and commit the step at hand. Start nothing large: a successor can do it."
}

// MaxContext is the maximum length of an answer's text, in UTF-16 units. The CLI writes a longer text into a
// file and shows the model its first 2 kB (observed with CLI 2.1.329), so the text is cut here, and says so.
const MaxContext = 10_000

const cutMark = "\n[cut: it is longer than the CLI shows]"

// fit cuts a text to MaxContext, between two runes.
func fit(text string) string {
	units, capacity := 0, MaxContext-len(cutMark)
	kept := 0 // bytes that fit together with the mark
	for i, r := range text {
		if units <= capacity {
			kept = i
		}
		units += max(1, utf16.RuneLen(r))
	}
	if units <= MaxContext {
		return text
	}
	return text[:kept] + cutMark
}

// grouped writes 172000 as 172,000.
func grouped(n int) string {
	s := strconv.Itoa(n)
	for i := len(s) - 3; i > 0 && s[i-1] != '-'; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}
