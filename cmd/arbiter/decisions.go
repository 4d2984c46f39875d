package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
)

// ruling is a decision as the journal has it.
type ruling struct {
	Record uint64 // of the journal
	At     time.Time
	supervisor.Decided
}

// source is who decided, or what came of the question instead.
func (r *ruling) source() string {
	switch {
	case r.Failed != "":
		return "failed"
	case r.Deferred:
		return "deferred"
	}
	return string(r.Decision.Source)
}

// decidedMark begins the records of decisions, behind the time.
var decidedMark = []byte(`"fact":"decided"`)

// rulingOf decodes a record if it is a decision.
func rulingOf(r journal.Record) (ruling, bool, error) {
	head := r.Payload[:min(len(r.Payload), 64)]
	if r.Kind == journal.Narration || !bytes.Contains(head, decidedMark) {
		return ruling{}, false, nil
	}
	in, err := supervisor.DecodeInput(r.Payload)
	if err != nil {
		return ruling{}, false, fmt.Errorf("record %d: %w", r.Seq, err)
	}
	d, ok := in.Fact.(supervisor.Decided)
	return ruling{Record: r.Seq, At: in.At, Decided: d}, ok, nil
}

// readRulings lists the decisions of a run, in order.
func readRulings(store *runs, run string) ([]ruling, journal.Recovery, error) {
	var list []ruling
	recovery, err := store.Read(run, func(r journal.Record) error {
		one, ok, err := rulingOf(r)
		if ok {
			list = append(list, one)
		}
		return err
	})
	return list, recovery, err
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
	var members map[string]json.RawMessage
	if err := json.Unmarshal(raw, &members); err != nil {
		return question{}, fmt.Errorf("want one JSON object: %w", err)
	}
	if inner, ok := members["input"]; ok {
		return parseQuestion(inner)
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
		return q, errors.New(strings.TrimPrefix(err.Error(), "json: "))
	}
	return q, nil
}

// sameRuling says whether two decisions come to the same: reasons and words are not
// compared.
func sameRuling(a, b decider.Decision) bool {
	return a.Decision == b.Decision && (a.Decision != "SELECT_MODE" || a.Mode == b.Mode)
}

// rulingText is a decision in a few words.
func rulingText(d decider.Decision) string {
	if d.Mode == "" {
		return d.Decision
	}
	return d.Decision + " " + d.Mode
}
