package bridge

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	"github.com/google/jsonschema-go/jsonschema"
)

// methodKind is one row of the table of methods, as the schema shows it.
type methodKind struct {
	name   string
	from   string       // who sends it
	params reflect.Type // its comment describes the method
	result reflect.Type // nil for a notification
}

func request[P, R any](name, from string) methodKind {
	return methodKind{name, from, reflect.TypeFor[P](), reflect.TypeFor[R]()}
}

// methodKinds lists every method of the protocol. `event` is described by the
// table of events.
var methodKinds = []methodKind{
	request[InitializeParams, InitializeResult](MethodInitialize, "client"),
	request[SpawnParams, SpawnResult](MethodSpawn, "client"),
	request[MessageParams, Empty](MethodMessage, "client"),
	request[InterruptParams, InterruptResult](MethodInterrupt, "client"),
	request[KillParams, Empty](MethodKill, "client"),
	request[ContextParams, ContextResult](MethodContext, "client"),
	request[AskParams, AskResult](MethodAsk, "client"),
	request[ConfigureParams, Empty](MethodConfigure, "client"),
	request[ProbeParams, ProbeResult](MethodProbe, "client"),
	request[CheckParams, CheckResult](MethodCheck, "client"),
	request[InspectParams, InspectResult](MethodInspect, "client"),
	request[QueryParams, QueryResult](MethodQuery, "client"),
	request[SandboxParams, SandboxResult](MethodSandbox, "client"),
	request[ShutdownParams, ShutdownResult](MethodShutdown, "client"),
	{MethodCancel, "both", reflect.TypeFor[CancelParams](), nil},
	request[PTYOpenParams, PTYOpenResult](MethodPTYOpen, "client"),
	request[PTYWriteParams, Empty](MethodPTYWrite, "client"),
	request[PTYResizeParams, Empty](MethodPTYResize, "client"),
	request[PTYCloseParams, Empty](MethodPTYClose, "client"),
	request[ResolveParams, ResolveResult](MethodResolve, "client"),
	request[InventoryParams, InventoryResult](MethodInventory, "client"),
	request[PrepareWorkParams, WorkResult](MethodPrepareWork, "client"),
	request[CommitWorkParams, CommitWorkResult](MethodCommitWork, "client"),
	request[RemoveWorkParams, RemoveWorkResult](MethodRemoveWork, "client"),
	{MethodEvent, "bridge", reflect.TypeFor[AgentRef](), nil},
	request[ToolCallParams, ToolCallResult](MethodToolCall, "bridge"),
	request[PermissionParams, PermissionResult](MethodPermission, "bridge"),
	request[JudgeParams, JudgeResult](MethodJudge, "bridge"),
	request[TickParams, Empty](MethodTick, "bridge"),
}

// schemaDocument is the output of Schema.
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

// Schema returns a JSON document with the JSON Schema of every message of the
// protocol. It is made from the Go types, and its descriptions are their comments.
func Schema() ([]byte, error) {
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
	return json.MarshalIndent(doc, "", "  ")
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
