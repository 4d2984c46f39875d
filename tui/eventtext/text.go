// Package eventtext turns events into text. Its table is the only source of the wording of events:
// on one line, as in the logbook of the screen ([Line]), and in full, as --plain prints it
// and /save writes it ([Text]). The cards of the screen take their phrases from here, too.
// Its functions are pure, and independent of columns and colours.
//
// Callers pass sanitised events. The input of a tool is JSON and not sanitised: what this
// package decodes from it, it sanitises.
package eventtext

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// introduce appends a text to its introduction: on the same line if it is a single line.
func introduce(introduction, text string) string {
	text = strings.Trim(text, "\n")
	if strings.TrimSpace(text) == "" {
		return introduction + " nothing."
	}
	if strings.Contains(text, "\n") {
		return introduction + ":\n\n" + text + "\n"
	}
	return introduction + ": " + strings.TrimSpace(text)
}

// indented indents a text of several lines, as code in Markdown.
func indented(text string) string {
	text = strings.Trim(text, "\n")
	if !strings.Contains(text, "\n") {
		return text
	}
	return "    " + strings.ReplaceAll(text, "\n", "\n    ")
}

// inputText returns all of a tool's input: one member per line, the lines of a long member below its name.
// An input that is only a text is returned as that text.
func inputText(raw json.RawMessage) string {
	list, sound := Members(raw)
	if !sound {
		return pretty(raw)
	}
	if len(list) == 1 && list[0].Value[0] == '"' {
		return long(list[0].Value)
	}
	var b strings.Builder
	for _, m := range list {
		text := long(m.Value)
		b.WriteString(One(m.Key, MaxName) + ":")
		if strings.Contains(text, "\n") {
			b.WriteString("\n" + indented(text) + "\n")
		} else {
			b.WriteString(" " + text + "\n")
		}
	}
	return b.String()
}

func checkText(b contract.Check, name func(string) string) string {
	r := b.Receipt
	text := CheckNumber(b) + ", " + Outcome(r) + ": " + One(r.Command, 0)
	text += After(". Expected: ", One(r.Expect, 0)) + After(". ", One(r.Why, 0))
	text += After(". ", LastChange(b, name))
	if r.Result != "passed" && strings.TrimSpace(r.Output) != "" {
		return introduce(text+". The end of its output", indented(r.Output))
	}
	return words.Sentence(text)
}

func handoffText(h contract.Handoff, name func(string) string) string {
	text := Called(name, h.From) + " hands off to " + successorName(h, name) + "."
	if h.GeneratedBecause != "" {
		text += " The supervisor drew the document up in its author's place: " + words.Sentence(One(h.GeneratedBecause, 0))
	}
	if h.Document.Empty() {
		return text + " The document is empty."
	}
	return text + "\n\n" + strings.TrimRight(h.Document.Proven(h.Receipts), "\n") + "\n"
}

// successorName names who gets a document, in the middle of a sentence. The next Arbiter has the id of the
// previous one.
func successorName(h contract.Handoff, name func(string) string) string {
	if h.From == h.To {
		return "its successor"
	}
	return amid(Called(name, h.To))
}

func planText(p contract.Plan, name func(string) string) string {
	if len(p.Steps) == 0 && len(p.Tasks) == 0 {
		return "The plan is empty."
	}
	var b strings.Builder
	b.WriteString("The plan:\n\n")
	for _, s := range p.Steps {
		b.WriteString("- " + One(s.Text, 0) + " – " + progress(s) + Parenthesis(Worker(s, name)) + "\n")
	}
	for _, t := range p.Tasks {
		b.WriteString("\n" + Called(name, t.Agent) + " keeps a list of its own: " + words.Sentence(Tally(t)) + "\n")
	}
	return b.String()
}

// PlanChanges says which steps of a plan stand otherwise than before; same is false for another plan.
func PlanChanges(old, now []contract.Step) (changed string, same bool) {
	if len(old) != len(now) {
		return "", false
	}
	var list []string
	for i, step := range now {
		if old[i].Text != step.Text {
			return "", false
		}
		if old[i].Status != step.Status {
			list = append(list, fmt.Sprintf("Step %d of %d, %s: %s.", i+1, len(now), One(step.Text, MaxSummary), progress(step)))
		}
	}
	return strings.Join(list, "\n"), true
}

func progress(s contract.Step) string {
	if s.Status == contract.StepActive {
		return "under way"
	}
	return One(s.Status, MaxName)
}

