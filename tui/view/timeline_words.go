package view

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// maxMoments is how many moments of an agent are described.
const maxMoments = 20

// Words describes the timeline in words: for each agent how long it worked, what it did and has cost, and
// the latest prominent moments.
func (t *Timeline) Words(names map[string]string, now time.Time) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.lanes) == 0 {
		return "Nothing has happened yet."
	}
	p := picture{
		Timeline:      t,
		TimelineView:  &TimelineView{gutter: 24},
		TimelineFrame: TimelineFrame{Names: names, Now: now},
		axis:          t.axis(now),
	}
	var b strings.Builder
	fmt.Fprintf(&b, "From %s to %s: %s", p.local(p.axis.Began).Format(time.DateTime),
		p.local(p.axis.Ended).Format(time.DateTime), eventtext.Span(p.axis.Len()))
	if n := len(t.cuts); n > 0 {
		fmt.Fprintf(&b, ", less %s in which nothing was played", words.Count(n, "pause"))
	}
	b.WriteString(".\n\n")
	for _, l := range t.lanes {
		fmt.Fprintf(&b, "- **%s**%s\n", p.name(l.id), p.summary(l))
		for _, s := range p.latestMoments(l) {
			fmt.Fprintf(&b, "  - %s\n", p.sentence(s))
		}
	}
	return b.String()
}

// dollars formats an amount, marked if a scripted model made it up.
func (t *Timeline) dollars(usd float64) string {
	return eventtext.Dollars(usd) + eventtext.Simulated(t.simulated)
}

// summary counts what an agent did.
func (p *picture) summary(l *lane) string {
	var parts []string
	if l.turns > 0 {
		parts = append(parts, words.Count(l.turns, "turn"))
	}
	if l.tools > 0 {
		parts = append(parts, words.Count(l.tools, "call"))
	}
	waited := l.waited
	for s := range p.all(l, p.Now) {
		if s.Open && s.Kind == TimelineWait {
			waited += s.Until.Sub(s.From)
		}
	}
	if waited > 0 {
		parts = append(parts, "waited "+eventtext.Span(waited)+" for you")
	}
	if l.cost() > 0 {
		parts = append(parts, p.dollars(l.cost()))
	}
	if len(parts) == 0 {
		return ""
	}
	return ": " + strings.Join(parts, ", ")
}

// latestMoments returns the latest moments of a lane, in order.
func (p *picture) latestMoments(l *lane) []Span {
	list := slices.DeleteFunc(slices.Collect(p.all(l, p.Now)), func(s Span) bool { return s.Kind < moments })
	slices.SortStableFunc(list, func(a, b Span) int { return a.From.Compare(b.From) })
	return list[max(len(list)-maxMoments, 0):]
}

// sentence describes a moment, with its time.
func (p *picture) sentence(s Span) string {
	text := p.local(s.From).Format("15:04:05") + " " + kindWords[s.Kind]
	if s.N > 1 {
		text += fmt.Sprintf(", %s times", words.Number(s.N))
	}
	if d := s.Until.Sub(s.From); d > 0 {
		text += ", " + eventtext.Span(d)
	}
	if s.Open {
		text += ", and goes on"
	}
	if s.Text != "" {
		text += ": " + s.Text
	}
	return text
}
