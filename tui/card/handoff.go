package card

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/cell"
)

// handoff is the card of a document that passes from one to another.
func (o Options) handoff(h contract.Handoff) (lines []cell.Line, foldable bool) {
	d := h.Document
	if d == nil {
		return o.sentence(cell.Dim, "", "There is no document."), false
	}
	lines = o.tally(h)
	if h.DrawnUp != "" {
		lines = append(lines, o.sentence(cell.Warn, o.Look.Glyphs.Failed, "Drawn up by the supervisor in its author's place: "+one(h.DrawnUp, maxWords))...)
	}
	if d.Empty() {
		return lines, false
	}
	if o.Open {
		return append(lines, o.document(h)...), true
	}
	shown, _ := o.body(cell.Base, firstOf(d.KeyContext, strings.Join(d.Accomplished, "\n")), foldBrief)
	return append(lines, shown...), true
}

// tally counts what the document holds and what its checks and claims came to.
func (o Options) tally(h contract.Handoff) []cell.Line {
	d, g := h.Document, o.Look.Glyphs
	var parts []cell.Line
	add := func(n int, r cell.Role, mark, text string) {
		if n == 0 {
			return
		}
		l := cell.Line{{Text: words.Number(n) + " " + text, Role: r}}
		if mark != "" {
			l = append(cell.Line{{Text: mark + " ", Role: r}}, l...)
		}
		parts = append(parts, l)
	}
	add(len(d.Accomplished), cell.Base, "", "accomplished")
	add(len(d.Remaining), cell.Base, "", "remaining")
	add(len(d.Decisions), cell.Base, "", "decided")
	if n := len(d.OpenQuestions); n == 1 {
		add(n, cell.Warn, "", "open question")
	} else {
		add(n, cell.Warn, "", "open questions")
	}
	lines := o.joined(parts)

	passed, failed, open := d.Tally(h.Receipts)
	parts = nil
	add(passed, cell.Good, g.Done, "passed")
	add(failed, cell.Bad, g.Failed, "failed")
	add(open, cell.Pending, g.Pending, "unproven")
	lines = append(lines, o.labelled("checks", parts)...)

	counts := map[string]int{}
	for i := range d.Claims {
		counts[proofOf(h, i)]++
	}
	parts = nil
	add(counts[verdict.Verified], cell.Good, g.Done, verdict.Verified)
	add(counts[verdict.Refuted], cell.Bad, g.Failed, verdict.Refuted)
	add(counts[verdict.Unverified], cell.Pending, g.Pending, verdict.Unverified)
	return append(lines, o.labelled("claims", parts)...)
}

func (o Options) labelled(label string, parts []cell.Line) []cell.Line {
	if len(parts) == 0 {
		return nil
	}
	parts[0] = append(cell.Line{{Text: label + "  ", Role: cell.Dim}}, parts[0]...)
	return o.joined(parts)
}

// proofOf is what is proven of a claim; what nobody has proven is not.
func proofOf(h contract.Handoff, i int) string {
	if i < len(h.Proofs) {
		switch p := h.Proofs[i]; p {
		case verdict.Verified, verdict.Refuted:
			return p
		}
	}
	return verdict.Unverified
}

// document is the whole of it.
func (o Options) document(h contract.Handoff) []cell.Line {
	d := h.Document
	var lines []cell.Line
	title := func(text string) {
		lines = append(lines, cell.Line{})
		lines = append(lines, cell.Wrap(cell.Of(cell.Heading, text), o.width())...)
	}
	items := func(name string, list []string) {
		if len(list) == 0 {
			return
		}
		title(name)
		for _, item := range list {
			lines = append(lines, o.item(cell.Span{Text: o.Look.Glyphs.Bullet, Role: cell.Dim}, item)...)
		}
	}
	items("Accomplished", d.Accomplished)
	items("Remaining", d.Remaining)
	if strings.TrimSpace(d.KeyContext) != "" {
		title("Key context")
		lines = append(lines, o.markdown(cell.Base, strings.Trim(d.KeyContext, "\n"))...)
	}
	if len(d.Decisions) > 0 {
		title("Decisions")
	}
	for _, x := range d.Decisions {
		lines = append(lines, o.item(cell.Span{Text: o.Look.Glyphs.Bullet, Role: cell.Dim}, x.Choice)...)
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
		lines = append(lines, o.item(o.proofMark(proof), c.Claim)...)
		said := "not said to be verified"
		if c.Verified {
			said = "said to be verified"
		}
		lines = append(lines, o.aside(proof+"; ", said)...)
	}
	return lines
}

