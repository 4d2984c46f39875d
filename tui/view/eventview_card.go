package view

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// EventTalk lays out an entry of the conversation.
func EventTalk(e history.Entry, o EventOptions) Block {
	if _, ok := e.Event.Body.(contract.SubagentStop); ok { // one line: in the conversation it is below no card
		return o.quiet(e.Event, render.Dim, "", eventtext.Line(e.Event, o.Name)).finish(o)
	}
	return o.card(e).finish(o)
}

// EventStream lays out an entry of what one agent does.
func EventStream(e history.Entry, o EventOptions) Block { return o.card(e).finish(o) }

func (o EventOptions) card(e history.Entry) Block {
	g := o.Look.Glyphs
	switch b := e.Event.Body.(type) {
	case contract.Message:
		return o.message(e, b)
	case contract.Question:
		c := begin(e.Event.ID)
		role, open := render.Base, e.Outcome == nil
		if open {
			role, c.Gutter = render.Alert, render.Alert
			o.Open = true // the question is at its end
		}
		c.Head = o.titled(render.Line{{Text: o.name(e.Event.ID) + " asks", Role: role}}, nil, e.At)
		c.Lines, c.Foldable = o.body(render.Base, b.Text, 3*foldBody)
		c.Foldable = c.Foldable && !open
		return c
	case contract.Decision:
		return o.decision(e.Event, b)
	case contract.Handoff:
		c := begin(b.From)
		kind := render.Of(render.Dim, "hand-off")
		c.Head = o.head(b.From, b.To, append(slices.Clone(kind), o.proven(b)...), e.At)
		if !strings.Contains(c.Head.Text(), kind.Text()) { // there is no room for both
			c.Head = o.head(b.From, b.To, kind, e.At)
		}
		c.Lines, c.Foldable = o.handoff(b)
		return c
	case contract.Spawn:
		c := begin(e.Event.ID)
		r := render.Speaker(e.Event.ID)
		c.Lines = o.sentence(r, o.Look.Glyphs.Current, eventtext.AgentSpawned(e.Event, b, o.Name))
		if strings.TrimSpace(b.Prompt) != "" && !b.Resumed {
			c.Foldable = true // its brief comes as a message, too
			if o.Open {
				c.Lines = append(c.Lines, o.markdown(render.Dim, strings.Trim(b.Prompt, "\n"))...)
			}
		}
		return c
	case contract.PermissionRequest:
		return o.permission(e, b)
	case contract.Permission:
		r, mark := o.answer(b)
		text := eventtext.Answered(b)
		if tool := eventtext.ToolName(b.Tool); tool != "" {
			text = tool + ": " + eventtext.Lower(text)
		}
		return o.quiet(e.Event, r, mark, text)
	case contract.Error:
		return o.errorView(e, b)
	case contract.Result:
		return o.result(e, b)
	case contract.Session:
		return o.session(e.Event, b)
	case contract.Plan:
		return o.plan(e.Event, b)
	case contract.Check:
		c := begin(e.Event.ID)
		if !o.Open {
			b.Receipt.Output = ""
		}
		c.Lines = append(o.sentence(render.Dim, "", eventtext.CheckNumber(b)), o.receipt(b.Receipt)...)
		c.Lines = append(c.Lines, o.aside("", eventtext.LastChange(b, o.Name))...)
		c.Foldable = b.Receipt.Output != "" || o.Open
		return c
	case contract.ContextWarning:
		r := render.Warn
		if b.Level == "critical" {
			r = render.Bad
		}
		return o.quiet(e.Event, r, "", "Context thins. "+o.name(e.Event.ID)+": "+eventtext.Percent(b.Pct))
	case contract.Assistant:
		c := o.under(e.Event, b.Subagent)
		o = o.inside(c.Indent)
		if b.Subagent == "" {
			c.Head = o.head(e.Event.ID, "", nil, e.At)
		}
		c.Lines, c.Foldable = o.body(render.Base, b.Text, foldBody)
		return c
	case contract.ToolUse:
		return o.toolUse(e, b)
	case contract.ToolResult:
		c := o.under(e.Event, b.Subagent)
		o = o.inside(c.Indent)
		c.Lines, c.Foldable = o.toolResult(b)
		return c
	case contract.ToolCall:
		c := begin(e.Event.ID)
		const mark = 2
		c.Lines = o.behind(render.Span{Text: o.Look.Glyphs.Arrow, Role: render.SpeakerArbiter},
			[]render.Line{o.call(b.Tool, b.Input, o.within(mark).width())})
		if c.Foldable = len(b.Input) > len("{}"); o.Open {
			c.Lines = append(c.Lines, inset(o.within(o.step()).input(b.Tool, b.Input), o.step())...)
		}
		return c
	case contract.SubagentStart:
		return o.subagent(e, b)
	case contract.SubagentStop:
		c := o.under(e.Event, b.ToolUse)
		text, failed := eventtext.SubagentEnd(b)
		role, mark := render.Dim, o.Look.Glyphs.Done
		if failed {
			role, mark = render.Bad, o.Look.Glyphs.Failed
		}
		c.Lines = o.inside(c.Indent).sentence(role, mark, eventtext.One(b.Description, eventtext.MaxSummary)+": "+text)
		return c
	case contract.SubagentProgress:
		c := o.under(e.Event, b.ToolUse)
		c.Lines = o.inside(c.Indent).sentence(render.Dim, o.Look.Glyphs.Current,
			eventtext.One(b.Description, eventtext.MaxSummary)+": "+eventtext.Progress(b))
		return c
	case contract.Turn:
		c := begin(e.Event.ID)
		c.Lines = []render.Line{o.rule(o.priced(b, eventtext.Turn(b)))}
		return c
	case contract.Takeover:
		r := render.Warn
		if b.State == "failed" {
			r = render.Bad
		}
		c := o.quiet(e.Event, r, o.Look.Glyphs.Current, eventtext.Line(e.Event, o.Name))
		digest := strings.Trim(b.Digest, "\n")
		if strings.TrimSpace(digest) == "" {
			return c
		}
		if c.Foldable = true; o.Open {
			c.Lines = append(c.Lines, o.markdown(render.Dim, digest)...)
		}
		return c
	case contract.Halted:
		c := o.quiet(e.Event, render.Danger, g.Failed, eventtext.Line(e.Event, o.Name))
		c.Gutter = render.Bad
		return c
	case contract.Rejected:
		return o.quiet(e.Event, render.Warn, g.Failed, eventtext.One(b.Message, eventtext.MaxWords))
	}
	return o.quiet(e.Event, render.Dim, "", eventtext.Line(e.Event, o.Name))
}

