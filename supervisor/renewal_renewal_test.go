package supervisor

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// full is an Arbiter whose context is nearly full, between two turns.
func full() *Agent {
	return &Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter}, Role: RoleArbiter},
		AgentProcess:  AgentProcess{Status: AgentReady, HasHistory: true},
		AgentContext:  AgentContext{WarnedLevel: LevelCritical},
	}
}

func mail(kind string) *ConversationState {
	return &ConversationState{Mail: []Mail{{From: contract.Supervisor, To: contract.Arbiter, Kind: kind}}}
}

// TestIsDue: the Arbiter is renewed between two turns, and only after it has read messages about its own
// session.
func TestIsDue(t *testing.T) {
	var s RenewalState
	busy := full()
	busy.Status = AgentBusy
	for name, c := range map[string]struct {
		agent *Agent
		mail  *ConversationState
		want  bool
	}{
		"full":              {full(), mail(KindNotice), true},
		"in a turn":         {busy, mail(KindNotice), false},
		"to be corrected":   {full(), mail(KindCorrection), false},
		"room in a context": {&Agent{AgentProcess: full().AgentProcess}, mail(KindNotice), false},
	} {
		if got := s.IsDue(c.agent, c.mail); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestStages: which messages wait, which rulings are accepted, and what withdraws a request without an answer.
func TestStages(t *testing.T) {
	s := RenewalState{Stage: RenewalAsked}
	if s.Withholds(KindRenewal) || !s.Withholds(KindMessage) {
		t.Error("nothing but the demand is sent")
	}
	if s.Objection(verdict.Arbiter{Decision: verdict.Continue}) == "" ||
		s.Objection(verdict.Arbiter{Decision: verdict.Handoff}) != "" {
		t.Error("nothing but HANDOFF is taken")
	}
	if s.Lapse(full(), mail(KindRenewal)); s.Stage != RenewalAsked {
		t.Error("the demand waits")
	}
	if s.Lapse(full(), &ConversationState{}); s.Stage != RenewalNone {
		t.Error("nobody answers any more")
	}
	if s.Objection(verdict.Arbiter{Decision: verdict.Handoff}) == "" {
		t.Error("it was not asked")
	}
}

// TestFutile: renewals that are due again at once, or that leave no document, do not help and end.
func TestFutile(t *testing.T) {
	var s RenewalState
	for range MaxShort {
		s.Ruled(verdict.Arbiter{Decision: verdict.Continue})
		s.Renew()
	}
	if !s.IsFutile() || s.Count != MaxShort || !s.Withholds(KindRenewal) {
		t.Errorf("%+v", s)
	}
	s.Ruled(verdict.Arbiter{Decision: verdict.Continue})
	s.Ruled(verdict.Arbiter{Decision: verdict.Continue})
	if s.Renew(); s.IsFutile() {
		t.Errorf("%+v", s)
	}
	for range MaxGenerated {
		if s.Generate() {
			t.Error("too soon")
		}
	}
	if !s.Generate() {
		t.Error("one more is too many")
	}
}
