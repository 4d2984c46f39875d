package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// ruling is a decision as the journal has it.
type ruling struct {
	Record uint64 // of the journal
	At     time.Time
	supervisor.Decided
	// Summoned are the modes that the Arbiter's session had summoned by its tool in the
	// turn that came to this: with that it had chosen.
	Summoned []string
	// Unused: it came when it was not asked for any more; another decision has its number.
	Unused bool
}

// amounts is what the decision comes to in the words that all deciders share; false:
// only the Arbiter can make it, or none was made.
func (r *ruling) amounts() (decider.Decision, bool) {
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

// source is who decided, or what came of the question instead.
func (r *ruling) source() string {
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

// rulingList collects decisions from the records of a journal.
type rulingList struct {
	list     []ruling
	summoned []string // since the Arbiter's session last ruled
	fold     supervisor.Fold
	astray   bool // the fold has failed
}

// take looks at one record.
func (l *rulingList) take(r journal.Record) error {
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
		one := ruling{Record: r.Seq, At: in.At, Decided: f}
		if f.Decision.Source == decider.BySession {
			one.Summoned, l.summoned = l.summoned, nil
		}
		one.Unused = late
		l.list = append(l.list, one)
	}
	return nil
}

// readRulings lists the decisions of a run, in order.
func readRulings(store *runs, run string) ([]ruling, journal.Recovery, error) {
	var l rulingList
	recovery, err := store.Read(run, l.take)
	return l.list, recovery, err
}

// question is an input of a decision: one of the two.
type question struct {
	selects   *decision.SelectAgentInput
	evaluates *decision.EvaluateProgressInput
}

// point says which.
func (q question) point() decision.Point {
	if q.evaluates != nil {
		return decision.PointEvaluate
	}
	return decision.PointSelect
}

// value is the input itself.
func (q question) value() any {
	if q.evaluates != nil {
		return q.evaluates
	}
	return q.selects
}

// questionOf reads a recorded input. Members that this version does not know are left
// out: an input is not made new by one more.
func questionOf(p decision.Point, raw json.RawMessage) (question, error) {
	var q question
	switch p {
	case decision.PointSelect:
		q.selects = new(decision.SelectAgentInput)
	case decision.PointEvaluate:
		q.evaluates = new(decision.EvaluateProgressInput)
	default:
		return q, fmt.Errorf("no input is built at %q", p)
	}
	if len(raw) == 0 {
		return q, errors.New("no input was recorded")
	}
	if err := json.Unmarshal(raw, q.value()); err != nil {
		return q, fmt.Errorf("read the input: %w", err)
	}
	return q, nil
}

// parseQuestion reads an input from a file, of a kind told by its members. It may lie
// in the member `input`, as explanations have it. A misspelt member is an error: its
// author tries what it does.
func parseQuestion(raw []byte) (question, error) {
	members, err := membersOf(raw)
	if inner, ok := members["input"]; ok && err == nil {
		raw = inner
		members, err = membersOf(raw)
	}
	if err != nil {
		return question{}, err
	}
	var q question
	switch {
	case members["lastExecution"] != nil:
		q.evaluates = new(decision.EvaluateProgressInput)
	case members["availableAgents"] != nil:
		q.selects = new(decision.SelectAgentInput)
	default:
		return q, errors.New("an input has the member lastExecution (to evaluate progress) or availableAgents (to select an agent)")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(q.value()); err != nil {
		return q, jsonProblem(err)
	}
	return q, q.check()
}

func membersOf(raw []byte) (map[string]json.RawMessage, error) {
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return nil, fmt.Errorf("want one JSON object: %w", jsonProblem(err))
	}
	return members, nil
}

// sameRuling says whether two decisions come to the same: reasons and words are not
// compared.
func sameRuling(a, b decider.Decision) bool {
	return a.Decision == b.Decision && (a.Decision != decider.SelectMode || a.Mode == b.Mode)
}

// rulingText is a decision in a few words.
func rulingText(d decider.Decision) string {
	if d.Mode == "" {
		return d.Decision
	}
	return d.Decision + " " + d.Mode
}
