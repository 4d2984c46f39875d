package runstore

import (
	"context"

	"bytes"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// DecisionQuestion is an input of a decision. Exactly one member is set.
type DecisionQuestion struct {
	Select   *decider.SelectAgentInput
	Evaluate *decider.EvaluateProgressInput
}

// Point returns the decision point of the question.
func (q DecisionQuestion) Point() decider.DecisionPoint {
	if q.Evaluate != nil {
		return decider.PointEvaluate
	}
	return decider.PointSelect
}

// Input returns the input that is set.
func (q DecisionQuestion) Input() any {
	if q.Evaluate != nil {
		return q.Evaluate
	}
	return q.Select
}

// Prompt renders the prompt for a model with a set of templates.
func (q DecisionQuestion) Prompt(set *decider.PromptSet) (system, prompt string, err error) {
	if q.Evaluate != nil {
		return set.Evaluate(*q.Evaluate)
	}
	return set.Select(*q.Select)
}

// Ask asks a decider.
func (q DecisionQuestion) Ask(ctx context.Context, d decider.Decider) (decider.Decision, error) {
	if q.Evaluate != nil {
		return d.EvaluateProgress(ctx, *q.Evaluate)
	}
	return d.SelectAgent(ctx, *q.Select)
}

// QuestionOf reads a recorded input. It ignores unknown members: an input with one more member is not a new kind of
// input.
func QuestionOf(p decider.DecisionPoint, raw json.RawMessage) (DecisionQuestion, error) {
	var q DecisionQuestion
	switch p {
	case decider.PointSelect:
		q.Select = new(decider.SelectAgentInput)
	case decider.PointEvaluate:
		q.Evaluate = new(decider.EvaluateProgressInput)
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

// ParseQuestion reads an input from a file and derives its kind from its members. The input may be in the member
// `input`, as in explanations. A misspelled member is an error, because the author of the file expects it to have
// an effect.
func ParseQuestion(raw []byte) (DecisionQuestion, error) {
	members, err := membersOf(raw)
	if inner, ok := members["input"]; ok && err == nil {
		raw = inner
		members, err = membersOf(raw)
	}
	if err != nil {
		return DecisionQuestion{}, err
	}
	var q DecisionQuestion
	switch {
	case members["lastExecution"] != nil:
		q.Evaluate = new(decider.EvaluateProgressInput)
	case members["availableAgents"] != nil:
		q.Select = new(decider.SelectAgentInput)
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
