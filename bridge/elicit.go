package bridge

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// ElicitTool is the tool of a permission request that asks the human what an MCP server wants to know. Its input is an
// [Elicitation]; the message of an answer that allows it is what the human says.
const ElicitTool = "Elicitation"

// Elicitation is a question of an MCP server. Schema describes the fields of the answer; without fields, consent is the
// answer.
type Elicitation struct {
	Server  string          `json:"server"`
	Message string          `json:"message"`
	URL     string          `json:"url,omitempty"` // that the human is asked to open
	Schema  json.RawMessage `json:"schema,omitempty"`
}

// Content makes the server's answer of what a human has said: a JSON object with the fields, or the value alone where
// one field is asked for. The error tells the human what to say.
func (e Elicitation) Content(said string) (json.RawMessage, error) {
	schema := jsonschema.Schema{Type: "object"}
	if len(e.Schema) > 0 {
		if err := json.Unmarshal(e.Schema, &schema); err != nil {
			return nil, fmt.Errorf("the fields that the MCP server asks for cannot be read, so deny the request: %w", err)
		}
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		return nil, fmt.Errorf("the fields that the MCP server asks for cannot be read, so deny the request: %w", err)
	}
	values := map[string]any{}
	if said = strings.TrimSpace(said); strings.HasPrefix(said, "{") {
		err = json.Unmarshal([]byte(said), &values)
	} else if said != "" && len(schema.Properties) == 1 {
		for name, field := range schema.Properties {
			values[name] = fieldValue(field.Type, said)
		}
	} else if said != "" {
		err = fmt.Errorf("%q is not a JSON object", jsonl.Cut(said, 60))
	}
	if err == nil {
		err = resolved.ApplyDefaults(&values)
	}
	if err == nil {
		err = resolved.Validate(values)
	}
	if err != nil {
		return nil, fmt.Errorf("the MCP server asks for %s: give that as the message of the answer (%w)",
			fields(&schema), err)
	}
	return json.Marshal(values)
}

// fieldValue is a text as the value of a field that may have another type.
func fieldValue(kind, said string) any {
	if kind == "boolean" {
		said = strings.NewReplacer("yes", "true", "no", "false").Replace(strings.ToLower(said))
	}
	var value any
	if kind == "string" || json.Unmarshal([]byte(said), &value) != nil {
		return said
	}
	return value
}

// fields names what a schema asks for.
func fields(schema *jsonschema.Schema) string {
	var list []string
	for name, f := range schema.Properties {
		text := name + " (" + f.Type
		if len(f.Enum) > 0 {
			text += fmt.Sprintf(", one of %v", f.Enum)
		}
		if !slices.Contains(schema.Required, name) {
			text += ", optional"
		}
		list = append(list, text+")")
	}
	switch slices.Sort(list); len(list) {
	case 0:
		return "consent alone, without a message"
	case 1:
		return list[0]
	}
	return "a JSON object with " + strings.Join(list, ", ")
}
