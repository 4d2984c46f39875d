// Package decisionlog reads the decisions of a run from its journal, and the inputs that they
// were made on, so that they can be explained, compared and made again. It decides nothing.
package decisionlog

import (
	"bytes"
	"encoding/json"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// Ruling is a decision as the journal has it.
type Ruling struct {
	Record uint64 // of the journal
	At     time.Time
	supervisor.Decided
	// Summoned are the modes that the Arbiter's session had summoned by its tool in the
	// turn that came to this: with that it had chosen.
	Summoned []string
	// Unused: it came when it was not asked for any more; another decision has its number.
	Unused bool
}

// Amounts is what the decision comes to in the words that all deciders share; false:
// only the Arbiter can make it, or none was made.
func (r *Ruling) Amounts() (decider.Decision, bool) {
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
		return d, r.Point == decision.PointEvaluate // else nobody could go on: the Arbiter waits
	}
	return d, false
}

// By is who decided, or what came of the question instead.
func (r *Ruling) By() string {
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

// The records that are decoded, by what stands behind their time.
var (
	decidedMark = []byte(`"fact":"decided"`)
	calledMark  = []byte(`"fact":"tool_called"`)
)

// list collects decisions from the records of a journal.
type list struct {
	rulings  []Ruling
	summoned []string // since the Arbiter's session last ruled
	fold     supervisor.Fold
	astray   bool // the fold has failed
}

// take looks at one record.
func (l *list) take(r journal.Record) error {
	asked := l.fold.State.Deciding
	if !l.astray && l.fold.Take(r) != nil {
		l.astray = true // what can be read is told all the same
	}
	head := r.Payload[:min(len(r.Payload), 64)]
	if r.Kind == journal.Narration || !bytes.Contains(head, decidedMark) && !bytes.Contains(head, calledMark) {
		return nil
	}
	in, err := supervisor.DecodeInput(r.Payload)
	if err != nil {
		return fmt.Errorf("record %d: %w", r.Seq, err)
	}
	switch f := in.Fact.(type) {
	case supervisor.ToolCalled:
		var spawn struct{ Mode string }
		if f.Params.ID == contract.Arbiter && f.Params.Tool == "spawn_orchestrator" && json.Unmarshal(f.Params.Input, &spawn) == nil {
			l.summoned = append(l.summoned, spawn.Mode)
		}
	case supervisor.Decided:
		late := !l.astray && f.Serial != 0 && (asked == nil || asked.Serial != f.Serial)
		one := Ruling{Record: r.Seq, At: in.At, Decided: f}
		if f.Decision.Source == decider.BySession {
			one.Summoned, l.summoned = l.summoned, nil
		}
		one.Unused = late
		l.rulings = append(l.rulings, one)
	}
	return nil
}

// Read lists the decisions of a run, in order.
func Read(store *journal.Store, run string) ([]Ruling, journal.Recovery, error) {
	var l list
	recovery, err := store.Read(run, l.take)
	return l.rulings, recovery, err
}

// Same says whether two decisions come to the same: reasons and words are not
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
