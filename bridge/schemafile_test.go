package bridge

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"reflect"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// TestSchema: the schema says what the types and their comments say.
func TestSchema(t *testing.T) {
	made := []byte(testkit.FoldJSON(t, testkit.Must(makeSchema())(t), 1000) + "\n")
	if *update {
		testkit.OK(t, os.WriteFile("schema.json", made, 0o644))
		return
	}
	if diff := cmp.Diff(string(Schema), string(made)); diff != "" {
		t.Errorf("schema.json is not what the types say; go test ./bridge -run TestSchema -update writes it "+
			"(-file +types):\n%s", diff)
	}
}

// schemaDocument is the form of Schema.
type schemaDocument struct {
	Title           string                        `json:"title"`
	Description     string                        `json:"description"`
	ProtocolVersion int                           `json:"protocol_version"`
	Methods         map[string]methodSchema       `json:"methods"`
	Events          map[string]*jsonschema.Schema `json:"events"`
	ErrorData       *jsonschema.Schema            `json:"error_data"`
	Errors          []namedValue                  `json:"errors"`
	Categories      []namedValue                  `json:"categories"`
}

type methodSchema struct {
	Description string             `json:"description,omitempty"`
	From        string             `json:"from"`
	Kind        string             `json:"kind"` // request or notification
	Params      *jsonschema.Schema `json:"params,omitempty"`
	Result      *jsonschema.Schema `json:"result,omitempty"`
}

// makeSchema makes [Schema]. Its descriptions are the comments of the types.
func makeSchema() ([]byte, error) {
	comments, err := readComments()
	if err != nil {
		return nil, fmt.Errorf("schema: %w", err)
	}
	doc := schemaDocument{
		Title: "arbiter bridge protocol",
		Description: "JSON-RPC 2.0 over a pipe, one object per line, string ids. `event` notifications carry one of " +
			"the events below as their params. Ignore unknown members and unknown events.",
		ProtocolVersion: ProtocolVersion,
		Methods:         map[string]methodSchema{},
		Events:          map[string]*jsonschema.Schema{},
		Errors:          comments.errorCodes,
		Categories:      comments.categories,
	}
	for _, k := range methodKinds {
		m, err := k.schema(comments)
		if err != nil {
			return nil, fmt.Errorf("schema of %s: %w", k.name, err)
		}
		doc.Methods[k.name] = m
	}
	for _, k := range eventKinds {
		if doc.Events[k.name], err = eventSchema(k, comments); err != nil {
			return nil, fmt.Errorf("schema of event %s: %w", k.name, err)
		}
	}
	if doc.ErrorData, err = schemaOf(reflect.TypeFor[ErrorData](), comments); err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}

func (k methodKind) schema(c *comments) (m methodSchema, err error) {
	m = methodSchema{From: k.from, Kind: "notification"}
	if m.Params, err = schemaOf(k.params, c); err != nil {
		return m, err
	}
	m.Description, m.Params.Description = m.Params.Description, ""
	if k.name == MethodEvent {
		m.Description = c.types["Event"]
		m.Params.Properties["event"] = &jsonschema.Schema{Type: "string",
			Description: "the name of the event; the members of that event follow"}
		m.Params.Properties["n"] = &jsonschema.Schema{Type: "integer",
			Description: "the number of the event in this connection. It increases; otherwise the client ends the " +
				"connection"}
		m.Params.Required = append(m.Params.Required, "event")
	}
	if k.result != nil {
		m.Kind = "request"
		m.Result, err = schemaOf(k.result, c)
	}
	return m, err
}

// eventSchema returns the flat schema of an event: the body's members beside the common ones.
func eventSchema(k eventKind, c *comments) (*jsonschema.Schema, error) {
	s, err := schemaOf(k.typ, c)
	if err != nil {
		return nil, err
	}
	head, err := schemaOf(reflect.TypeFor[AgentRef](), c)
	if err != nil {
		return nil, err
	}
	name := any(k.name)
	head.Properties["event"] = &jsonschema.Schema{Const: &name}
	for member, schema := range s.Properties {
		head.Properties[member] = schema
	}
	head.PropertyOrder = append([]string{"id", "generation", "event"}, s.PropertyOrder...)
	head.Required = append([]string{"id", "generation", "event"}, s.Required...)
	head.Description = s.Description
	return head, nil
}

// schemaOf infers the schema of a struct. Other than the plain inference it allows unknown members, as both
// ends do.
func schemaOf(t reflect.Type, c *comments) (*jsonschema.Schema, error) {
	s, err := jsonschema.ForType(t, &jsonschema.ForOptions{TypeSchemas: map[reflect.Type]*jsonschema.Schema{
		reflect.TypeFor[json.RawMessage](): {Description: "any JSON value"},
		reflect.TypeFor[[]byte]():          {Types: []string{"null", "string"}, Description: "base64"},
		reflect.TypeFor[Category]():        {Type: "string", Description: "one of the categories"},
	}})
	if err != nil {
		return nil, err
	}
	describe(s, t, c)
	return s, nil
}

