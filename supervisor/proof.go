package supervisor

import (
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/effect"
	"github.com/arbiter-cli/arbiter/supervisor/restart"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
)

// proofWait is how long a message may go without proof that the agent took it up.
// The CLI proves it at once (observed with CLI 2.1.329: 0.0 s), so that this is
// generous; while it retries the API, or is stopped, it is no sign of anything.
const proofWait = 30 * time.Second

// proofWait in a run that is looked at more often, or less.
func (s *State) proofWait() time.Duration { return s.scaled(proofWait) }

// awaitProof looks at a message again when its proof is overdue.
func (st *step) awaitProof(m conversation.Mail) {
	st.do(effect.SetTimer{Key: proofKey(m.Wire), After: st.proofWait()})
}

const saidEarlier = "Said before the word that you read last, which stopped you before you had this one:\n"

// unread queues a message again that an interrupt overtook: it was delivered, but the
// session does not have it. Behind a word that the human stopped the turn with it goes into
// that one's turn, and says that it is older.
func (st *step) unread(id, wire string) {
	public := st.Conversation.PublicIDs([]string{wire})[0]
	st.requeue(wire)
	st.emit(id, contract.Notice{Text: "message " + public + " was interrupted before it was read; it is sent again"})
	st.Conversation.Overtake(public, saidEarlier)
}

// provenLater starts the wait for words that were sent into a turn and did not end
// with it: the CLI makes them its next turn.
func (st *step) provenLater(a *roster.Agent) {
	for _, wire := range a.Turn {
		if m, ok := st.Conversation.SentAs(wire); ok {
			st.awaitProof(m)
		}
	}
}

// proofOverdue deals with a message nobody proved to have: it is written once more
// under the same id, which the CLI drops if it has it, and then to another process,
// whose history tells.
func (st *step) proofOverdue(wire string) {
	sent, ok := st.Conversation.SentAs(wire)
	if !ok {
		return
	}
	a := st.Edit(sent.To)
	if a == nil || a.Status != roster.Busy || !slices.Contains(a.Turn, wire) {
		return
	}
	if a.Backoff != nil || a.Watch.Stopped {
		st.awaitProof(sent)
		return
	}
	m, again := st.Conversation.Resend(wire)
	if !again {
		st.emit(a.ID, contract.Notice{Text: "message " + m.ID + " was swallowed twice; " + a.Name + " is started again"})
		st.relaunch(a.ID, restart.Hung, "swallows its messages")
		return
	}
	st.emit(a.ID, contract.Notice{Text: "message " + m.ID + " was not taken up within " + st.proofWait().String() + "; it is sent again"})
	st.do(effect.Send{Params: bridge.MessageParams{AgentRef: a.AgentRef, MessageID: m.Wire, Content: m.Content, Steer: len(a.Turn) > 1}})
	st.awaitProof(m)
}
