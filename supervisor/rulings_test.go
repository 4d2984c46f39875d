package supervisor

import (
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
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

// TestDue: a document is judged, otherwise an agent is selected, unless a document is being processed.
func TestDue(t *testing.T) {
	if point, about, ok := selecting(done).dueDecision(); !ok || point != decider.PointEvaluate || about != "orch-1" {
		t.Errorf("%s about %q, %v", point, about, ok)
	}
	if point, _, ok := selecting().dueDecision(); !ok || point != decider.PointSelect {
		t.Errorf("%s, %v", point, ok)
	}
	asked := Mail{From: contract.Human, To: contract.Arbiter, Kind: KindMessage}
	if _, _, ok := selecting(asked).dueDecision(); ok {
		t.Error("the Arbiter has a word to read, and may rule on it")
	}
	w := selecting()
	w.Handoff.Add(Handover{Kind: KindDone})
	if _, _, ok := w.dueDecision(); ok {
		t.Error("a document is on its way")
	}
}

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

// TestRule: a ruling is counted, and recorded with what the Arbiter had read; open requests are closed.
func TestRule(t *testing.T) {
	w := selecting(done)
	s, c := &w.Rulings, &w.out
	s.Ask(c, w.rulingRequest(decider.PointEvaluate, "orch-1"))
	if s.DeciderRequest.Serial != 1 || len(s.DeciderRequest.EndedExecutions) != 1 {
		t.Fatalf("%+v", s.DeciderRequest)
	}
	s.ArbiterRequest = s.DeciderRequest
	s.Read(Mail{ID: "m1", To: contract.Arbiter, Content: "first"})
	s.Read(Mail{ID: "m2", To: contract.Arbiter, Content: "second"})
	s.ForgetReading("m1")
	v := verdict.Arbiter{Decision: verdict.Continue, To: "orch-1", Reason: "because\nof that"}
	by := s.Rule(c, v, decider.BySession)
	if by.Point != decider.PointEvaluate || s.Decisions != 1 || s.DeciderRequest != nil || s.ArbiterRequest != nil {
		t.Errorf("%+v, %+v", by, *s)
	}
	if d := s.Unrecorded; len(d) != 1 || d[0].Decision.Prompt != "second" || d[0].About != "orch-1" {
		t.Errorf("%+v", d)
	}
	if s.Noted(1); len(s.Unrecorded) != 0 {
		t.Error("it is recorded")
	}
	for range LedgerKept + 1 {
		s.Enter(time.Unix(0, 0), v, decider.ByRules)
	}
	if len(s.Ledger) != LedgerKept ||
		!strings.HasPrefix(s.LedgerText(), "- 00:00:00 CONTINUE orch-1 (by rules): because\n  of that\n") {
		t.Errorf("%d entries: %.100s", len(s.Ledger), s.LedgerText())
	}
}

// TestWhoContinues: the agent whose work was judged continues, or another of its mode.
func TestWhoContinues(t *testing.T) {
	w := selecting()
	worker := &Agent{
		AgentIdentity: AgentIdentity{AgentRef: bridge.AgentRef{ID: "orch-1"}, Role: RoleOrchestrator,
			Mode: "tester"},
		AgentProcess: AgentProcess{Status: AgentReady},
	}
	w.Add(worker)
	p := &RulingRequest{About: "orch-1"}
	if v := w.whoContinues(p, verdict.Arbiter{Decision: verdict.Retry, Reason: "r"}); v.To != "orch-1" ||
		v.Message != "It failed. Try again, another way.\n\nr" {
		t.Errorf("%+v", v)
	}
	worker.Standing = HandedOff
	if v := w.whoContinues(p, verdict.Arbiter{Decision: verdict.Continue}); v.Decision != verdict.SelectMode ||
		v.Mode != "tester" {
		t.Errorf("%+v", v)
	}
}

// TestUnfit: decisions that cannot be carried out.
func TestUnfit(t *testing.T) {
	o := runconfig.Options{}
	for want, d := range map[string]decider.Decision{
		"":                         {Decision: verdict.Complete},
		`there is no mode "x"`:     {Decision: verdict.SelectMode, Mode: "x"},
		`there is no decision "Y"`: {Decision: "Y"},
	} {
		if got := Unfit(&o, d); got != want {
			t.Errorf("%+v: %q", d, got)
		}
	}
}
