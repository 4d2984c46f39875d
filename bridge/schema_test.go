package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// decodedSchema is the schema as a program in another language sees it.
type decodedSchema struct {
	Methods map[string]struct {
		Description, From, Kind string
		Params, Result          *jsonschema.Schema
	}
	Events             map[string]*jsonschema.Schema
	Errors, Categories []namedValue
	ErrorData          *jsonschema.Schema `json:"error_data"`
}

func readSchema(t *testing.T) decodedSchema {
	t.Helper()
	var d decodedSchema
	testkit.OK(t, json.Unmarshal(Schema, &d))
	return d
}

func conform(t *testing.T, what string, s *jsonschema.Schema, data json.RawMessage) {
	t.Helper()
	if s == nil {
		t.Errorf("%s: the schema has none for %s", what, data)
		return
	}
	resolved, err := s.Resolve(nil)
	if err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	var v any
	if err := json.Unmarshal(data, &v); err != nil {
		t.Errorf("%s: %v", what, err)
	} else if err := resolved.Validate(v); err != nil {
		t.Errorf("%s: %s: %v", what, data, err)
	}
}

// constants returns the constants of a source file with a prefix, with their values as written.
func constants(t *testing.T, file, prefix string) map[string]string {
	t.Helper()
	f := testkit.Must(parser.ParseFile(token.NewFileSet(), file, nil, 0))(t)
	found := map[string]string{}
	ast.Inspect(f, func(n ast.Node) bool {
		spec, ok := n.(*ast.ValueSpec)
		if ok && strings.HasPrefix(spec.Names[0].Name, prefix) {
			switch v := spec.Values[0].(type) {
			case *ast.BasicLit:
				found[spec.Names[0].Name] = strings.Trim(v.Value, `"`)
			case *ast.UnaryExpr:
				found[spec.Names[0].Name] = "-" + v.X.(*ast.BasicLit).Value
			}
		}
		return true
	})
	return found
}

func TestSchemaIsComplete(t *testing.T) {
	d := readSchema(t)
	methods := constants(t, "protocol.go", "Method")
	for name, method := range methods {
		m, ok := d.Methods[method]
		testkit.Check(t, ok && m.Description != "" && m.From != "", "%s %q: missing, or without a description", name, method)
	}
	testkit.Same(t, "methods in the schema, constants", len(d.Methods), len(methods))
	events := 0
	f := testkit.Must(parser.ParseFile(token.NewFileSet(), "events.go", nil, 0))(t)
	for _, decl := range f.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok || fn.Name.Name != "eventName" {
			continue
		}
		lit, ok := fn.Body.List[0].(*ast.ReturnStmt).Results[0].(*ast.BasicLit)
		if !ok {
			continue // Unknown
		}
		events++
		name := strings.Trim(lit.Value, `"`)
		if s := d.Events[name]; s == nil || s.Description == "" || s.Properties["event"] == nil {
			t.Errorf("event %q: missing, or without a description", name)
		}
	}
	testkit.Same(t, "events in the source", len(d.Events), events)
	testkit.Same(t, "events", len(eventKinds), events)
	var codes []string
	for _, e := range d.Errors {
		testkit.Check(t, e.Description != "" && e.Name != "", "error %v has no description", e)
		codes = append(codes, strconv.Itoa(int(e.Value.(float64))))
	}
	for name, code := range constants(t, "errors.go", "Code") {
		testkit.Check(t, slices.Contains(codes, code), "%s = %s is missing", name, code)
	}
	testkit.Same(t, "categories", len(constants(t, "errors.go", "Cat")), len(d.Categories))
}

// The real API refuses combinators at the top of a schema, and code generators of other languages handle
// them badly: the whole schema is flat.
func TestSchemaIsFlat(t *testing.T) {
	for _, word := range []string{`"oneOf"`, `"anyOf"`, `"allOf"`, `"$ref"`, `"$defs"`,
		`"additionalProperties":false`} {
		testkit.Excludes(t, "the schema has", string(Schema), word)
	}
}

