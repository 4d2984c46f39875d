package rehearsal

import (
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/transcript"
)

// resumePosition goes back to the first answer that is missing or incomplete in the history: the CLI was killed
// before it had kept it, and was resumed. Then it kept none of the later ones either. An answer that was
// cut on purpose counts as given; one that a compaction removed had arrived.
func (p *part) resumePosition(c *call) (moved bool) {
	at, arrived := 0, 0
	for i, g := range p.given {
		if j := slices.IndexFunc(c.history[at:], g.begins); j >= 0 {
			at, arrived = at+j+1, i+1
		}
	}
	if p.compacted = p.compacted && arrived == 0; p.compacted {
		p.compacted, p.given = false, nil
		return false
	}
	cut := onPurpose(c.pending)
	switch last := len(c.history) - 1; {
	case last < 0:
	case arrived > 0 && at == last+1 && !cut && !p.given[arrived-1].whole(c.history[last]):
		arrived--
		c.withdraw(last)
	case arrived < len(p.given) && at <= last && cut && p.given[arrived].beginsWith(c.history[last]):
		arrived++
	}
	arrived += len(spent(c.pending))
	if arrived >= len(p.given) {
		return false
	}
	p.pos, p.times = p.given[arrived].pos, p.given[arrived].times
	p.given = p.given[:arrived]
	return true
}

// begins reports whether an exchange contains the answer, or the beginning of it.
func (g given) begins(x exchange) bool {
	return slices.ContainsFunc(x.answer, func(b transcript.Block) bool {
		return b.ID != "" && slices.Contains(g.toolIDs, b.ID) || g.text != "" && strings.Contains(b.Text, g.text)
	})
}

// whole reports whether the exchange contains all of its calls.
func (g given) whole(x exchange) bool {
	return len(g.toolIDs) == countCalls(x.answer)
}

// beginsWith reports whether the exchange's text is the beginning of the answer's.
func (g given) beginsWith(x exchange) bool {
	kept := strings.TrimSpace(x.answer.text())
	return kept != "" && strings.HasPrefix(g.text, kept)
}

func countCalls(c content) int {
	n := 0
	for _, b := range c {
		if b.Type == "tool_use" {
			n++
		}
	}
	return n
}

// catchUp moves a part that is met in the middle to the place where its history ends: a session that is
// resumed against a new server continues from there, not from the start. Steps that refuse leave no trace
// in a history and are skipped.
func (p *part) catchUp(s *stage, c *call) {
	if p.actor == nil || c.aside != asideNone {
		return
	}
	for i := 0; i < len(c.history); {
		x := c.history[i]
		p.skipSpent(s, x.incoming)
		p.skipRefusals()
		pos, times := p.pos, p.times
		st, groups, _ := p.next(textOf(x.incoming))
		s.capture(p, groups)
		if st.leftOpen(x.answer) && !onPurpose(c.after(i)) {
			p.pos, p.times = pos, times
			c.withdraw(i)
			continue
		}
		i++
	}
	p.skipSpent(s, c.pending)
}

func (p *part) skipSpent(s *stage, words []inputPart) {
	for _, i := range spent(words) {
		p.skipRefusals()
		_, groups, _ := p.next(textOf(words[:i]))
		s.capture(p, groups)
	}
}

func (p *part) skipRefusals() {
	for p.pos < len(p.actor.steps) && !p.actor.steps[p.pos].fault.answers() {
		p.pos, p.times = p.pos+1, 0
	}
}

// leftOpen reports whether an answer is only the beginning of the step's content: the CLI keeps each block
// when it is complete.
func (st *step) leftOpen(answer content) bool {
	switch {
	case st == nil || st.stopReason != "":
		return false
	case len(st.use) > 0:
		return countCalls(answer) < len(st.use)
	}
	return st.say != nil && answer.text() == ""
}