func (o EventOptions) message(e history.Entry, m contract.Message) Block {
	c := begin(m.From)
	if e.Edited != nil {
		m = *e.Edited
	}
	var tail render.Line
	add := func(s render.Span) {
		if len(tail) > 0 && s.Text != "" {
			tail = append(tail, render.Span{Text: " ", Role: render.Dim})
		}
		if s.Text != "" {
			tail = append(tail, s)
		}
	}
	if m.Kind != "message" {
		add(render.Span{Text: eventtext.One(m.Kind, eventtext.MaxName), Role: render.Dim})
	}
	if m.Edited {
		add(render.Span{Text: "edited", Role: render.Dim})
	}
	if m.To != contract.Human {
		add(o.taken(e))
	}
	c.Head = o.head(m.From, m.To, tail, e.At)
	role, keep := render.Base, foldBody
	if m.From == contract.Supervisor { // messages of the program are of minor importance
		role, keep = render.Dim, foldBrief
	}
	if m.From == contract.Human || m.To == contract.Human && m.Kind != "report" {
		keep = 3 * foldBody // written by the reader, or for the reader
	}
	if eventtext.Withdrawn(e) {
		c.Lines, c.Foldable = o.words(render.Strike, m.Text, foldBrief)
		return c
	}
	// Each brief ends in the same note about the other agents: it is folded.
	if own, note, ok := strings.Cut(m.Text, contract.BriefCompany); ok && m.Kind == "brief" && !o.Open {
		c.Lines, _ = o.body(role, own, keep)
		c.Lines = append(c.Lines, o.more(strings.Count(strings.TrimSpace(note), "\n")+2, 0))
		c.Foldable = true
		return c
	}
	c.Lines, c.Foldable = o.body(role, m.Text, keep)
	return c
}

