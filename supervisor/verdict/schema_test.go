package verdict

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// allowedKeywords is all that a schema for a model may use: the Messages API refuses combinators at the top
// level, and nested schemas follow the same rule here.
var allowedKeywords = []string{"type", "description", "properties", "required", "enum", "items", "additionalProperties"}

func TestSchemasAreFlat(t *testing.T) {
	for name, raw := range map[string]json.RawMessage{"arbiter": ArbiterSchema(),
		"orchestrator": OrchestratorSchema()} {
		var schema map[string]any
		if err := json.Unmarshal(raw, &schema); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		checkFlat(t, name, schema)
	}
}

func checkFlat(t *testing.T, path string, schema map[string]any) {
	t.Helper()
	for keyword := range schema {
		if !slices.Contains(allowedKeywords, keyword) {
			t.Errorf("%s: keyword %q", path, keyword)
		}
	}
	kind, ok := schema["type"].(string)
	if !ok {
		t.Errorf("%s: type is %v, want one name", path, schema["type"])
	}
	if kind != "object" {
		if items, ok := schema["items"].(map[string]any); ok {
			checkFlat(t, path+"[]", items)
		} else if kind == "array" {
			t.Errorf("%s: an array without items", path)
		}
		return
	}
	if schema["additionalProperties"] != nil { // the CLI would refuse a verdict that the parser takes
		t.Errorf("%s: additionalProperties is %v, want none", path, schema["additionalProperties"])
	}
	properties, _ := schema["properties"].(map[string]any)
	for name, p := range properties {
		sub := p.(map[string]any)
		if sub["description"] == nil {
			t.Errorf("%s.%s has no description", path, name)
		}
		checkFlat(t, path+"."+name, sub)
	}
	for _, r := range schema["required"].([]any) {
		if properties[r.(string)] == nil {
			t.Errorf("%s: required %v is not a property", path, r)
		}
	}
}

// TestSchemasMatchTypes compares the texts with the structs: same names, same shapes.
func TestSchemasMatchTypes(t *testing.T) {
	checkStruct(t, "arbiter", reflect.TypeFor[Arbiter](), resolve(t, ArbiterSchema()).Schema())
	checkStruct(t, "orchestrator", reflect.TypeFor[Orchestrator](), resolve(t, OrchestratorSchema()).Schema())
}

func checkStruct(t *testing.T, path string, typ reflect.Type, schema *jsonschema.Schema) {
	t.Helper()
	var fields []string
	for i := range typ.NumField() {
		f := typ.Field(i)
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		switch {
		case typ == reflect.TypeFor[Document]() && name == "checks":
			continue // the model gives both as proofs
		case typ == reflect.TypeFor[Document]() && name == "claims":
			fields = append(fields, "proofs")
			continue
		}
		fields = append(fields, name)
		sub := schema.Properties[name]
		if sub == nil {
			continue // reported below
		}
		kind := f.Type
		if kind.Kind() == reflect.Slice {
			if sub.Type != "array" {
				t.Errorf("%s.%s is %q, want array", path, name, sub.Type)
				continue
			}
			kind, sub = kind.Elem(), sub.Items
		}
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		want := map[reflect.Kind]string{reflect.String: "string", reflect.Bool: "boolean", reflect.Struct: "object",
			reflect.Int: "integer"}[kind.Kind()]
		if sub.Type != want {
			t.Errorf("%s.%s is %q, want %q", path, name, sub.Type, want)
		}
		if kind.Kind() == reflect.Struct {
			checkStruct(t, path+"."+name, kind, sub)
		}
	}
	var properties []string
	for name := range schema.Properties {
		properties = append(properties, name)
	}
	slices.Sort(fields)
	slices.Sort(properties)
	if diff := cmp.Diff(fields, properties); diff != "" {
		t.Errorf("%s: properties (-struct +schema):\n%s", path, diff)
	}
}

func TestEnumsMatchConstants(t *testing.T) {
	for _, tt := range []struct {
		schema json.RawMessage
		field  string
		want   []string
	}{
		{ArbiterSchema(), "decision", decisions},
		{OrchestratorSchema(), "kind", kinds},
	} {
		field := resolve(t, tt.schema).Schema().Properties[tt.field]
		if field.Enum != nil { // the CLI would refuse other spellings, which the parser reads
			t.Errorf("%s: enum %v", tt.field, field.Enum)
		}
		for _, name := range tt.want {
			if !strings.Contains(field.Description, name+":") {
				t.Errorf("%s: its description does not say what %s is", tt.field, name)
			}
		}
	}
}

// TestSchemaAcceptsWhatParseAccepts: the CLI validates against the schema first, so a schema stricter than the
// parser would refuse good verdicts.
func TestSchemaAcceptsWhatParseAccepts(t *testing.T) {
	d := &Document{
		Decisions: []Decision{{"c", "r", "w"}}, Checks: []Check{{"go test", "ok"}},
		Claims: []Claim{{Claim: "it works", Verified: true, Check: 1}}, KeyContext: "k",
	}
	d.Normalize()
	for schema, values := range map[*jsonschema.Resolved][]any{
		resolve(t, ArbiterSchema()): {
			Arbiter{Decision: Complete, Message: "m", Reason: "r", Summary: "s"},
			Arbiter{Decision: Handoff, Message: "m", Reason: "r", Handoff: d},
		},
		resolve(t, OrchestratorSchema()): {
			Orchestrator{ExpectsResponse: true, Message: "m", Kind: KindDone, Handoff: d},
			Orchestrator{Message: "m", Kind: KindProgress},
		},
	} {
		for _, v := range values {
			raw := testkit.Must(json.Marshal(v))(t)
			var instance any
			testkit.OK(t, json.Unmarshal(raw, &instance))
			if err := schema.Validate(instance); err != nil {
				t.Errorf("%s: %v", raw, err)
			}
		}
	}
}

func resolve(t *testing.T, raw json.RawMessage) *jsonschema.Resolved {
	t.Helper()
	var s jsonschema.Schema
	testkit.OK(t, json.Unmarshal(raw, &s))
	r := testkit.Must(s.Resolve(nil))(t)
	return r
}
