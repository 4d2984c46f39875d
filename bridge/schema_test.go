package bridge

import (
	"context"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"io"
	"net"
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
		if m, ok := d.Methods[method]; !ok || m.Description == "" || m.From == "" {
			t.Errorf("%s %q: missing, or without a description", name, method)
		}
	}
	if len(methods) != len(d.Methods) {
		t.Errorf("%d methods in the schema, %d constants", len(d.Methods), len(methods))
	}
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
	if events != len(d.Events) || events != len(eventKinds) {
		t.Errorf("%d events in the source, %d in the schema, %d decoders", events, len(d.Events), len(eventKinds))
	}
	var codes []string
	for _, e := range d.Errors {
		if e.Description == "" || e.Name == "" {
			t.Errorf("error %v has no description", e)
		}
		codes = append(codes, strconv.Itoa(int(e.Value.(float64))))
	}
	for name, code := range constants(t, "errors.go", "Code") {
		if !slices.Contains(codes, code) {
			t.Errorf("%s = %s is missing", name, code)
		}
	}
	if got, want := len(d.Categories), len(constants(t, "errors.go", "Cat")); got != want {
		t.Errorf("%d categories, want %d", got, want)
	}
}

// The real API refuses combinators at the top of a schema, and code generators of other languages handle
// them badly: the whole schema is flat.
func TestSchemaIsFlat(t *testing.T) {
	for _, word := range []string{`"oneOf"`, `"anyOf"`, `"allOf"`, `"$ref"`, `"$defs"`,
		`"additionalProperties":false`} {
		if strings.Contains(string(Schema), word) {
			t.Errorf("the schema has %s", word)
		}
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
		if !seen[k.name] {
			t.Errorf("no sample of %s", k.name)
		}
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
					if err := json.Unmarshal([]byte(line), &m); err != nil {
						t.Fatalf("%s: %v", line, err)
					}
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
			if sender := d.Methods[m.Method].From; sender != from && sender != "both" {
				t.Errorf("%s is sent by the %s", m.Method, from)
			}
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
			if !seen[name] {
				t.Errorf("no %s was sent", name)
			}
		}
		if diff := cmp.Diff(len(d.Methods), len(seen)); diff != "" {
			t.Errorf("methods beyond the schema: %v", seen)
		}
	})
}

// converse uses every method once.
func converse(t *testing.T, r *rig) {
	t.Helper()
	ref := AgentRef{"a", 1}
	do := func(what string, err error) {
		if err != nil {
			t.Errorf("%s: %v", what, err)
		}
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
	if _, err := r.Ask(ctx, AskParams{ref, "hang"}); err == nil {
		t.Error("an ask without an answer succeeded")
	}
	if _, err := r.Ask(r.ctx, AskParams{ref, "refuse"}); codeOf(err) != CodeRefused {
		t.Errorf("got %v", err)
	}
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
