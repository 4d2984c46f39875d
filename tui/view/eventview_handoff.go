package view

// This part of the package turns the events of a run into lines to draw: the conversation ([EventTalk]), what
// one agent does ([EventStream]), the logbook ([EventLog]), text that is still arriving ([EventLive]). Its
// texts are those of package eventtext.
//
// All of them are pure functions of an entry and its [EventOptions]; the package has no state and no goroutines,
// except for [Subagents], which records which subagent started which.
//
// Callers pass sanitised events. The input of a tool is JSON and not sanitised: what this package decodes
// or shows of it, it sanitises. No line is wider than requested. Folded text is not laid out: the cost of a
// folded card depends on what it shows, that of an unfolded one is linear in its text.

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// handoff is the card of a document that one agent passes to another.
func (o EventOptions) handoff(h contract.Handoff) (lines []render.Line, foldable bool) {
	d := h.Document
	if d == nil {
		return o.sentence(render.Dim, "", "There is no document."), false
	}
	lines = o.tally(h)
	if h.GeneratedBecause != "" {
		lines = append(lines, o.sentence(render.Warn, o.Look.Glyphs.Failed,
			"Drawn up by the supervisor in its author's place: "+
				eventtext.One(h.GeneratedBecause, eventtext.MaxWords))...)
	}
	if d.Empty() {
		return lines, false
	}
	if o.Open {
		return append(lines, o.document(h)...), true
	}
	shown, _ := o.body(render.Base, eventtext.FirstOf(d.KeyContext, strings.Join(d.Accomplished, "\n")), foldBrief)
	return append(lines, shown...), true
}

// tallied is a number of things of a kind.
type tallied struct {
	n          int
	role       render.Role
	mark, text string
}

// counts shows the numbers that are not 0.
func counts(list ...tallied) (parts []render.Line) {
	for _, c := range list {
		if c.n > 0 {
			parts = append(parts, render.Of(c.role, strings.TrimLeft(c.mark+" "+words.Number(c.n)+" "+c.text, " ")))
		}
	}
	return parts
}

// results counts what was tried, in the words for that.
func (o EventOptions) results(good, bad, open int, goodWord, badWord string) []render.Line {
	g := o.Look.Glyphs
	return counts(tallied{good, render.Good, g.Done, goodWord}, tallied{bad, render.Bad, g.Failed, badWord},
		tallied{open, render.Pending, g.Pending, "unproven"})
}

// tally counts the parts of the document and the results of its checks and claims.
func (o EventOptions) tally(h contract.Handoff) []render.Line {
	d, questions := h.Document, "open questions"
	if len(d.OpenQuestions) == 1 {
		questions = "open question"
	}
	lines := o.joined(counts(tallied{len(d.Accomplished), render.Base, "", "accomplished"},
		tallied{len(d.Remaining), render.Base, "", "remaining"}, tallied{len(d.Decisions), render.Base, "", "decided"},
		tallied{len(d.OpenQuestions), render.Warn, "", questions}))
	passed, failed, open := d.Tally(h.Receipts)
	lines = append(lines, o.labelled("checks", o.results(passed, failed, open, "passed", "failed"))...)
	return append(lines, o.labelled("claims", o.claims(h))...)
}

// claims counts what was proved of the claims.
func (o EventOptions) claims(h contract.Handoff) []render.Line {
	n := map[string]int{}
	for i := range h.Document.Claims {
		n[proofOf(h, i)]++
	}
	return o.results(n[verdict.Verified], n[verdict.Refuted], n[verdict.Unverified], "proved", "refuted")
}

// proven counts in the head of the card what was proved: claims, or checks if the document has no claims.
func (o EventOptions) proven(h contract.Handoff) (l render.Line) {
	if h.Document == nil {
		return nil
	}
	parts := o.claims(h)
	if len(h.Document.Claims) == 0 {
		proved, refuted, open := h.Document.Tally(h.Receipts)
		parts = o.results(proved, refuted, open, "proved", "refuted")
	}
	separator := "  "
	for _, p := range parts {
		l = append(append(l, render.Span{Text: separator, Role: render.Dim}), p...)
		separator = " " + o.Look.Glyphs.Separator + " "
	}
	return l
}

func (o EventOptions) labelled(label string, parts []render.Line) []render.Line {
	if len(parts) == 0 {
		return nil
	}
	parts[0] = append(render.Line{{Text: label + "  ", Role: render.Dim}}, parts[0]...)
	return o.joined(parts)
}

