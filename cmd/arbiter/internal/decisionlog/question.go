package decisionlog

import (
	"context"

	"github.com/arbiter-cli/arbiter/supervisor/prompts"

	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decision"
)

// Question is an input of a decision: one of the two.
type Question struct {
	Select   *decision.SelectAgentInput
	Evaluate *decision.EvaluateProgressInput
}

// Point says which.
func (q Question) Point() decision.Point {
	if q.Evaluate != nil {
		return decision.PointEvaluate
	}
	return decision.PointSelect
}

// Input is the input itself.
func (q Question) Input() any {
	if q.Evaluate != nil {
		return q.Evaluate
	}
	return q.Select
}

// Prompt is what a model is asked by the templates of a set.
func (q Question) Prompt(set *prompts.Set) (system, prompt string, err error) {
	if q.Evaluate != nil {
		return set.Evaluate(*q.Evaluate)
	}
	return set.Select(*q.Select)
}

// Ask puts it to a decider.
func (q Question) Ask(ctx context.Context, d decider.Decider) (decider.Decision, error) {
	if q.Evaluate != nil {
		return d.EvaluateProgress(ctx, *q.Evaluate)
	}
	return d.SelectAgent(ctx, *q.Select)
}

// QuestionOf reads a recorded input. Members that this version does not know are left
// out: an input is not made new by one more.
func QuestionOf(p decision.Point, raw json.RawMessage) (Question, error) {
	var q Question
	switch p {
	case decision.PointSelect:
		q.Select = new(decision.SelectAgentInput)
	case decision.PointEvaluate:
		q.Evaluate = new(decision.EvaluateProgressInput)
	default:
		return q, fmt.Errorf("no input is built at %q", p)
	}
	if len(raw) == 0 {
		return q, errors.New("no input was recorded")
	}
	if err := json.Unmarshal(raw, q.Input()); err != nil {
		return q, fmt.Errorf("read the input: %w", err)
	}
	return q, nil
}

// ParseQuestion reads an input from a file, of a kind told by its members. It may lie
// in the member `input`, as explanations have it. A misspelt member is an error: its
// author tries what it does.
func ParseQuestion(raw []byte) (Question, error) {
	members, err := membersOf(raw)
	if inner, ok := members["input"]; ok && err == nil {
		raw = inner
		members, err = membersOf(raw)
	}
	if err != nil {
		return Question{}, err
	}
	var q Question
	switch {
	case members["lastExecution"] != nil:
		q.Evaluate = new(decision.EvaluateProgressInput)
	case members["availableAgents"] != nil:
		q.Select = new(decision.SelectAgentInput)
	default:
		return q, errors.New("an input has the member lastExecution (to evaluate progress) or availableAgents (to " +
			"select an agent)")
	}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(q.Input()); err != nil {
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