// sampleEvents has one event of each kind, every field set.
var sampleEvents = []EventBody{
	Assistant{"text <&> \u2028", 12.5, "msg_1", "toolu_1"}, Delta{"te", true},
	ToolUse{"Bash", json.RawMessage(`{"command":"ls","z":1,"a":[1.50,2e3]}`), "toolu_1", "toolu_0"},
	ToolResult{"toolu_1", "out\nput", true, "toolu_0"},
	ToolRan{"Bash", "toolu_1", json.RawMessage(`{"command":"ls"}`), "a0"},
	SubagentStart{"look around", "toolu_1", "Explore"},
	SubagentStop{"look around", "toolu_1", "completed", 12},
	SubagentProgress{"look around", "toolu_1", 12, 3, "Read", 0.5, 9}, Context{1000, 200_000, 0.5, 7, "stream"},
	ContextWarning{71, "warn"}, Compact{"auto", true, 9, 8},
	Turn{Verdict: json.RawMessage(`{"kind":"done"}`), Oversize: 7, Text: "t", MessageIDs: []string{"m"},
		Usage: Usage{1, 2, 3, 4}, CostUSD: 0.25, NumTurns: 2, DurationMS: 3, Outcome: TurnFailed,
		Category: CatOverloaded, Error: "e", ResetsAt: 1_790_000_000, Reason: "r", Model: "m", Window: 131072,
		CostUnknown: true,
		Unread:      []string{"m"}, Tools: 4, Failed: &FailedTool{"Bash", "go test", "go test", "FAIL", true, 7, 9},
		Files: []string{"/w/a.go"}, Models: []ModelCost{{"claude-sonnet-4-5", 0.25, Usage{1, 2, 3, 4}, 1_000_000}}},
	Tasks{[]Task{{"1", "look around", "in_progress"}}},
	Spent{CostUSD: 0.5, Usage: Usage{1, 2, 3, 4}},
	Quota{Window: "five_hour", UsedPct: 81, ResetsAt: 1795490545},
	Delivered{"m", "lifecycle"}, Retry{1, 10, 500, 529, "overloaded"}, Stderr{"oops"},
	Notice{"an unknown frame", "brand_new/"},
	PTY{[]byte("\x1b[2J")}, Done{"s", Exit{-1, "killed", true, 2, "last words"}}, Error{CatProtocol, "what"},
}

func TestEventsConformToSchema(t *testing.T) {
	d := readSchema(t)
	seen := map[string]bool{}
	for _, body := range sampleEvents {
		name := body.eventName()
		seen[name] = true
		data := testkit.Must(Event{AgentRef{"a", 1}, body}.MarshalJSON())(t)
		conform(t, name, d.Events[name], data)
		conform(t, name, d.Methods[MethodEvent].Params, data)
	}
	for _, k := range eventKinds { // no field is set
		body := reflect.Zero(k.typ).Interface().(EventBody)
		data := testkit.Must(Event{AgentRef{"a", 1}, body}.MarshalJSON())(t)
		conform(t, "empty "+k.name, d.Events[k.name], data)
		testkit.Check(t, seen[k.name], "no sample of %s", k.name)
	}
}

// tap records both directions of a pipe.
type tap struct {
	io.ReadWriteCloser
	mu  sync.Mutex
	out []byte
	in  []byte
}

func (p *tap) Read(b []byte) (int, error) {
	n, err := p.ReadWriteCloser.Read(b)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.in = append(p.in, b[:n]...)
	return n, err
}

func (p *tap) Write(b []byte) (int, error) {
	p.mu.Lock()
	p.out = append(p.out, b...)
	p.mu.Unlock()
	return p.ReadWriteCloser.Write(b)
}

// Real traffic of every method conforms to the schema.
func TestTrafficConformsToSchema(t *testing.T) {
	bubble(t, func(t *testing.T) {
		d := readSchema(t)
		near, far := net.Pipe()
		l := &fakeLauncher{}
		served := make(chan error, 1)
		go func() {
			served <- NewServer(l, ServerOptions{Version: "test", Evidence: &fakeCollector{}, Machine: &fakeMachine{},
				Now: sinceStart()}).Serve(t.Context(), far)
		}()
		h := &recorder{permission: func(ctx context.Context, _ PermissionParams) (PermissionResult, error) {
			return PermissionResult{Behavior: Allow}, nil
		}, judge: func(context.Context, JudgeParams) (JudgeResult, error) {
			return JudgeResult{Behavior: Ask}, nil
		}}
		p := &tap{ReadWriteCloser: near}
		r := &rig{Client: NewClient(p, h, nil), l: l, h: h, ctx: t.Context(), served: served, stop: func() {}}
		converse(t, r)
		r.leave(t)

		seen := map[string]bool{}
		asked := map[string]string{} // method by caller and id
		type message struct {
			ID, Params, Result json.RawMessage
			Method             string
			Error              *struct{ Data json.RawMessage }
		}
		each := func(do func(from, to string, m message)) {
			for _, way := range [][3]string{{"client", "bridge", string(p.out)}, {"bridge", "client", string(p.in)}} {
				for line := range strings.Lines(way[2]) {
					var m message
					err := json.Unmarshal([]byte(line), &m)
					testkit.Need(t, err == nil, "%s: %v", line, err)
					do(way[0], way[1], m)
				}
			}
		}
		each(func(from, _ string, m message) {
			if m.Method == "" {
				return
			}
			seen[m.Method] = true
			asked[from+string(m.ID)] = m.Method
			sender := d.Methods[m.Method].From
			testkit.Check(t, sender == from || sender == "both", "%s is sent by the %s", m.Method, from)
			conform(t, m.Method, d.Methods[m.Method].Params, m.Params)
		})
		each(func(_, to string, m message) {
			switch method := asked[to+string(m.ID)]; {
			case m.Method != "":
			case m.Error == nil:
				conform(t, method+" result", d.Methods[method].Result, m.Result)
			case m.Error.Data != nil:
				conform(t, method+" error data", d.ErrorData, m.Error.Data)
			}
		})
		for name := range d.Methods {
			testkit.Check(t, seen[name], "no %s was sent", name)
		}
		testkit.Same(t, fmt.Sprintf("methods beyond the schema: %v", seen), len(d.Methods), len(seen))
	})
}

