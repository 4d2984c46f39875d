package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// shelve puts what was decided on into the Arbiter's work log, shortened: it reads of it
// when it is next spoken to.
func (st *step) shelve(p *DecisionRequest, d decider.Decision) {
	moves := d.Decision == verdict.SelectMode || d.Decision == verdict.Complete // and what others have done is behind it
	st.shelveAll(func(m *Mail) bool {
		return st.withheld(m) && (m.Kind == KindTask || m.judged() && m.From == p.About ||
			moves && m.Kind == verdict.KindDone && slices.Contains(p.Heard, m.ID))
	})
	// The `decision` event tells everybody else.
	st.WorkLog = append(st.workLog(), Entry{
		ID: st.newMessageID(), From: contract.Supervisor, Kind: KindNotice, At: st.at, Quiet: true,
		Text: fmt.Sprintf("Decided by %s: %s. %s", d.Source, strings.TrimSpace(d.Decision+" "+d.Mode), words.Head(d.Reason, 500)),
	})
}

const (
	shelvedText = 4 << 10 // bytes of a message that becomes a work log entry
	shelvedMost = 64      // entries; beyond them the oldest are dropped
)

func (st *step) shelveAll(taken func(*Mail) bool) {
	for _, m := range slices.Clone(st.Mail) {
		if !taken(&m) {
			continue
		}
		st.WorkLog = append(st.workLog(), Entry{ID: m.ID, From: m.From, Kind: m.Kind, Text: words.Head(m.Text, shelvedText), At: m.At, Shelved: true})
		st.Mail = slices.DeleteFunc(st.mail(), func(x Mail) bool { return x.ID == m.ID })
		if !m.Told {
			st.Ledger.Shelved++
		}
	}
	st.boundLog()
}

// boundLog drops the oldest entries of the work log where the Arbiter is not spoken to at
// each point of decision, and may never read them.
func (st *step) boundLog() {
	if st.FallbackReason == "" && !st.asksOther() {
		return
	}
	for range len(st.WorkLog) - shelvedMost {
		if i := slices.IndexFunc(st.WorkLog, func(e Entry) bool { return e.Carrier == "" }); i >= 0 {
			st.WorkLog = slices.Delete(st.workLog(), i, i+1)
		}
	}
}