func (o Options) proofMark(proof string) cell.Span {
	switch proof {
	case verdict.Verified:
		return cell.Span{Text: o.Look.Glyphs.Done, Role: cell.Good}
	case verdict.Refuted:
		return cell.Span{Text: o.Look.Glyphs.Failed, Role: cell.Bad}
	}
	return cell.Span{Text: o.Look.Glyphs.Pending, Role: cell.Pending}
}

// item is one entry of a list.
func (o Options) item(mark cell.Span, text string) []cell.Line {
	return o.behind(mark, o.within(markWidth(mark.Text)).markdown(cell.Base, strings.Trim(text, "\n")))
}

// aside is what is said of an item, below it.
func (o Options) aside(label, text string) []cell.Line {
	if text = strings.TrimSpace(text); text == "" {
		return nil
	}
	return inset(cell.WrapText(cell.Dim, label+text, o.within(o.step()).width()), o.step())
}

// checked is a check of the document with what came of it.
func (o Options) checked(d *verdict.Document, receipts []verdict.Receipt, i int) []cell.Line {
	var r verdict.Receipt
	ran := i < len(receipts)
	if ran {
		r = receipts[i]
	}
	if i < len(d.Checks) {
		r.Command, r.Expect = firstOf(d.Checks[i].Command, r.Command), firstOf(d.Checks[i].Expect, r.Expect)
	}
	if !ran {
		r.Result, r.Exit = verdict.CheckUnrun, -1
	}
	return o.receipt(r)
}

// receipt is what came of one check.
func (o Options) receipt(r verdict.Receipt) []cell.Line {
	mark := o.resultMark(r.Result)
	code := o.within(markWidth(mark.Text)).highlight("sh", r.Command)
	lines := o.behind(mark, code)
	lines = append(lines, o.aside("expected: ", r.Expect)...)
	lines = append(lines, o.aside("", outcome(r))...)
	lines = append(lines, o.aside("", r.Why)...)
	if r.Result != verdict.CheckPassed && r.Output != "" {
		inner := o.within(o.step())
		inner.Open = true // the end of an output is bounded where it is kept
		rows, _ := inner.output(cell.Dim, r.Output, 0)
		lines = append(lines, inset(rows, o.step())...)
	}
	return lines
}

func (o Options) resultMark(result string) cell.Span {
	switch result {
	case verdict.CheckPassed:
		return cell.Span{Text: o.Look.Glyphs.Done, Role: cell.Good}
	case verdict.CheckFailed:
		return cell.Span{Text: o.Look.Glyphs.Failed, Role: cell.Bad}
	}
	return cell.Span{Text: o.Look.Glyphs.Pending, Role: cell.Pending}
}

// outcome is how a check ended: its exit code, and what it wrote.
func outcome(r verdict.Receipt) string {
	text := one(r.Result, maxName)
	if r.Result == verdict.CheckUnrun || r.Result == "" {
		return "not run"
	}
	if r.SHA256 == "" {
		return text
	}
	if r.Exit >= 0 {
		text += ", exit " + words.Number(r.Exit)
	} else {
		text += ", ended by a signal"
	}
	text += after(", ", millis(r.DurationMS)) + ", " + words.Number(r.Bytes) + " bytes"
	return text + ", sha256 " + one(r.SHA256, 13)
}

func firstOf(texts ...string) string {
	for _, t := range texts {
		if strings.TrimSpace(t) != "" {
			return t
		}
	}
	return ""
}
