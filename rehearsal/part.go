package rehearsal

import (
	"fmt"
	"math"
	"slices"
	"strings"
)

// part is one actor in one conversation.
type part struct {
	actor    *actor // nil: no actor fits
	ordinal  int    // the how-manieth part of this actor
	pos      int    // step that comes next
	times    int    // how often it was played already
	captured map[string]string
	last     *given
	messages int // of the last request
	bytes    int // of the last request
	context  int // tokens the last answer claimed
}

// given is an answer the script gave, by which to see whether it arrived.
type given struct {
	pos, times int // where the part stood before
	toolIDs    []string
	text       string
}

// catchUp brings a part that is met in mid-course to where its history ends:
// a session that is resumed against a new server goes on, not from the start.
// Steps that refuse leave no trace in a history and are skipped.
func (p *part) catchUp(s *stage, c *call) {
	if p.actor == nil || c.aside != asideNone {
		return
	}
	for _, x := range c.history {
		for p.pos < len(p.actor.steps) && !p.actor.steps[p.pos].fault.answers() {
			p.pos, p.times = p.pos+1, 0
		}
		_, groups, _ := p.next(x.incoming)
		s.capture(p, groups)
	}
}

// next chooses the step for what came in, and moves on. A nil step means that
// the script has ended.
func (p *part) next(incoming string) (st *step, groups map[string]string, problem string) {
	steps, otherwise := p.actor.steps, p.actor.otherwise
	for p.pos < len(steps) {
		st = steps[p.pos]
		if groups, ok := st.matches(incoming); ok {
			p.advance(st)
			return st, groups, ""
		}
		// A repeated step that was played is over when what it expects ends.
		if p.times == 0 || p.pos+1 == len(steps) {
			break
		}
		p.pos, p.times = p.pos+1, 0
	}
	if otherwise != nil {
		if groups, ok := otherwise.matches(incoming); ok {
			return otherwise, groups, ""
		}
	}
	if p.pos >= len(steps) {
		return nil, nil, fmt.Sprintf("no step is left for: %s", excerpt(incoming))
	}
	// The play goes on, so that one wrong word does not hide what follows.
	p.advance(st)
	return st, nil, fmt.Sprintf("line %d: expected /%v/, got: %s", st.line, st.expect, excerpt(incoming))
}

func (p *part) advance(st *step) {
	if p.times++; p.times >= st.repeat && st.repeat != math.MaxInt {
		p.pos, p.times = p.pos+1, 0
	}
}

func (st *step) matches(incoming string) (map[string]string, bool) {
	if st.expect == nil {
		return nil, true
	}
	m := st.expect.FindStringSubmatch(incoming)
	if m == nil {
		return nil, false
	}
	groups := map[string]string{}
	for i, name := range st.expect.SubexpNames() {
		if name != "" && m[i] != "" {
			groups[name] = m[i]
		}
	}
	return groups, true
}

// remember notes the answer. One that a fault withholds, or that ends for a
// reason of its own (a refusal is never kept), cannot get lost.
func (p *part) remember(c *call, before given, r reply) {
	p.messages, p.last = len(c.Messages), nil
	if r.fault != nil || r.stop != "" {
		return
	}
	for _, b := range r.blocks {
		switch b.kind {
		case "text":
			before.text = strings.TrimSpace(b.text)
		case "tool_use":
			before.toolIDs = append(before.toolIDs, b.id)
		}
	}
	if before.text != "" || len(before.toolIDs) > 0 {
		p.last = &before
	}
}

// lost reports whether the last answer never became part of the conversation:
// the CLI was killed while it came in, and was resumed. A shorter conversation
// was compacted, and an interrupted answer was cut off on purpose, with or
// without its beginning kept: neither is a loss.
func (p *part) lost(c *call) bool {
	if p.last == nil || len(c.Messages) < p.messages || strings.Contains(c.incoming, "[Request interrupted by user") {
		return false
	}
	for i, x := range c.history {
		if kept := strings.TrimSpace(x.answer.text()); i == len(c.history)-1 && kept != "" && strings.HasPrefix(p.last.text, kept) {
			return false
		}
		for _, b := range x.answer {
			if slices.Contains(p.last.toolIDs, b.ID) || p.last.text != "" && strings.Contains(b.Text, p.last.text) {
				return false
			}
		}
	}
	return true
}
