package renewal

import (
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/conversation"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// full is an Arbiter whose context is nearly full, between two turns.
func full() *roster.Agent {
	return &roster.Agent{
		AgentIdentity: roster.AgentIdentity{AgentRef: bridge.AgentRef{ID: contract.Arbiter}, Role: roster.RoleArbiter},
		AgentProcess:  roster.AgentProcess{Status: roster.Ready, HasHistory: true},
		AgentContext:  roster.AgentContext{WarnedLevel: roster.LevelCritical},
	}
}

func mail(kind string) *conversation.State {
	return &conversation.State{Mail: []conversation.Mail{{From: contract.Supervisor, To: contract.Arbiter, Kind: kind}}}
}

// TestIsDue: the Arbiter is renewed between two turns, and only after it has read messages about its own
// session.
func TestIsDue(t *testing.T) {
	var s State
	busy := full()
	busy.Status = roster.Busy
	for name, c := range map[string]struct {
		agent *roster.Agent
		mail  *conversation.State
		want  bool
	}{
		"full":              {full(), mail(conversation.KindNotice), true},
		"in a turn":         {busy, mail(conversation.KindNotice), false},
		"to be corrected":   {full(), mail(conversation.KindCorrection), false},
		"room in a context": {&roster.Agent{AgentProcess: full().AgentProcess}, mail(conversation.KindNotice), false},
	} {
		if got := s.IsDue(c.agent, c.mail); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}

// TestStages: which messages wait, which rulings are accepted, and what withdraws a request without an answer.
func TestStages(t *testing.T) {
	s := State{Stage: Asked}
	if s.Withholds(conversation.KindRenewal) || !s.Withholds(conversation.KindMessage) {
		t.Error("nothing but the demand is sent")
	}
	if s.Objection(verdict.Arbiter{Decision: verdict.Continue}) == "" ||
		s.Objection(verdict.Arbiter{Decision: verdict.Handoff}) != "" {
		t.Error("nothing but HANDOFF is taken")
	}
	if s.Lapse(full(), mail(conversation.KindRenewal)); s.Stage != Asked {
		t.Error("the demand waits")
	}
	if s.Lapse(full(), &conversation.State{}); s.Stage != None {
		t.Error("nobody answers any more")
	}
	if s.Objection(verdict.Arbiter{Decision: verdict.Handoff}) == "" {
		t.Error("it was not asked")
	}
}

// TestFutile: renewals that are due again at once, or that leave no document, do not help and end.
func TestFutile(t *testing.T) {
	var s State
	for range MaxShort {
		s.Ruled(verdict.Arbiter{Decision: verdict.Continue})
		s.Renew()
	}
	if !s.IsFutile() || s.Count != MaxShort || !s.Withholds(conversation.KindRenewal) {
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