func describe(s *jsonschema.Schema, t reflect.Type, c *comments) {
	for t.Kind() == reflect.Slice || t.Kind() == reflect.Pointer {
		if s.Items != nil {
			s = s.Items
		}
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct {
		return
	}
	s.AdditionalProperties = nil
	s.Description = c.types[t.Name()]
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		member := s.Properties[name]
		if member == nil {
			continue
		}
		describe(member, field.Type, c)
		if text := c.field(t, field); text != "" {
			member.Description = text
		}
	}
}

// sources declare the protocol's types. Their comments are the descriptions in the schema.
var sources = []string{"protocol.go", "query.go", "host.go", "terminal.go", "sandbox.go", "remote.go", "events.go",
	"evidence.go", "errors.go"}

// comments holds the doc comments of the sources.
type comments struct {
	types      map[string]string // by type name
	fields     map[string]string // by Type.Field
	errorCodes []namedValue
	categories []namedValue
}

// namedValue is a constant of the protocol.
type namedValue struct {
	Name        string `json:"name,omitempty"`
	Value       any    `json:"value"`
	Description string `json:"description,omitempty"`
}

// Codes of JSON-RPC itself that the bridge may answer with.
var standardCodes = []namedValue{
	{"InvalidRequest", -32600, "not a request, or a request that is not allowed now"},
	{"MethodNotFound", -32601, "unknown method"},
	{"InvalidParams", -32602, "a parameter is missing or of the wrong type"},
	{"InternalError", -32603, "an error in the bridge"},
}

func readComments() (*comments, error) {
	c := &comments{types: map[string]string{}, fields: map[string]string{}, errorCodes: standardCodes}
	for _, name := range sources {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			return nil, err
		}
		for _, decl := range file.Decls {
			if gen, ok := decl.(*ast.GenDecl); ok {
				if err := c.declaration(gen); err != nil {
					return nil, fmt.Errorf("%s: %w", name, err)
				}
			}
		}
	}
	return c, nil
}

func (c *comments) declaration(gen *ast.GenDecl) error {
	for _, spec := range gen.Specs {
		switch spec := spec.(type) {
		case *ast.TypeSpec:
			c.typeDecl(spec, gen.Doc)
		case *ast.ValueSpec:
			if err := c.constant(spec); err != nil {
				return err
			}
		}
	}
	return nil
}

func (c *comments) typeDecl(spec *ast.TypeSpec, doc *ast.CommentGroup) {
	c.types[spec.Name.Name] = sentence(spec.Name.Name, prose(doc))
	if s, ok := spec.Type.(*ast.StructType); ok {
		for _, f := range s.Fields.List {
			text := prose(f.Doc)
			if text == "" {
				text = prose(f.Comment)
			}
			for _, name := range f.Names {
				c.fields[spec.Name.Name+"."+name.Name] = text
			}
		}
	}
}

func (c *comments) constant(spec *ast.ValueSpec) error {
	name := spec.Names[0].Name
	if len(spec.Values) != 1 {
		return nil
	}
	switch {
	case strings.HasPrefix(name, "Code"):
		var value int
		neg, ok := spec.Values[0].(*ast.UnaryExpr)
		if !ok {
			return fmt.Errorf("constant %s is not a negative number", name)
		}
		if _, err := fmt.Sscan(neg.X.(*ast.BasicLit).Value, &value); err != nil {
			return fmt.Errorf("constant %s: %w", name, err)
		}
		c.errorCodes = append(c.errorCodes, namedValue{strings.TrimPrefix(name, "Code"), -value, prose(spec.Comment)})
	case strings.HasPrefix(name, "Cat"):
		value := strings.Trim(spec.Values[0].(*ast.BasicLit).Value, `"`)
		c.categories = append(c.categories, namedValue{Value: value, Description: prose(spec.Comment)})
	}
	return nil
}

// field returns the comment of a field, also of a field of an embedded type.
func (c *comments) field(t reflect.Type, f reflect.StructField) string {
	for _, i := range f.Index[:len(f.Index)-1] {
		t = t.Field(i).Type
	}
	return c.fields[t.Name()+"."+f.Name]
}

// sentence removes the type's name from the beginning of its comment: a reader of the schema does not know
// our types. "KillParams ends an agent" → "Ends an agent".
func sentence(name, text string) string {
	rest, ok := strings.CutPrefix(text, name+" ")
	if !ok || rest == "" {
		return text
	}
	return strings.ToUpper(rest[:1]) + rest[1:]
}

func prose(g *ast.CommentGroup) string {
	return strings.Join(strings.Fields(g.Text()), " ")
}
