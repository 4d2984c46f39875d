package runstore

// This part of the package reads the decisions of a run with their inputs from its event log, so that they
// can be explained, compared and repeated.

import (
	"context"
	"encoding/json"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Decision is a decision from the event log.
type Decision struct {
	Record uint64 // number of the journal record with the input
	At     time.Time
	input.Decided
	// Spawned are the modes that the Arbiter's session had spawned by its tool in the turn of this decision: that
	// was its choice.
	Spawned []string
	// Unused: the decision came too late, and another decision has its number.
	Unused bool
}

// Amounts converts the decision to the form that all deciders share. It returns false if only the Arbiter can make
// this decision, or if there is none.
func (r *Decision) Amounts() (decider.Decision, bool) {
	d := r.Decision
	switch d.Decision {
	case decider.SelectMode, decider.Retry, decider.Complete:
		return d, true
	case decider.Continue, verdict.AddressOrchestrator:
		if len(r.Spawned) > 0 {
			d.Decision, d.Mode = decider.SelectMode, r.Spawned[0]
			return d, true
		}
		d.Decision = decider.Continue
		return d, r.Point == decider.PointEvaluate // otherwise no agent could continue: the Arbiter waits
	}
	return d, false
}

// By returns who decided, or else the outcome of the question.
func (r *Decision) By() string {
	switch {
	case r.Unused:
		return "unused"
	case r.Failed != "":
		return "failed"
	case r.Deferred:
		return "deferred"
	}
	return string(r.Decision.Source)
}

// list collects decisions from the records of an event log.
type list struct {
	decisions []Decision
	spawned   []string // since the last ruling of the Arbiter's session
}

// take processes one line of the log.
func (l *list) take(e journal.LogEntry) error {
	if e.Record == nil {
		return nil
	}
	r, err := supervisor.DecodeRecord(e)
	if err != nil {
		return err
	}
	switch {
	case r.Kind == supervisor.KindAudit && r.What == "tool_called" && r.About == contract.Arbiter:
		entry := r.Entry()
		input, _ := entry.Detail["input"].(supervisor.AuditText)
		var spawn struct{ Mode string }
		if entry.Detail["tool"] == "spawn_orchestrator" && json.Unmarshal([]byte(input), &spawn) == nil {
			l.spawned = append(l.spawned, spawn.Mode)
		}
	case r.Kind == supervisor.KindDecision && r.Decided != nil:
		one := Decision{Record: e.Input, At: e.At, Decided: *r.Decided, Unused: r.Unused}
		if r.Decided.Decision.Source == decider.BySession {
			one.Spawned, l.spawned = l.spawned, nil
		}
		l.decisions = append(l.decisions, one)
	}
	return nil
}

// ReadDecisions returns the decisions of a run, in order.
func ReadDecisions(ctx context.Context, log *journal.EventLog) ([]Decision, journal.LogHealth, error) {
	var l list
	health, err := log.Each(ctx, journal.LogPosition{}, l.take)
	return l.decisions, health, err
}

// SameDecision reports whether two decisions have the same result. It ignores reasons and wording.
func SameDecision(a, b decider.Decision) bool {
	return a.Decision == b.Decision && (a.Decision != decider.SelectMode || a.Mode == b.Mode)
}

// DecisionText returns a decision in a few words.
func DecisionText(d decider.Decision) string {
	if d.Mode == "" {
		return d.Decision
	}
	return d.Decision + " " + d.Mode
}