func resultText(b contract.Result) string {
	text, summary := Ending(b.Status), strings.Trim(b.Summary, "\n")
	if b.Status == contract.StatusLimit {
		summary = capital(summary) // always the supervisor's own words, which others put after a colon
	}
	if strings.Contains(summary, "\n") {
		text += "\n\n" + summary + "\n\n"
	} else {
		text += After(" ", words.Sentence(summary)) + " "
	}
	if len(b.InterruptedWork) > 0 {
		text = strings.TrimRight(text, " \n") + "\n\nLeft half-done:\n\n"
		for _, interrupted := range b.InterruptedWork {
			text += "- " + One(interrupted, 0) + "\n"
		}
		text += "\n"
	}
	text += strings.Join(Spent(b), ", ") + "."
	if k := b.Checks; k != nil {
		text += " Checks: " + words.Number(k.Passed) + " passed, " + words.Number(k.Failed) + " failed, " +
			words.Number(k.Unproven) + " unproven."
	}
	if b.Rehearsal {
		text += " A rehearsal."
	}
	return sanitize.Text(text)
}

// Withdrawn reports whether a message was withdrawn before it was sent.
func Withdrawn(e history.Entry) bool {
	_, ok := e.Outcome.(contract.Withdrawn)
	return ok
}

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

// stands returns how many steps are done, and the first one under way.
func stands(steps []contract.Step) (done int, now string) {
	for _, s := range steps {
		switch {
		case s.Status == contract.StepDone:
			done++
		case s.Status == contract.StepActive && now == "":
			now = One(s.Text, MaxSummary)
		}
	}
	return done, now
}

// Planned says how much of a plan is done.
func Planned(p contract.Plan) string {
	done, _ := stands(p.Steps)
	return "The plan: " + words.Number(done) + " of " + words.Count(len(p.Steps), "step") + " done"
}

// Proof is what is proven of a claim; without a proof it counts as unproven.
func Proof(h contract.Handoff, claim int) string {
	if claim < len(h.Proofs) && (h.Proofs[claim] == verdict.Verified || h.Proofs[claim] == verdict.Refuted) {
		return h.Proofs[claim]
	}
	return verdict.Unverified
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

// shownFiles is how many changed files a sentence names.
const shownFiles = 5

// changedText lists changed files with their lines: "a.go +3 −1, b.go (deleted) (with Orchestrator II)". by is whose
// turn ended.
func changedText(c contract.Changes, by string, name func(string) string) string {
	var files []string
	for _, f := range c.Files[:min(len(c.Files), shownFiles)] {
		var agents []string
		for _, id := range f.Agents {
			if f.Unsure || id != by {
				agents = append(agents, amid(Called(name, id)))
			}
		}
		text := changedFile(f)
		switch {
		case f.Unsure:
			text += " (" + strings.Join(agents, " or ") + ")"
		case len(agents) > 0:
			text += " (with " + strings.Join(agents, ", ") + ")"
		}
		files = append(files, text)
	}
	return shortened(files, len(c.Files)+c.More)
}

// shortened joins the first of some files.
func shortened(files []string, of int) string {
	if more := of - len(files); more > 0 {
		files = append(files, words.Count(more, "more file"))
	}
	return strings.Join(files, ", ")
}

func changedFile(f contract.FileChange) string {
	text := One(f.Path, MaxSummary)
	switch {
	case f.Status == "deleted":
		return text + " (deleted)"
	case f.Status == "renamed":
		text = One(f.Old, MaxSummary) + " to " + text
	case f.Status == "added":
		text += " (new)"
	}
	if f.Added > 0 {
		text += " +" + words.Number(f.Added)
	}
	if f.Deleted > 0 {
		text += " -" + words.Number(f.Deleted)
	}
	return text
}

func overlapText(o contract.Overlap, name func(string) string) string {
	agents := make([]string, len(o.Agents))
	for i, id := range o.Agents {
		agents[i] = amid(Called(name, id))
	}
	return strings.Join(agents, " and ") + " changed the same file: " + One(o.Path, MaxSummary)
}

// mergeText reports what happened to an agent's work: "The work of Orchestrator I was merged: a.go, b.go".
func mergeText(m contract.Merge, who string) string {
	var files []string
	for _, f := range m.Files[:min(len(m.Files), shownFiles)] {
		files = append(files, One(f, MaxSummary))
	}
	list := After(": ", shortened(files, len(m.Files)))
	if m.Status == "conflict" {
		return "The work of " + amid(who) + " conflicts with that of others" + list
	}
	return "The work of " + amid(who) + " was merged" + list
}

// acceptanceText reports the result of a criterion: "Criterion passed: the tests pass (make test)".
func acceptanceText(a contract.Acceptance) string {
	text := "Criterion " + One(a.Status, MaxName) + After(", ", One(a.Before, MaxName)) + ": " + One(a.Text, MaxSummary)
	if a.Command != "" && a.Command != a.Text {
		text += " (" + One(a.Command, MaxSummary) + ")"
	}
	if a.Status == "failed" && a.ExitCode >= 0 {
		text += ", exit code " + words.Number(a.ExitCode)
	}
	return text
}
