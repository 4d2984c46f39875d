package supervisor

import (
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// inReach is how many messages may wait for an agent in [State.Mail], which is gone through
// at every step; beyond it a human's words wait in the backlog, which is not. A word then
// costs the same however many wait.
const inReach = 64

// with returns the backlog with one more message.
func (b backlog) with(m Mail) backlog {
	b.Parts = slices.Clone(b.Parts)
	last := len(b.Parts) - 1
	if last < 0 || len(b.Parts[last]) == inReach {
		b.Parts = append(b.Parts, []Mail{m})
		return b
	}
	b.Parts[last] = append(slices.Clip(b.Parts[last]), m)
	return b
}

// Queue returns all messages on their way to agents, those of the backlog last.
func (s *State) Queue() []Mail {
	list := slices.Clip(s.Mail)
	for _, b := range s.Backlog {
		for _, part := range b.Parts {
			list = append(list, part...)
		}
	}
	return list
}

// behind returns the backlog of an agent, -1: it has none.
func (s *State) behind(to string) int {
	return slices.IndexFunc(s.Backlog, func(b backlog) bool { return b.To == to })
}

// inLine counts the messages in reach that wait for an agent.
func (s *State) inLine(to string) int {
	n := 0
	for i := range s.Mail {
		if m := &s.Mail[i]; m.To == to && !m.Sent {
			n++
		}
	}
	return n
}

// fallBehind puts a word of a human's into the backlog if enough wait before it. Words that
// something is waiting for, or that do not wait for their turn, stay in reach.
func (st *step) fallBehind(m Mail) bool {
	plain := m.Kind == KindMessage || m.Kind == KindInterjection || m.Kind == KindInstruction || m.Kind == KindAnswer
	if m.From != contract.Human || !plain || m.Strength != "" && m.Strength != contract.Note {
		return false
	}
	i := st.behind(m.To)
	if i < 0 && st.inLine(m.To) < inReach {
		return false
	}
	st.Backlog = slices.Clone(st.Backlog)
	if i < 0 {
		i, st.Backlog = len(st.Backlog), append(st.Backlog, backlog{To: m.To})
	}
	st.Backlog[i] = st.Backlog[i].with(m)
	return true
}

// catchUp brings the oldest of the backlog into reach where there is room again.
func (st *step) catchUp() {
	for i := 0; i < len(st.Backlog); {
		if to := st.Backlog[i].To; st.inLine(to) < inReach/2 && st.bringUp(to, 1) {
			continue // it had no more
		}
		i++
	}
}

// bringUp brings so many parts of an agent's backlog into reach, -1: all, and reports whether
// nothing is left of it.
func (st *step) bringUp(to string, parts int) bool {
	i := st.behind(to)
	if i < 0 {
		return false
	}
	b := st.Backlog[i]
	if parts < 0 || parts > len(b.Parts) {
		parts = len(b.Parts)
	}
	for _, part := range b.Parts[:parts] {
		st.Mail = append(st.mail(), part...)
	}
	st.Backlog = slices.Clone(st.Backlog)
	if st.Backlog[i].Parts = b.Parts[parts:]; len(b.Parts) > parts {
		return false
	}
	st.Backlog = slices.Delete(st.Backlog, i, i+1)
	return true
}
