package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// selecting is a run whose task needs an agent.
func selecting(mail ...Mail) *step {
	st := readyRun(runconfig.Options{Decider: runconfig.DeciderRules})
	st.Task.Text, st.Task.Phase, st.Conversation.Mail = "Build it", machine.Selecting, mail
	return st
}

var done = Mail{ID: "m1", From: "orch-1", To: contract.Arbiter, Kind: verdict.KindDone}

// TestWithholds: messages that another decider decides on are kept from the Arbiter; while the rules decide,
// all messages are.
func TestWithholds(t *testing.T) {
	w := selecting()
	s, c := &w.Rulings, &w.out
	notice := Mail{To: contract.Arbiter, Kind: KindNotice}
	if !w.withholds(&done) || w.withholds(&notice) {
		t.Error("only what ends an execution is withheld")
	}
	s.DeciderYielded = true
	if w.withholds(&done) {
		t.Error("the decider left it to the Arbiter")
	}
	s.EnterFallback(c, "it is parked.")
	if !w.withholds(&notice) || s.DeciderText() != "; the rules decide in your place: it is parked." {
		t.Error("the rules decide")
	}
	s.EnterFallback(c, "it is gone")
	if s.LeaveFallback(c); s.FallbackReason != "" || len(c.Effects()) != 2 {
		t.Errorf("%q, %d effects", s.FallbackReason, len(c.Effects()))
	}
}
