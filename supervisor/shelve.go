package supervisor

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// shelve puts what was decided on into the Arbiter's work log, shortened: it reads of it
// when it is next spoken to.
func (st *step) shelve(p *DecisionRequest, d decider.Decision) {
	moves := d.Decision == verdict.SelectMode || d.Decision == verdict.Complete // and what others have done is behind it
	st.shelveAll(func(m *conversation.Mail) bool {
		return st.withheld(m) && (m.Kind == conversation.KindTask || m.EndsExecution() && m.From == p.About ||
			moves && m.Kind == verdict.KindDone && slices.Contains(p.Heard, m.ID))
	})
	// The `decision` event tells everybody else.
	st.Conversation.AddEntry(conversation.Entry{
		ID: st.newMessageID(), From: contract.Supervisor, Kind: conversation.KindNotice, At: st.at, Quiet: true,
		Text: fmt.Sprintf("Decided by %s: %s. %s", d.Source, strings.TrimSpace(d.Decision+" "+d.Mode), words.Head(d.Reason, 500)),
	})
}

// shelveAll has messages become reports of the work log: they were ruled on without their reader.
func (st *step) shelveAll(taken func(*conversation.Mail) bool) {
	st.Conversation.Shelve(taken)
	st.boundLog()
}

// boundLog drops the oldest entries of the work log where the Arbiter is not spoken to at
// each point of decision, and may never read them.
func (st *step) boundLog() {
	if st.FallbackReason != "" || st.asksOther() {
		st.Conversation.BoundLog()
	}
}
