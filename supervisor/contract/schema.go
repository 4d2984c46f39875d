package contract

import (
	"cmp"
	"encoding/json"
	"fmt"
	"reflect"
	"sync"

	"github.com/google/jsonschema-go/jsonschema"
)

const dialect = "https://json-schema.org/draft/2020-12/schema"

// EventsSchema is the JSON Schema of an event line: one definition per event,
// selected by `event`.
func EventsSchema() []byte { return documents().eventsText }

// CommandsSchema is the JSON Schema of a command line: one definition per command, selected by `type`.
func CommandsSchema() []byte { return documents().commandsText }

// schemas holds both schemas. They are built once, from the types and the tables of this package.
type schemas struct {
	events, commands         *jsonschema.Schema
	eventsText, commandsText []byte
}

var documents = sync.OnceValue(func() schemas {
	s := schemas{
		events: union("Events of arbiter --json",
			"One JSON object per line on stdout. Later versions may add events and fields, but rename none: "+
				"ignore what you do not know."),
		commands: union("Commands of arbiter --json",
			"One JSON object per line on stdin. Arbiter answers each with accepted or rejected, which repeat ref."),
	}
	for _, e := range events {
		add(s.events, e.body.EventName(), eventSchema(e.body, e.about))
	}
	for _, f := range forms {
		add(s.commands, f.body.CommandType(), commandSchema(f))
	}
	s.eventsText, s.commandsText = render(s.events), render(s.commands)
	return s
})

func union(title, about string) *jsonschema.Schema {
	return &jsonschema.Schema{Schema: dialect, Title: title, Description: about, Defs: map[string]*jsonschema.Schema{}}
}

func add(doc *jsonschema.Schema, name string, def *jsonschema.Schema) {
	doc.Defs[name] = def
	doc.OneOf = append(doc.OneOf, &jsonschema.Schema{Ref: "#/$defs/" + name})
}

func render(doc *jsonschema.Schema) []byte {
	text, err := json.MarshalIndent(doc, "", "  ")
	if err != nil {
		panic("contract: render schema: " + err.Error())
	}
	return append(text, '\n')
}

func eventSchema(b Body, about string) *jsonschema.Schema {
	name := b.EventName()
	s, err := jsonschema.ForType(reflect.TypeOf(b),
		&jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
			// The model writes a tool's input, which may have any shape.
			reflect.TypeFor[json.RawMessage](): {},
		}})
	if err != nil {
		panic(fmt.Sprintf("contract: schema of event %s: %v", name, err))
	}
	open(s)
	s.Description = about
	for f, p := range s.Properties {
		p.Description = cmp.Or(p.Description, fieldNotes[f])
		if values := fieldEnums[name+"."+f]; values != nil {
			p.Enum = anys(values)
		}
	}
	if steps := s.Properties["steps"]; steps != nil {
		describeStep(steps.Items)
	}
	envelope := []struct {
		name   string
		schema *jsonschema.Schema
	}{
		{"v", constant(Version, "The version of the contract.")},
		{"seq", &jsonschema.Schema{Type: "integer", Minimum: jsonschema.Ptr(1.0),
			Description: "Counts this process's lines from 1, without gaps."}},
		{"time", &jsonschema.Schema{Type: "string", Format: "date-time",
			Description: "RFC 3339 with milliseconds, UTC."}},
		{"id", &jsonschema.Schema{Type: "string", MinLength: jsonschema.Ptr(1),
			Description: "Whom the event is about: arbiter, orch-1 …, human or supervisor."}},
		{"event", constant(name, "Which event it is.")},
	}
	if s.Properties == nil {
		s.Properties = map[string]*jsonschema.Schema{}
	}
	var order, required []string
	for _, e := range envelope {
		s.Properties[e.name] = e.schema
		order, required = append(order, e.name), append(required, e.name)
	}
	s.PropertyOrder = append(order, s.PropertyOrder...)
	s.Required = append(required, s.Required...)
	return s
}

// open corrects the inferred schema in two ways: lines never hold null where the
// contract shows a list or an object, and fields may be added.
func open(s *jsonschema.Schema) {
	if s == nil {
		return
	}
	if len(s.Types) == 2 && s.Types[0] == "null" {
		s.Type, s.Types = s.Types[1], nil
	}
	s.AdditionalProperties = nil
	open(s.Items)
	for _, p := range s.Properties {
		open(p)
	}
}

func commandSchema(f form) *jsonschema.Schema {
	kind := f.body.CommandType()
	s := object(f.about, f.fields, reflect.TypeOf(f.body))
	s.Properties["type"] = constant(kind, "Which command it is.")
	s.Properties["ref"] = &jsonschema.Schema{Types: []string{"string", "number"},
		Description: "Repeated in accepted or rejected."}
	s.PropertyOrder = append([]string{"type", "ref"}, s.PropertyOrder...)
	s.Required = append([]string{"type"}, s.Required...)
	return s
}

// object is the schema of an object with these fields only: unlike events, commands allow no other fields.
func object(about string, fields []field, of reflect.Type) *jsonschema.Schema {
	s := &jsonschema.Schema{
		Type: "object", Description: about, Properties: map[string]*jsonschema.Schema{},
		AdditionalProperties: &jsonschema.Schema{Not: &jsonschema.Schema{}},
	}
	for _, f := range fields {
		if f.unlisted {
			continue
		}
		p := &jsonschema.Schema{Type: "string", Description: f.about}
		to, _ := member(reflect.Zero(of), f.name)
		switch {
		case f.items != nil:
			p.Type, p.Items = "array", object("One item of the list.", f.items, to.Type().Elem())
		case to.Kind() == reflect.Slice:
			p.Type, p.MaxItems = "array", jsonschema.Ptr(f.most)
			p.Items = &jsonschema.Schema{Type: "string", Pattern: `\S`}
		case to.Kind() == reflect.Bool:
			p.Type = "boolean"
		case to.Kind() == reflect.Pointer:
			p.Type = "number"
		case f.enum != nil:
			p.Enum = anys(f.enum)
		case f.required:
			p.Pattern = `\S`
		}
		s.Properties[f.name] = p
		s.PropertyOrder = append(s.PropertyOrder, f.name)
		if f.required {
			s.Required = append(s.Required, f.name)
		}
	}
	return s
}

func describeStep(s *jsonschema.Schema) {
	for _, f := range stepFields {
		if f.unlisted {
			continue
		}
		s.Properties[f.name].Description = f.about
		if f.enum != nil {
			s.Properties[f.name].Enum = anys(f.enum)
		}
	}
}

func constant(v any, about string) *jsonschema.Schema {
	return &jsonschema.Schema{Const: &v, Description: about}
}

func anys(values []string) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}
