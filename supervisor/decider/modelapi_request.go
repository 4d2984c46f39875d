package decider

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

type object = map[string]any

// parameter is a member of a request that some models refuse.
type parameter struct {
	name    string // as refusals name it
	label   string // describes what is left out then
	into    func(body object)
	instead *parameter // what is sent instead; nil: nothing
}

// parameters are those of the settings, in the order in which a refusal is searched for them.
func (c APIConfig) parameters(schema []byte) []parameter {
	var list []parameter
	add := func(name, label string, value any) {
		list = append(list, parameter{name: name, label: label, into: func(b object) { b[name] = value }})
	}
	limit := c.MaxTokens
	if limit <= 0 {
		limit = DefaultMaxTokens
	}
	if c.Temperature != nil {
		add("temperature", "temperature", *c.Temperature)
	}
	if c.Provider == APIAnthropic {
		if c.Effort != "" {
			list = append(list, parameter{name: "effort", label: "effort", into: outputConfig("effort", c.Effort)})
		}
		if len(schema) > 0 {
			format := object{"type": "json_schema", "schema": json.RawMessage(schema)}
			list = append(list, parameter{name: "output_config", label: "output schema",
				into: outputConfig("format", format)})
		}
		return append(list, parameter{into: func(b object) { b["max_tokens"] = limit }})
	}
	if c.Effort != "" {
		add("reasoning_effort", "effort", c.Effort)
	}
	if len(schema) > 0 {
		add("response_format", "output schema", object{"type": "json_schema",
			"json_schema": object{"name": "decision", "schema": json.RawMessage(schema)}})
	}
	// The API itself has a new name for it, which its own models require; other servers know the old one.
	names := []string{"max_tokens", "max_completion_tokens"}
	if c.BaseURL == "" {
		slices.Reverse(names)
	}
	other := parameter{name: "", into: func(b object) { b[names[1]] = limit }}
	return append(list, parameter{name: names[0], into: func(b object) { b[names[0]] = limit }, instead: &other})
}

// outputConfig sets a member of a Messages request's output_config.
func outputConfig(name string, value any) func(object) {
	return func(b object) {
		config, ok := b["output_config"].(object)
		if !ok {
			config = object{}
			b["output_config"] = config
		}
		config[name] = value
	}
}

// body renders a question. refused are the names of parameters to leave out.
func (c APIConfig) body(q Question, refused []string) ([]byte, []parameter, error) {
	user := object{"role": "user", "content": q.Prompt}
	b := object{"model": c.Model}
	if c.Provider == APIAnthropic {
		b["messages"] = []object{user}
		if q.System != "" {
			b["system"] = q.System
		}
	} else {
		messages := []object{user}
		if q.System != "" {
			messages = []object{{"role": "system", "content": q.System}, user}
		}
		b["messages"] = messages
	}
	var sent []parameter
	for _, p := range c.parameters(q.Schema) {
		if p.name != "" && slices.Contains(refused, p.name) {
			if p.instead == nil {
				continue
			}
			p = *p.instead
		}
		p.into(b)
		sent = append(sent, p)
	}
	text, err := json.Marshal(b)
	if err != nil {
		return nil, nil, fmt.Errorf("write the question: %w", err)
	}
	if len(text) > maxQuestion {
		return nil, nil, fmt.Errorf("the question has %d bytes, and at most %d are sent", len(text), maxQuestion)
	}
	return text, sent, nil
}

// refusals are words that servers use to refuse a parameter as such. A parameter with a wrong value is not left
// out.
var refusals = []string{"support", "unknown", "unrecognized", "extra input", "not permitted", "not allowed",
	"deprecated", "unexpected", "only the default", "removed"}

// refusedBy finds the parameter that a server's text refuses; nil: none of those sent.
func refusedBy(text string, sent []parameter) *parameter {
	text = strings.ToLower(text)
	if !slices.ContainsFunc(refusals, func(word string) bool { return strings.Contains(text, word) }) {
		return nil
	}
	i := slices.IndexFunc(sent, func(p parameter) bool { return p.name != "" && strings.Contains(text, p.name) })
	if i < 0 {
		return nil
	}
	return &sent[i]
}
