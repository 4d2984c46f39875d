package eventtext

import (
	"encoding/json"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// parting returns why an agent ended; a successor is named.
func parting(name func(string) string, reason string) string {
	if successor, ok := strings.CutPrefix(reason, "succeeded by "); ok {
		return "succeeded by " + amid(Called(name, successor))
	}
	return Category(reason)
}

func orObject(raw json.RawMessage) json.RawMessage {
	if len(raw) == 0 {
		return json.RawMessage("{}")
	}
	return raw
}

// Parenthesis returns a text in parentheses, to append to another one; empty for none.
func Parenthesis(text string) string {
	if text == "" {
		return ""
	}
	return " (" + text + ")"
}

// amid returns a name in the form for the middle of a sentence.
func amid(name string) string {
	if name == "You" || strings.HasPrefix(name, "The ") {
		return Lower(name)
	}
	return name
}

// address names sender and recipient of a message.
func address(name func(string) string, m contract.Message) string {
	text := Called(name, m.From) + " to " + amid(Called(name, m.To))
	if m.Kind != "" && m.Kind != "message" {
		text += ", " + One(m.Kind, MaxName)
	}
	if m.Edited {
		text += ", edited"
	}
	return text
}

func compacted(b contract.Compact, who string) string {
	text := "The context of " + amid(who) + " was compacted"
	if b.Blocked {
		text = "A compaction of " + amid(who) + " was prevented"
	}
	if b.PreTokens > 0 {
		text += ": " + words.Tokens(b.PreTokens) + " tokens"
		if b.PostTokens > 0 {
			text += ", then " + words.Tokens(b.PostTokens)
		}
	}
	return text + Parenthesis(One(b.Trigger, MaxName))
}

// holdings counts the parts of a hand-off document.
func holdings(h contract.Handoff) string {
	d := h.Document
	if d == nil {
		return ""
	}
	var parts []string
	add := func(n int, what string) {
		if n > 0 {
			parts = append(parts, words.Number(n)+" "+what)
		}
	}
	checks := func(n int, what string) {
		if n > 0 {
			parts = append(parts, words.Count(n, "check")+" "+what)
		}
	}
	passed, failed, open := d.Tally(h.Receipts)
	add(len(d.Accomplished), "accomplished")
	add(len(d.Left()), "remaining")
	add(len(d.Decisions), "decided")
	add(len(d.OpenQuestions), "open")
	checks(passed, "passed")
	checks(failed, "failed")
	checks(open, "unproven")
	if h.GeneratedBecause != "" {
		parts = append(parts, "drawn up by the supervisor")
	}
	return strings.Join(parts, ", ")
}

func plannedText(p contract.Plan) string {
	done, now := 0, ""
	for _, s := range p.Steps {
		switch {
		case s.Status == contract.StepDone:
			done++
		case s.Status == contract.StepActive && now == "":
			now = One(s.Text, MaxSummary)
		}
	}
	return "the plan: " + strconv.Itoa(done) + " of " + words.Count(len(p.Steps), "step") + " done" +
		After("; now: ", now)
}

func choices(options []string) string {
	var list []string
	for _, option := range options {
		if text := One(option, 200); text != "" {
			list = append(list, text)
		}
	}
	return strings.Join(list, ", ")
}

// proven describes what is known about a document: its own sections, with the results of the checks.
func proven(d *verdict.Document, receipts []verdict.Receipt) string {
	return strings.TrimRight(d.Proven(receipts), "\n")
}

// Outcome describes how a check ended: its exit code, and its output.
func Outcome(r verdict.Receipt) string {
	text := One(r.Result, MaxName)
	if r.Result == verdict.CheckUnrun || r.Result == "" {
		return "not run"
	}
	if text += After(", ", One(r.Before, MaxName)); r.SHA256 == "" {
		return text
	}
	if r.Exit >= 0 {
		text += ", exit " + words.Number(r.Exit)
	} else {
		text += ", ended by a signal"
	}
	text += After(", ", millis(r.DurationMS)) + ", " + words.Number(r.Bytes) + " bytes"
	return text + ", sha256 " + One(r.SHA256, 13)
}

func FirstOf(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}