// taken returns the mark of whether a message was delivered.
func (o EventOptions) taken(e history.Entry) render.Span {
	switch e.Outcome.(type) {
	case nil:
		text := o.Look.Glyphs.Pending
		if m, ok := e.Event.Body.(contract.Message); ok && m.From == contract.Human {
			text += " waits"
		}
		return render.Span{Text: text, Role: render.Pending}
	case contract.Withdrawn:
		return render.Span{Text: "taken back", Role: render.Warn}
	case contract.Delivered:
		return render.Span{Text: o.Look.Glyphs.Done, Role: render.Dim}
	}
	return render.Span{}
}

// decision is the card of a decision, of one line or two.
func (o EventOptions) decision(e contract.Event, d contract.Decision) Block {
	c := begin(e.ID)
	r := render.SpeakerArbiter
	if e.ID != contract.Arbiter {
		r = render.Speaker(e.ID)
	}
	l := render.Line{{Text: eventtext.Decision(o.Name, d), Role: r}}
	if who := eventtext.Authority(d.Source); who != "" {
		l = append(l, render.Span{Text: "  " + who, Role: render.Warn})
	}
	if d.Number > 0 {
		l = append(l, render.Span{Text: "  " + eventtext.DecisionNumber(d), Role: render.Dim})
	}
	mark := render.Span{Text: o.Look.Glyphs.Current, Role: r}
	if d.Decision == "COMPLETE" {
		mark = render.Span{Text: o.Look.Glyphs.Done, Role: render.Good}
	}
	space := o.within(markWidth(mark.Text))
	lines := render.Wrap(l, space.prose())
	if reason := strings.Trim(d.Reason, "\n"); strings.TrimSpace(reason) != "" {
		more, foldable := space.words(render.Dim, reason, 2)
		lines, c.Foldable = append(lines, more...), foldable
	}
	if why := strings.Join(eventtext.Warnings(d), "\n"); why != "" {
		more, foldable := space.words(render.Warn, why, foldBrief)
		lines, c.Foldable = append(lines, more...), c.Foldable || foldable
	}
	c.Lines = o.behind(mark, lines)
	return c
}

// permission is the card of a permission request and its result.
func (o EventOptions) permission(e history.Entry, p contract.PermissionRequest) Block {
	c := begin(e.Event.ID)
	decided, over := e.Outcome.(contract.Permission)
	role, open := render.Base, !over
	if open {
		role, c.Gutter = render.Alert, render.Alert
	}
	who := o.name(e.Event.ID)
	if p.Subagent != "" {
		who = "A subagent of " + who
	}
	c.Head = o.titled(render.Line{{Text: who + " asks to use " + eventtext.ToolName(p.Tool), Role: role}}, nil,
		e.At)
	inner := o.within(o.step())
	if !o.Open && !open && len(p.Input) > eventtext.MaxFullText {
		inner.most = foldResult + foldSlack + 1
	}
	shown := inner.input(p.Tool, p.Input)
	// A person has to judge an open request, so it is shown completely.
	if c.Foldable = !open && (len(shown) > foldResult+foldSlack || inner.most > 0); c.Foldable && !o.Open {
		n := len(shown) - foldResult
		if inner.most > 0 {
			n = 0
		}
		keep := min(foldResult, len(shown))
		shown = append(shown[:keep:keep], inner.more(n, len(p.Input)))
	}
	c.Lines = inset(shown, o.step())
	if eventtext.Concealed(p.Input) {
		c.Lines = append(c.Lines, o.sentence(render.Warn, o.Look.Glyphs.Failed, eventtext.Unseen)...)
	}
	if why := eventtext.One(p.Reason, eventtext.MaxWords); why != "" {
		c.Lines = append(c.Lines, o.sentence(render.Dim, "", "Why it asks: "+why)...)
	}
	if open {
		c.Lines = append(c.Lines, o.sentence(render.Alert, o.Look.Glyphs.Pending, "It waits for your answer.")...)
		return c
	}
	role, mark := o.answer(decided)
	c.Lines = append(c.Lines, o.sentence(role, mark, eventtext.Answered(decided))...)
	return c
}

