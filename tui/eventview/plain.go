package eventview

import (
	"encoding/json"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// Plain is an entry as prose, for a reader of lines and for a file: nothing is folded,
// nothing depends on a column. It is Markdown where the text it tells is. It reports
// false for what only narrates too finely.
func Plain(e history.Entry, name func(id string) string) (string, bool) {
	if e.Event.Body == nil || contract.Fine(e.Event.Body) {
		return "", false
	}
	who := called(name, e.Event.ID)
	switch b := e.Event.Body.(type) {
	case contract.Session:
		text := prose(e.Event, name) + "."
		for _, fact := range safety(b) {
			text += " " + stop(upper(fact))
		}
		for _, danger := range dangers(b) {
			text += " " + strings.ToUpper(danger[:1]) + danger[1:] + "."
		}
		return text, true
	case contract.Message:
		if e.Edited != nil {
			b = *e.Edited
		}
		if withdrawn(e) {
			return said(address(name, b)+", taken back", b.Text), true
		}
		return said(address(name, b), b.Text), true
	case contract.Takeover:
		text := stop(takeover(b, who))
		return text + after("\n\n", strings.Trim(b.Digest, "\n")), true
	case contract.Question:
		return said(who+" asks", b.Text), true
	case contract.Assistant:
		if b.Subagent != "" {
			return said("A subagent of "+amid(who), b.Text), true
		}
		return said(who, b.Text), true
	case contract.ToolUse:
		if b.Subagent != "" {
			return "A subagent of " + amid(who) + " uses " + prose(e.Event, name), true
		}
		return who + " uses " + prose(e.Event, name), true
	case contract.ToolCall:
		return who + " calls " + prose(e.Event, name), true
	case contract.ToolResult:
		if b.IsError {
			return said("The tool failed", indented(b.Text)), true
		}
		return said("The tool answered", indented(b.Text)), true
	case contract.SubagentStart, contract.SubagentStop:
		return who + ", " + prose(e.Event, name) + ".", true
	case contract.Spawn:
		return stop(prose(e.Event, name)), true
	case contract.ContextWarning:
		text := "Context of " + amid(who) + ": " + strings.Replace(percent(b.Pct), " %", " percent", 1)
		if b.Level == "critical" {
			return text + ", critical.", true
		}
		return text + ", warning.", true
	case contract.Check:
		return checkText(b), true
	case contract.Handoff:
		return handoffText(b, name), true
	case contract.Decision:
		text := decisionText(name, b)
		if by := authority(b.Source); by != "" {
			text += " Ruled " + by + "."
		}
		text += after(" Warning: ", strings.Join(warnings(b), " ")) + after(" Reason: ", stop(strings.TrimSpace(b.Reason)))
		if b.Number > 0 {
			text += " Decision " + words.Number(b.Number) + "."
		}
		return text, true
	case contract.Plan:
		return planText(b, name), true
	case contract.PermissionRequest:
		if b.Subagent != "" {
			who = "A subagent of " + amid(who)
		}
		text := said(who+" asks leave to use "+ToolName(b.Tool), indented(inputText(b.Input)))
		if concealed(b.Input) {
			text += "\n" + unseen
		}
		return text + after("\nWhy it asks: ", strings.TrimSpace(b.Reason)), true
	case contract.Permission:
		return stop(answered(b) + after(": ", ToolName(b.Tool)+" for "+map[bool]string{true: "a subagent of "}[b.Subagent != ""]+amid(who))), true
	case contract.Error:
		text := said("Trouble, "+category(string(b.Category)), b.Message)
		return text + after("\nChoose one of: ", choices(b.RecoveryOptions)), true
	case contract.Rejected:
		return stop("Refused: " + one(b.Message, maxWords)), true
	case contract.Notice:
		return said("Notice", b.Text), true
	case contract.Result:
		return resultText(b), true
	case contract.Unknown:
		return "An event this version does not know: " + prose(e.Event, name), true
	}
	return stop(prose(e.Event, name)), true
}

// said puts a text behind what introduces it: on the same line if it is one.
func said(introduction, text string) string {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return introduction + " nothing."
	}
	if strings.Contains(text, "\n") {
		return introduction + ":\n\n" + text + "\n"
	}
	return introduction + ": " + strings.TrimSpace(text)
}