// converse uses every method once.
func converse(t *testing.T, r *rig) {
	t.Helper()
	ref := AgentRef{"a", 1}
	do := func(what string, err error) {
		testkit.Check(t, err == nil, "%s: %v", what, err)
	}
	do("initialize",
		errOf(r.Initialize(r.ctx, InitializeParams{Client: "test", Run: "run", Bridge: "box",
			Claude: ClaudeSpec{Path: "claude"}, Remote: &RemoteParams{Version: "test", LeaseMS: 60_000,
				PassEnv: map[string]string{"NPM_TOKEN": "x"}}})))
	p := spawnParams("a", 1)
	p.Config.MCPTools = []ToolSpec{{Name: "status", InputSchema: json.RawMessage(`{"type":"object"}`)}}
	do("spawn", errOf(r.Spawn(r.ctx, p)))
	a := r.l.agent(ref)
	a.ask = func(ctx context.Context, q string) (string, error) {
		switch q {
		case "hang":
			<-ctx.Done()
			return "", ctx.Err()
		case "refuse":
			return "", &RPCError{Code: CodeRefused, Category: CatTimeout, Message: "no", Stderr: "words"}
		}
		return "because", nil
	}
	for _, body := range sampleEvents {
		if _, last := body.(Done); !last {
			a.host.Emit(Event{Body: body})
		}
	}
	do("message", r.Message(r.ctx, MessageParams{ref, "m", "hi", false, nil}))
	do("interrupt", errOf(r.Interrupt(r.ctx, ref)))
	do("context", errOf(r.Context(r.ctx, ref)))
	do("ask", errOf(r.Ask(r.ctx, AskParams{ref, "why"})))
	do("probe", errOf(r.Probe(r.ctx, ref)))
	do("configure", r.Configure(r.ctx, ConfigureParams{AgentRef: ref, Model: "m"}))
	a.host.ToolCall(r.ctx, ToolCallParams{Call: "c", Tool: "status", Input: json.RawMessage(`{}`)})
	a.host.Permission(r.ctx, PermissionParams{Request: "r", Tool: "Bash", Input: json.RawMessage(`{}`)})
	a.host.Judge(r.ctx, JudgeParams{Tool: "Bash", Input: json.RawMessage(`{}`), ToolUse: "toolu_1"})
	ctx, cancel := context.WithTimeout(r.ctx, time.Second)
	defer cancel()
	testkit.Fails(t, "an ask without an answer succeeded", testkit.Err(r.Ask(ctx, AskParams{ref, "hang"})))
	_, err := r.Ask(r.ctx, AskParams{ref, "refuse"})
	testkit.Check(t, codeOf(err) == CodeRefused, "got %v", err)
	do("check", errOf(r.Check(r.ctx, oneCheck)))
	do("survey", errOf(r.Inspect(r.ctx, oneInspection)))
	do("query", errOf(r.Query(r.ctx, oneQuery)))
	do("resolve", errOf(r.Resolve(r.ctx, ResolveParams{Paths: []string{"/a"}})))
	do("inventory", errOf(r.Inventory(r.ctx, InventoryParams{Dir: "/w"})))
	do("work_prepare", errOf(r.PrepareWork(r.ctx, PrepareWorkParams{Orchestrator: 1, Generation: 1, Kind: "worktree",
		Base: strings.Repeat("a", 40)})))
	do("work_commit", errOf(r.CommitWork(r.ctx, CommitWorkParams{Orchestrator: 1, Message: "work"})))
	do("work_remove", errOf(r.RemoveWork(r.ctx, RemoveWorkParams{Orchestrator: 1})))
	do("sandbox", errOf(r.Sandbox(r.ctx, oneTrial)))
	pty := AgentRef{"b", 1}
	do("pty_open", errOf(r.PTYOpen(r.ctx, onePTY("b", 1))))
	do("pty_write", r.PTYWrite(r.ctx, PTYWriteParams{pty, []byte("hi\r")}))
	do("pty_resize", r.PTYResize(r.ctx, PTYResizeParams{pty, 132, 43}))
	do("pty_close", r.PTYClose(r.ctx, pty))
	do("kill", r.Kill(r.ctx, KillParams{AgentRef: ref}))
	do("shutdown", errOf(r.Shutdown(r.ctx, ShutdownParams{})))
}

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
