package contract

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// Validator checks lines against the schemas, for tests and recordings.
type Validator struct {
	events, commands         *jsonschema.Resolved
	eventKinds, commandKinds map[string]*jsonschema.Resolved
}

// NewValidator resolves the schemas, once for all callers.
func NewValidator() *Validator { return validator() }

var validator = sync.OnceValue(func() *Validator {
	docs := documents()
	return &Validator{
		events: mustResolve(docs.events), commands: mustResolve(docs.commands),
		eventKinds: resolveAll(docs.events), commandKinds: resolveAll(docs.commands),
	}
})

func mustResolve(s *jsonschema.Schema) *jsonschema.Resolved {
	r, err := s.CloneSchemas().Resolve(nil)
	if err != nil {
		panic("contract: resolve schema: " + err.Error())
	}
	return r
}

func resolveAll(doc *jsonschema.Schema) map[string]*jsonschema.Resolved {
	out := make(map[string]*jsonschema.Resolved, len(doc.Defs))
	for name, def := range doc.Defs {
		out[name] = mustResolve(def)
	}
	return out
}

// ValidateEventLine reports whether a line is an event of the contract.
func (v *Validator) ValidateEventLine(line []byte) error {
	return validate(line, "event", v.eventKinds, v.events)
}

// ValidateCommandLine reports whether a line is a command of the contract.
func (v *Validator) ValidateCommandLine(line []byte) error {
	return validate(line, "type", v.commandKinds, v.commands)
}

// validate first uses the one definition that the line names, because its errors say what
// is wrong; the errors of a union only say that nothing matched.
func validate(line []byte, tag string, kinds map[string]*jsonschema.Resolved, union *jsonschema.Resolved) error {
	if _, err := jsonl.Members(line); err != nil {
		return err
	}
	var instance map[string]any
	if err := json.Unmarshal(line, &instance); err != nil {
		return fmt.Errorf("not valid JSON: %w", err)
	}
	name, _ := instance[tag].(string)
	one, ok := kinds[name]
	if !ok {
		return fmt.Errorf("`%s` is %v, which is not in the schema", tag, instance[tag])
	}
	if err := one.Validate(instance); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return union.Validate(instance)
}