// proofOf returns what is proven of a claim; without a proof it counts as unproven.
func proofOf(h contract.Handoff, i int) string {
	if i < len(h.Proofs) {
		switch p := h.Proofs[i]; p {
		case verdict.Verified, verdict.Refuted:
			return p
		}
	}
	return verdict.Unverified
}

// document lays out the whole document.
func (o EventOptions) document(h contract.Handoff) []render.Line {
	d := h.Document
	var lines []render.Line
	title := func(text string) {
		lines = append(lines, render.Line{})
		lines = append(lines, render.Wrap(render.Of(render.Heading, text), o.width())...)
	}
	items := func(name string, list []string) {
		if len(list) == 0 {
			return
		}
		title(name)
		for _, item := range list {
			lines = append(lines, o.item(render.Span{Text: o.Look.Glyphs.Bullet, Role: render.Dim}, item)...)
		}
	}
	items("Accomplished", d.Accomplished)
	items("Remaining", d.Remaining)
	steps := make([]string, len(d.Steps))
	for i, s := range d.Steps {
		steps[i] = s.String()
	}
	items("Steps", steps)
	if strings.TrimSpace(d.KeyContext) != "" {
		title("Key context")
		lines = append(lines, o.markdown(render.Base, strings.Trim(d.KeyContext, "\n"))...)
	}
	if len(d.Decisions) > 0 {
		title("Decisions")
	}
	for _, x := range d.Decisions {
		lines = append(lines, o.item(render.Span{Text: o.Look.Glyphs.Bullet, Role: render.Dim}, x.Choice)...)
		lines = append(lines, o.aside("rejected: ", x.Rejected)...)
		lines = append(lines, o.aside("why: ", x.Why)...)
	}
	items("Constraints", d.Constraints)
	items("Files", d.Files)
	if n := max(len(d.Checks), len(h.Receipts)); n > 0 {
		title("Checks")
		for i := range n {
			lines = append(lines, o.checked(d, h.Receipts, i)...)
		}
	}
	items("Open questions", d.OpenQuestions)
	if len(d.Claims) > 0 {
		title("Claims")
	}
	for i, c := range d.Claims {
		proof := proofOf(h, i)
		lines = append(lines, o.item(o.mark(proof), c.Claim)...)
		claimed := "not said to be verified"
		if c.Verified {
			claimed = "said to be verified"
		}
		lines = append(lines, o.aside(proof+"; ", claimed)...)
	}
	return lines
}

// mark returns the mark of a result of a check, or of a claim.
func (o EventOptions) mark(result string) render.Span {
	switch result {
	case verdict.Verified, verdict.CheckPassed:
		return render.Span{Text: o.Look.Glyphs.Done, Role: render.Good}
	case verdict.Refuted, verdict.CheckFailed:
		return render.Span{Text: o.Look.Glyphs.Failed, Role: render.Bad}
	}
	return render.Span{Text: o.Look.Glyphs.Pending, Role: render.Pending}
}

// item is one entry of a list.
func (o EventOptions) item(mark render.Span, text string) []render.Line {
	return o.behind(mark, o.within(markWidth(mark.Text)).markdown(render.Base, strings.Trim(text, "\n")))
}

// aside lays out a remark on an item, below it.
func (o EventOptions) aside(label, text string) []render.Line {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return inset(render.WrapText(render.Dim, label+text, o.within(o.step()).width()), o.step())
}

// checked lays out a check of the document with the result.
func (o EventOptions) checked(d *verdict.Document, receipts []verdict.Receipt, i int) []render.Line {
	var r verdict.Receipt
	ran := i < len(receipts)
	if ran {
		r = receipts[i]
	}
	if i < len(d.Checks) {
		r.Command, r.Expect = eventtext.FirstOf(d.Checks[i].Command, r.Command),
			eventtext.FirstOf(d.Checks[i].Expect, r.Expect)
	}
	if !ran {
		r.Result, r.Exit = verdict.CheckUnrun, -1
	}
	return o.receipt(r)
}

// receipt lays out the result of one check.
func (o EventOptions) receipt(r verdict.Receipt) []render.Line {
	mark := o.mark(r.Result)
	code := o.within(markWidth(mark.Text)).highlight("sh", r.Command)
	lines := o.behind(mark, code)
	lines = append(lines, o.aside("expected: ", r.Expect)...)
	lines = append(lines, o.aside("", eventtext.Outcome(r))...)
	lines = append(lines, o.aside("", r.Why)...)
	if r.Result != verdict.CheckPassed && r.Output != "" {
		inner := o.within(o.step())
		inner.Open = true // stored outputs are bounded already
		rows, _ := inner.output(render.Dim, r.Output, 0)
		lines = append(lines, inset(rows, o.step())...)
	}
	return lines
}