func (o EventOptions) answer(p contract.Permission) (render.Role, string) {
	if p.Behavior == "allow" {
		return render.Good, o.Look.Glyphs.Done
	}
	return render.Bad, o.Look.Glyphs.Failed
}

// errorView is the card of an error, with what can be done.
func (o EventOptions) errorView(e history.Entry, b contract.Error) Block {
	c := begin(e.Event.ID)
	c.Gutter = render.Bad
	tail := render.Of(render.Dim, eventtext.Category(string(b.Category)))
	c.Head = o.titled(render.Line{{Text: o.name(e.Event.ID), Role: render.Bad}}, tail, e.At)
	mark := render.Span{Text: o.Look.Glyphs.Failed, Role: render.Bad}
	c.Lines, c.Foldable = o.within(markWidth(mark.Text)).words(render.Base, strings.Trim(b.Message, "\n"), foldBody)
	c.Lines = o.behind(mark, c.Lines)
	var options []render.Line
	for _, option := range b.RecoveryOptions {
		if text := eventtext.One(option, 200); text != "" {
			options = append(options,
				render.Line{{Text: o.Look.Glyphs.Prompt + " ", Role: render.Dim}, {Text: text, Role: render.Strong}})
		}
	}
	c.Lines = append(c.Lines, o.joined(options)...)
	return c
}

func (o EventOptions) result(e history.Entry, b contract.Result) Block {
	c := begin(e.Event.ID)
	g := o.Look.Glyphs
	role, mark := render.Warn, g.Skipped
	switch b.Status {
	case contract.StatusComplete:
		role, mark = render.Good, g.Done
	case contract.StatusFailed:
		role, mark = render.Bad, g.Failed
	case contract.StatusNeedsInput:
		role, mark = render.Alert, g.Pending
	}
	c.Gutter = role
	c.Head = o.titled(render.Line{{Text: mark + " " + eventtext.Ending(b.Status), Role: role}}, nil, e.At)
	c.Lines, c.Foldable = o.body(render.Base, b.Summary, 2*foldBody)
	c.Lines = append(c.Lines, o.interrupted(b)...)
	c.Lines = append(c.Lines, o.joined(o.account(b))...)
	c.Lines = append(c.Lines, o.proved(b)...)
	return c
}

// proved lays out what was proved of a run's work, and what it changed.
func (o EventOptions) proved(b contract.Result) (lines []render.Line) {
	tally := func(label string, k contract.Checks) {
		lines = append(lines, o.labelled(label, o.results(k.Passed, k.Failed, k.Unproven, "passed",
			"failed"))...)
	}
	if b.Checks != nil {
		tally("checks", *b.Checks)
	}
	var criteria contract.Checks
	for _, a := range b.Acceptance {
		switch a.Status {
		case "passed":
			criteria.Passed++
		case "failed":
			criteria.Failed++
		default:
			criteria.Unproven++
		}
	}
	tally("criteria", criteria)
	if f := b.Changes; f != nil && f.Files > 0 {
		lines = append(lines, o.labelled("changed", []render.Line{
			render.Of(render.Base, words.Count(f.Files, "file")),
			render.Of(render.DiffAdd, "+"+words.Number(f.Added)),
			render.Of(render.DiffRemove, "-"+words.Number(f.Deleted)),
		})...)
	}
	return lines
}

// interrupted lists all interrupted work: a person has to check it.
func (o EventOptions) interrupted(b contract.Result) (lines []render.Line) {
	if len(b.InterruptedWork) > 0 {
		lines = o.sentence(render.Warn, "", "Left half-done:")
	}
	for _, text := range b.InterruptedWork {
		lines = append(lines, o.sentence(render.Base, o.Look.Glyphs.Bullet,
			eventtext.One(text, 2*eventtext.MaxWords))...)
	}
	return lines
}

