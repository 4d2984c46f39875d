package standin

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// schema is what a verdict, or a tool's input, is held against. The CLI's own validator
// has other words for what is wrong.
type schema struct {
	required []string
	resolved *jsonschema.Resolved
}

// kinds are the types there are; the library takes any word.
var kinds = []string{"array", "boolean", "integer", "null", "number", "object", "string"}

func parseSchema(raw json.RawMessage) (*schema, error) {
	var s jsonschema.Schema
	if err := json.Unmarshal(raw, &s); err != nil {
		return nil, err
	}
	for _, kind := range append(s.Types, s.Type) {
		if kind != "" && !slices.Contains(kinds, kind) {
			return nil, fmt.Errorf("type %q is none", kind)
		}
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		return nil, err
	}
	return &schema{s.Required, resolved}, nil
}

// validate says what is wrong with a value; raw JSON that is none is wrong, too.
func (s *schema) validate(raw json.RawMessage) error {
	var v any
	if json.Unmarshal(raw, &v) != nil {
		return errors.New("root: no JSON")
	}
	return s.resolved.Validate(v)
}
