package supervisor

import (
	"fmt"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// sent is a state with one message on its way to an agent.
func sent(m Mail) ConversationState {
	m.Sent, m.Wire = true, m.ID
	return ConversationState{Mail: []Mail{m}, Ledger: ConversationLedger{Posted: 1, Sent: 1}}
}

// TestCopiesAreIndependent: a change of one copy of the state is not visible in another.
func TestCopiesAreIndependent(t *testing.T) {
	before := sent(Mail{ID: "m1", To: "orch-1", Kind: KindBrief, Content: "begin"})
	before.WorkLog = []ConversationEntry{{ID: "e1", Carrier: "m1"}}
	after := before
	after.Post(Mail{ID: "m2", To: "orch-1"})
	after.PostAhead(Mail{ID: "m0", To: "orch-1"})
	after.Unsend("m1")
	after.AddEntry(ConversationEntry{ID: "e2"})
	if len(before.Mail) != 1 || !before.Mail[0].Sent || before.Mail[0].Content != "begin" ||
		before.WorkLog[0].Carrier != "m1" || len(before.WorkLog) != 1 {
		t.Errorf("the copy before was written to: %+v", before)
	}
	var order []string
	for _, m := range after.Mail {
		order = append(order, m.ID)
	}
	if want := []string{"m1", "m0", "m2"}; !slices.Equal(order, want) { // m1 was on its way when m0 came
		t.Errorf("the queue is %v, not %v", order, want)
	}
	if after.WorkLog[0].Carrier != "" {
		t.Error("the report still travels with a message that was not sent")
	}
}

// TestDeliverAndRequeue: a delivered message is kept while its turn runs, and is sent under another id if the
// process ends.
func TestDeliverAndRequeue(t *testing.T) {
	s := sent(Mail{ID: "m1", To: "orch-1"})
	if _, ok := s.Deliver("other", true); ok {
		t.Error("a message that is not there was delivered")
	}
	m, ok := s.Deliver("m1", true)
	if !ok || m.ID != "m1" || len(s.Mail) != 0 || !(onWire(s.InTurn, "m1") >= 0) || s.Ledger.Seen != 1 {
		t.Fatalf("after delivery: %+v, %v, %+v", m, ok, s)
	}
	if _, ok := s.Requeue("m1", "w2"); !ok || len(s.Mail) != 1 || s.Mail[0].Wire != "w2" || s.Mail[0].Sent ||
		onWire(s.InTurn, "m1") >= 0 {
		t.Fatalf("after the process died: %+v", s)
	}
	s.Mail[0].Sent = true
	if m, _ := s.Deliver("w2", false); !m.Reported || s.Ledger.Seen != 1 {
		t.Errorf("the second delivery counted again: %+v, %+v", m, s.Ledger)
	}
}

// TestReleaseReturnsEverything: mail that an agent did not get is returned, and so is what no model has answered.
func TestReleaseReturnsEverything(t *testing.T) {
	s := sent(Mail{ID: "m1", To: "orch-1"})
	m1, _ := s.Deliver("m1", true)
	s.Accept(m1)
	for i := range 10 {
		s.Post(Mail{ID: fmt.Sprint("h", i), From: contract.Human, To: "orch-1", Kind: KindMessage})
	}
	s.Post(Mail{ID: "x", To: "orch-2"})
	lost, unread := s.Release("orch-1")
	if len(lost) != 10 || len(unread) != 1 || unread[0].ID != "m1" || len(s.Mail) != 1 || len(s.InTurn) != 0 {
		t.Errorf("%d lost, unread %v, left %+v", len(lost), unread, s)
	}
	if l := s.Ledger; l.Returned != 11 || l.Seen != 0 || len(s.Accepted) != 0 {
		t.Errorf("the ledger: %+v, accepted %v", l, s.Accepted)
	}
}

// TestResendOnce: a message without proof is written twice, and then counts as swallowed.
func TestResendOnce(t *testing.T) {
	s := sent(Mail{ID: "m1", To: "orch-1"})
	_, first := s.Resend("m1")
	_, second := s.Resend("m1")
	if !first || second || s.Ledger.Resent != 1 || s.Ledger.Swallowed != 1 {
		t.Errorf("%v, %v, %+v", first, second, s.Ledger)
	}
}

// TestRecentMessagesAreBounded: the conversation keeps the last messages, and corrects them only in its own
// copy.
func TestRecentMessagesAreBounded(t *testing.T) {
	var s ConversationState
	for i := range RecentMessagesKept + 5 {
		s.Remember(&contract.Message{MessageID: fmt.Sprint(i), Text: "as said"})
	}
	if n := len(s.RecentMessages); n != RecentMessagesKept || s.RecentMessages[0].MessageID != "5" {
		t.Fatalf("%d are remembered, from %s", n, s.RecentMessages[0].MessageID)
	}
	other := s
	other.Correct("7", func(m *contract.Message) { m.Text = "corrected" })
	if s.RecentMessages[2].Text != "as said" || other.RecentMessages[2].Text != "corrected" {
		t.Errorf("%q, %q", s.RecentMessages[2].Text, other.RecentMessages[2].Text)
	}
}
