package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// sends are the messages that were written, by their wire IDs.
func sends(st *step) (wires []string) {
	for _, s := range did[input.Send](st) {
		wires = append(wires, s.Params.MessageID)
	}
	return wires
}

// TestClosed: a run that is ending queues no message.
func TestClosed(t *testing.T) {
	st := readyRun(runconfig.Options{})
	st.Ending = &Ending{}
	st.notify(contract.Arbiter, KindNotice, "too late")
	if len(st.Conversation.Mail) != 0 || len(st.out.Effects()) != 0 {
		t.Errorf("queued %v, did %v", st.Conversation.Mail, st.out.Effects())
	}
}

// TestProofOverdue: a message without proof is written once more under its ID, and then its agent is restarted.
func TestProofOverdue(t *testing.T) {
	st := readyRun(runconfig.Options{})
	st.notify(contract.Arbiter, KindNotice, "a word")
	st.send(0, false)
	wire := st.Conversation.Mail[0].Wire
	a := st.Edit(contract.Arbiter)
	if st.proofOverdue(wire); a.Status == AgentRestarting {
		t.Errorf("%s is started again: %s", a.ID, a.RestartCause)
	}
	if w := sends(st); len(w) != 2 || w[0] != wire || w[1] != wire {
		t.Errorf("written as %v, want %s twice", w, wire)
	}
	if st.proofOverdue(wire); a.Status != AgentRestarting || a.RestartCause == "" {
		t.Errorf("after that it is %s: %q", a.Status, a.RestartCause)
	}
}

// TestDelivered: a message with proof leaves the queue, and its timer is stopped. It is delivered when a model answers.
func TestDelivered(t *testing.T) {
	st := readyRun(runconfig.Options{})
	st.notify(contract.Arbiter, KindNotice, "a word")
	st.send(0, false)
	wire := st.Conversation.Mail[0].Wire
	st.delivered(wire)
	if len(st.Conversation.Mail) != 0 {
		t.Errorf("still queued: %v", st.Conversation.Mail)
	}
	if n := len(emitted[contract.Delivered](st)); n != 0 {
		t.Error("it is delivered before a model has read it")
	}
	st.answers(contract.Arbiter)
	st.answers(contract.Arbiter)
	if n := len(emitted[contract.Delivered](st)); n != 1 {
		t.Errorf("delivered %d times", n)
	}
	var stopped bool
	for _, e := range st.out.Effects() {
		switch e := e.(type) {
		case input.SetTimer:
			stopped = stopped || e.Key == DeliveryTimerPrefix+wire && e.After == 0
		}
	}
	if !stopped {
		t.Error("the timer was not stopped")
	}
}

// TestSendFailed: a message that could not be written is queued again, and after a few times its agent is
// restarted.
func TestSendFailed(t *testing.T) {
	st := readyRun(runconfig.Options{})
	st.notify(contract.Arbiter, KindNotice, "a word")
	a := st.Edit(contract.Arbiter)
	for n := 1; n <= maxSends; n++ {
		st.send(0, false)
		st.notSent(input.NotSent{Agent: a.AgentRef, MessageID: st.Conversation.Mail[0].Wire})
		if (a.RestartCause != "") != (n == maxSends) {
			t.Errorf("after %d failures: %q", n, a.RestartCause)
		}
	}
}
