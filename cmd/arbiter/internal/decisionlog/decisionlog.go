// Package decisionlog reads the decisions of a run from its event log, with their inputs,
// so that they can be explained, compared and repeated.
package decisionlog

import (
	"context"
	"encoding/json"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/audit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal/eventlog"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Decision is a decision as the event log has it.
type Decision struct {
	Record uint64 // of the journal: the input
	At     time.Time
	input.Decided
	// Summoned are the modes that the Arbiter's session had summoned by its tool in the
	// turn that came to this: with that it had chosen.
	Summoned []string
	// Unused: it came when it was not asked for any more; another decision has its number.
	Unused bool
}

// Amounts is what the decision comes to in the words that all deciders share; false:
// only the Arbiter can make it, or none was made.
func (r *Decision) Amounts() (decider.Decision, bool) {
	d := r.Decision
	switch d.Decision {
	case decider.SelectMode, decider.Retry, decider.Complete:
		return d, true
	case decider.Continue, verdict.AddressOrchestrator:
		if len(r.Summoned) > 0 {
			d.Decision, d.Mode = decider.SelectMode, r.Summoned[0]
			return d, true
		}
		d.Decision = decider.Continue
		return d, r.Point == decision.PointEvaluate // else no agent could continue: the Arbiter waits
	}
	return d, false
}

// By is who decided, or the result of the question instead.
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
	summoned  []string // since the Arbiter's session last ruled
}

// take looks at one line of the log.
func (l *list) take(e eventlog.Entry) error {
	if e.Record == nil {
		return nil
	}
	r, err := audit.DecodeRecord(e)
	if err != nil {
		return err
	}
	switch {
	case r.Kind == audit.KindAudit && r.What == "tool_called" && r.About == contract.Arbiter:
		entry := r.Entry()
		input, _ := entry.Detail["input"].(audit.Text)
		var spawn struct{ Mode string }
		if entry.Detail["tool"] == "spawn_orchestrator" && json.Unmarshal([]byte(input), &spawn) == nil {
			l.summoned = append(l.summoned, spawn.Mode)
		}
	case r.Kind == audit.KindDecision && r.Decided != nil:
		one := Decision{Record: e.Input, At: e.At, Decided: *r.Decided, Unused: r.Unused}
		if r.Decided.Decision.Source == decider.BySession {
			one.Summoned, l.summoned = l.summoned, nil
		}
		l.decisions = append(l.decisions, one)
	}
	return nil
}

// Read lists the decisions of a run, in order.
func Read(ctx context.Context, log *eventlog.Log) ([]Decision, eventlog.Health, error) {
	var l list
	health, err := log.Each(ctx, eventlog.Position{}, l.take)
	return l.decisions, health, err
}

// Same reports whether two decisions come to the same: reasons and words are not
// compared.
func Same(a, b decider.Decision) bool {
	return a.Decision == b.Decision && (a.Decision != decider.SelectMode || a.Mode == b.Mode)
}

// Text is a decision in a few words.
func Text(d decider.Decision) string {
	if d.Mode == "" {
		return d.Decision
	}
	return d.Decision + " " + d.Mode
}
