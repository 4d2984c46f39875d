package contract

import (
	"encoding/json"
	"fmt"
)

// build makes the command out of fields that were checked.
func build(kind CommandBody, values checked) CommandBody {
	text := values.text
	switch kind.(type) {
	case Say:
		return Say{Text: text["text"], To: text["to"], Strength: text["strength"]}
	case Permit:
		return Permit{Request: text["request"], Behavior: text["behavior"], Scope: text["scope"],
			Rule: text["rule"], Action: text["action"], Message: text["message"]}
	case EditMessage:
		return EditMessage{MessageID: text["message_id"], Text: text["text"]}
	case WithdrawMessage:
		return WithdrawMessage{MessageID: text["message_id"]}
	case Attach:
		return Attach{ID: text["id"]}
	case Detach:
		return Detach{ID: text["id"]}
	case Interrupt:
		return Interrupt{ID: text["id"]}
	case Kill:
		return Kill{ID: text["id"]}
	case ForceAgent:
		return ForceAgent{Mode: text["mode"]}
	case SetPlan:
		return SetPlan{Steps: values.steps}
	case Choose:
		return Choose{Option: text["option"]}
	case Configure:
		return Configure{ID: text["id"], Model: text["model"]}
	}
	return kind // the others have no fields
}

// MarshalCommand is the line of a command, without its newline. A Malformed has
// none.
func MarshalCommand(c Command) ([]byte, error) {
	if c.Body == nil {
		return nil, fmt.Errorf("marshal command: no body")
	}
	if m, ok := c.Body.(Malformed); ok {
		return nil, fmt.Errorf("marshal command: the line was none: %s", m.Problem)
	}
	if plan, ok := c.Body.(SetPlan); ok && plan.Steps == nil {
		c.Body = SetPlan{Steps: []Step{}}
	}
	fields, err := json.Marshal(c.Body)
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
