package view

import (
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// message is the card of a message from one party to another.
func (o EventOptions) message(e history.Entry, m contract.Message) EventView {
	c := begin(m.From)
	if e.Edited != nil {
		m = *e.Edited
	}
	var tail render.Line
	if kind := eventtext.One(m.Kind, eventtext.MaxName); kind != "" && kind != "message" {
		tail = append(tail, render.Span{Text: kind, Role: render.Dim})
	}
	if m.Edited {
		tail = append(tail, render.Span{Text: eventtext.After(map[bool]string{true: " "}[len(tail) > 0], "edited"),
			Role: render.Dim})
	}
	if m.To != contract.Human {
		if mark := o.taken(e); mark.Text != "" {
			if len(tail) > 0 {
				tail = append(tail, render.Span{Text: " ", Role: render.Dim})
			}
			tail = append(tail, mark)
		}
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
	if e.Outcome == nil {
		text := o.Look.Glyphs.Pending
		if m, ok := e.Event.Body.(contract.Message); ok && m.From == contract.Human {
			text += " waits"
		}
		return render.Span{Text: text, Role: render.Pending}
	}
	if eventtext.Withdrawn(e) {
		return render.Span{Text: "taken back", Role: render.Warn}
	}
	if _, ok := e.Outcome.Body.(contract.Delivered); ok {
		return render.Span{Text: o.Look.Glyphs.Done, Role: render.Dim}
	}
	return render.Span{}
}

// decision is the card of a decision, of one line or two.
func (o EventOptions) decision(e contract.Event, d contract.Decision) EventView {
	c := begin(e.ID)
	r := render.SpeakerArbiter
	if e.ID != contract.Arbiter {
		r = render.Speaker(e.ID)
	}
	l := render.Line{{Text: o.plainly(eventtext.Decision(o.Name, d)), Role: r}}
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

// plainly replaces the characters of our own texts that an ASCII terminal does not have.
func (o EventOptions) plainly(text string) string {
	return strings.ReplaceAll(text, "–", o.Look.Glyphs.Skipped)
}

func (o EventOptions) spawn(e contract.Event, s contract.Spawn) EventView {
	c := begin(e.ID)
	r := render.Speaker(e.ID)
	lines := o.sentence(r, o.Look.Glyphs.Current, o.plainly(eventtext.AgentSpawned(e, s, o.Name)))
	c.Lines = lines
	if strings.TrimSpace(s.Prompt) != "" && !s.Resumed {
		c.Foldable = true // its brief comes as a message, too
		if o.Open {
			c.Lines = append(c.Lines, o.markdown(render.Dim, strings.Trim(s.Prompt, "\n"))...)
		}
	}
	return c
}

// permission is the card of a permission request and its result.
func (o EventOptions) permission(e history.Entry, p contract.PermissionRequest) EventView {
	c := begin(e.Event.ID)
	decided, open := contract.Permission{}, true
	if e.Outcome != nil {
		if d, ok := e.Outcome.Body.(contract.Permission); ok {
			decided, open = d, false
		}
	}
	role := render.Base
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
	g := o.Look.Glyphs
	switch {
	case open:
		c.Lines = append(c.Lines, o.sentence(render.Alert, g.Pending, "It waits for your answer.")...)
	case decided.Behavior == "allow":
		c.Lines = append(c.Lines, o.sentence(render.Good, g.Done, eventtext.Answered(decided))...)
	default:
		c.Lines = append(c.Lines, o.sentence(render.Bad, g.Failed, eventtext.Answered(decided))...)
	}
	return c
}

// taking is the card of a takeover: what was done in it is folded.
func (o EventOptions) taking(e contract.Event, t contract.Takeover, r render.Role) EventView {
	c := o.quiet(e, r, o.Look.Glyphs.Current, eventtext.Line(e, o.Name))
	digest := strings.Trim(t.Digest, "\n")
	if strings.TrimSpace(digest) == "" {
		return c
	}
	if c.Foldable = true; o.Open {
		c.Lines = append(c.Lines, o.markdown(render.Dim, digest)...)
	}
	return c
}