func (o EventOptions) account(b contract.Result) []render.Line {
	var parts []render.Line
	for _, text := range eventtext.Spent(b) {
		parts = append(parts, render.Of(render.Dim, text))
	}
	if b.Rehearsal {
		parts = append(parts, render.Of(render.Danger, "a rehearsal"))
	}
	return parts
}

func (o EventOptions) session(e contract.Event, s contract.Session) Block {
	c := begin(e.ID)
	c.Lines = render.Wrap(render.Of(render.Motto, eventtext.Opening(s)), o.width())
	var parts []render.Line
	for _, text := range append([]string{
		eventtext.After("Claude Code ", eventtext.One(s.ClaudeVersion, eventtext.MaxName)), eventtext.One(s.CWD, 400),
		eventtext.After("run ", eventtext.One(s.Session, eventtext.MaxName))}, eventtext.Safety(s)...) {
		if text != "" {
			parts = append(parts, render.Of(render.Dim, text))
		}
	}
	for _, text := range eventtext.RiskWarnings(s) {
		parts = append(parts, render.Of(render.Danger, text))
	}
	c.Lines = append(c.Lines, o.joined(parts)...)
	return c
}

// plan is the card of the whole plan, folded to the finished steps and the current ones.
func (o EventOptions) plan(e contract.Event, p contract.Plan) Block {
	c := begin(e.ID)
	if len(p.Steps) == 0 && (len(p.Tasks) == 0 || !o.Open) {
		c.Lines = o.sentence(render.Dim, "", "The plan is empty.")
		c.Foldable = len(p.Tasks) > 0
		return c
	}
	c.Foldable = true
	c.Lines = o.sentence(render.Dim, "", eventtext.Planned(p))
	steps := p.Steps
	if !o.Open {
		steps = slices.DeleteFunc(slices.Clone(steps), func(s contract.Step) bool { return s.Status != contract.StepActive })
		steps = steps[:min(len(steps), foldBrief)]
	}
	for _, s := range steps {
		text := eventtext.One(s.Text, eventtext.MaxWords) + eventtext.Parenthesis(eventtext.Worker(s, o.Name))
		mark, _ := StepMark(o.Look.Glyphs, s.Status)
		lines := render.WrapText(render.Base, text, o.within(markWidth(mark.Text)).width())
		c.Lines = append(c.Lines, o.behind(mark, lines)...)
	}
	if o.Open {
		for _, t := range p.Tasks {
			c.Lines = append(c.Lines, o.sentence(render.Dim, "",
				o.name(t.Agent)+" keeps a list of its own: "+eventtext.Tally(t))...)
		}
	}
	return c
}

// This part of the package turns the events of a run into lines to draw: the conversation ([EventTalk]), what
// one agent does ([EventStream]), the logbook ([EventLog]), text that is still arriving ([EventLive]). Its
// texts are those of package eventtext.
//
// All of them are pure functions of an entry and its [EventOptions]; the package has no state and no goroutines.
//
// Callers pass sanitised events. The input of a tool is JSON and not sanitised: what this package decodes
// or shows of it, it sanitises. No line is wider than requested. Folded text is not laid out: the cost of a
// folded card depends on what it shows, that of an unfolded one is linear in its text.

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
		tallied{len(d.Left()), render.Base, "", "remaining"}, tallied{len(d.Decisions), render.Base, "", "decided"},
		tallied{len(d.OpenQuestions), render.Warn, "", questions}))
	passed, failed, open := d.Tally(h.Receipts)
	lines = append(lines, o.labelled("checks", o.results(passed, failed, open, "passed", "failed"))...)
	return append(lines, o.labelled("claims", o.claims(h))...)
}

func (o EventOptions) claims(h contract.Handoff) []render.Line {
	n := map[string]int{}
	for i := range h.Document.Claims {
		n[eventtext.Proof(h, i)]++
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
		proof := eventtext.Proof(h, i)
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
