package supervisor

import (
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// TestMeasured: each level is reported once, until a compaction.
func TestMeasured(t *testing.T) {
	st := readyRun(runconfig.Options{ContextWarn: 70, ContextCritical: 85})
	a := addOrchestrator(st)
	for _, pct := range []float64{50, 71, 72, 86, 75} {
		st.measured(a, bridge.Context{Pct: pct, Window: 1000})
	}
	st.compacted(a, bridge.Compact{Trigger: "auto"})
	st.measured(a, bridge.Context{Pct: 71, Window: 1000})
	var levels []string
	for _, w := range emitted[contract.ContextWarning](st) {
		levels = append(levels, w.Level)
	}
	if want := []string{AgentLevelWarn, LevelCritical, AgentLevelWarn}; !slices.Equal(levels, want) {
		t.Errorf("told %v, want %v", levels, want)
	}
}

// TestInterrupt: a turn is stopped only if its compaction was prevented.
func TestInterrupt(t *testing.T) {
	st := readyRun(runconfig.Options{})
	a := addOrchestrator(st)
	st.interruptBlocked(a)
	testkit.Same(t, "turns were stopped without a reason", 0, len(did[input.Interrupt](st)))
	st.compacted(a, bridge.Compact{Blocked: true})
	st.interruptBlocked(a)
	if n := len(did[input.Interrupt](st)); n != 1 || !a.Interrupting {
		t.Errorf("%d turns were stopped", n)
	}
}

// TestRenew: the Arbiter's process ends for its successor, which reads the document and the mail for a new
// session.
func TestRenew(t *testing.T) {
	st := readyRun(runconfig.Options{})
	st.notify(contract.Arbiter, KindCorrection, "Give your verdict again.")
	a := st.Edit(contract.Arbiter)
	a.Corrections, a.HasHistory = 2, true
	st.renew(Handover{Agent: a.AgentRef, Kind: HandoffKindRenewal, Document: &verdict.Document{}},
		"the parser is half done")
	if !a.NewSession || a.HasHistory || a.Corrections != 0 || a.Status != AgentRestarting ||
		a.RestartClass != ClassRenewal || len(did[input.Kill](st)) != 1 {
		t.Errorf("the Arbiter is %+v", a)
	}
	testkit.Same(t, "its successor reads", "the parser is half done", a.HandoffBrief)
	for _, m := range st.Conversation.Mail {
		if m.Kind == KindCorrection {
			t.Errorf("its successor is corrected: %+v", m)
		}
	}
}