// stop ends a sentence.
func stop(text string) string {
	if text == "" || strings.ContainsAny(text[len(text)-1:], ".!?:") {
		return text
	}
	return text + "."
}

// indented sets a text of several lines apart, as code is in Markdown.
func indented(text string) string {
	text = strings.Trim(text, "\n")
	if !strings.Contains(text, "\n") {
		return text
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// inputText is all of a tool's input: one member a line, several lines of one below
// its name. An input of one text is that text.
func inputText(raw json.RawMessage) string {
	list, sound := members(raw)
	if !sound {
		return pretty(raw)
	}
	if len(list) == 1 && list[0].value[0] == '"' {
		return long(list[0].value)
	}
	var b strings.Builder
	for _, m := range list {
		text := long(m.value)
		b.WriteString(one(m.key, maxName) + ":")
		if strings.Contains(text, "\n") {
			b.WriteString("\n" + indented(text) + "\n")
		} else {
			b.WriteString(" " + text + "\n")
		}
	}
	return b.String()
}

func checkText(b contract.Check) string {
	r := b.Receipt
	text := checkNumber(b) + ", " + outcome(r) + ": " + one(r.Command, 0)
	text += after(". Expected: ", one(r.Expect, 0)) + after(". ", one(r.Why, 0))
	if r.Result != "passed" && strings.TrimSpace(r.Output) != "" {
		return said(text+". The end of its output", indented(r.Output))
	}
	return stop(text)
}

// HandoffLine tells a hand-off in a sentence.
func HandoffLine(h contract.Handoff, name func(string) string) string {
	return stop(prose(contract.Event{Body: h}, name))
}

func handoffText(h contract.Handoff, name func(string) string) string {
	text := called(name, h.From) + " hands off to " + amid(called(name, h.To)) + "."
	if h.DrawnUp != "" {
		text += " The supervisor drew the document up in its author's place: " + stop(one(h.DrawnUp, 0))
	}
	if h.Document.Empty() {
		return text + " The document is empty."
	}
	return text + "\n\n" + proven(h.Document, h.Receipts) + "\n"
}

func planText(p contract.Plan, name func(string) string) string {
	if len(p.Steps) == 0 && len(p.Tasks) == 0 {
		return "The plan is empty."
	}
	var b strings.Builder
	b.WriteString("The plan:\n\n")
	for _, s := range p.Steps {
		status := one(s.Status, maxName)
		if s.Status == contract.StepActive {
			status = "under way"
		}
		b.WriteString("- " + one(s.Text, 0) + " – " + status)
		b.WriteString(after(" (", closed(worker(s, name))) + "\n")
	}
	for _, t := range p.Tasks {
		b.WriteString("\n" + called(name, t.Agent) + " keeps a list of its own: " + stop(tally(t)) + "\n")
	}
	return b.String()
}

func resultText(b contract.Result) string {
	text := ending(b.Status)
	if summary := strings.Trim(b.Summary, "\n"); strings.Contains(summary, "\n") {
		text += "\n\n" + summary + "\n\n"
	} else {
		text += after(" ", stop(summary)) + " "
	}
	if len(b.HalfDone) > 0 {
		text = strings.TrimRight(text, " \n") + "\n\nLeft half-done:\n\n"
		for _, half := range b.HalfDone {
			text += "- " + one(half, 0) + "\n"
		}
		text += "\n"
	}
	text += strings.Join(spent(b), ", ") + "."
	if k := b.Checks; k != nil {
		text += " Checks: " + words.Number(k.Passed) + " passed, " + words.Number(k.Failed) + " failed, " + words.Number(k.Unproven) + " unproven."
	}
	if b.Rehearsal {
		text += " A rehearsal."
	}
	return sanitize.Text(text)
}
