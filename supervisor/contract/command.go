package contract

import (
	"fmt"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// MarshalCommand returns the line of a command, without a newline. A Malformed has
// no such line.
func MarshalCommand(c Command) ([]byte, error) {
	if c.Body == nil {
		return nil, fmt.Errorf("marshal command: no body")
	}
	if m, ok := c.Body.(Malformed); ok {
		return nil, fmt.Errorf("marshal command: the line was not a valid command: %s", m.Problem)
	}
	if plan, ok := c.Body.(SetPlan); ok && plan.Steps == nil {
		c.Body = SetPlan{Steps: []Step{}}
	}
	if a, ok := c.Body.(SetAcceptance); ok && a.Criteria == nil {
		c.Body = SetAcceptance{Criteria: []AcceptanceCriterion{}}
	}
	fields, err := jsonl.Marshal(c.Body)
	if err != nil {
		return nil, fmt.Errorf("marshal command %s: %w", c.Body.CommandType(), err)
	}
	out := append([]byte(nil), `{"type":`...)
	out = appendQuoted(out, c.Body.CommandType())
	if c.Ref != "" {
		out = append(out, `,"ref":`...)
		out = appendQuoted(out, c.Ref)
	}
	if len(fields) > len("{}") {
		out = append(out, ',')
		return appendSafe(out, fields[1:]), nil
	}
	return append(out, '}'), nil
}
