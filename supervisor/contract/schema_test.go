package contract

import (
	"bytes"
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"

	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// TestUnionsAreWhole: every type with the union's method is in the table, and
// every entry of the table is a definition of the schema.
func TestUnionsAreWhole(t *testing.T) {
	var events, commands []string
	for _, b := range Events() {
		events = append(events, reflect.TypeOf(b).Name())
	}
	for _, f := range forms {
		commands = append(commands, reflect.TypeOf(f.body).Name())
	}
	// Unknown and Malformed stand for what is not in the contract.
	checkSet(t, "events", declared(t, "EventName"), append(events, "Unknown"))
	checkSet(t, "commands", declared(t, "CommandType"), append(commands, "Malformed"))

	events, commands = nil, nil
	for _, b := range Events() {
		events = append(events, b.EventName())
	}
	for _, f := range forms {
		commands = append(commands, f.body.CommandType())
		var fields []string
		for _, field := range f.fields {
			fields = append(fields, field.name)
		}
		checkSet(t, f.body.CommandType(), jsonFields(reflect.TypeOf(f.body)), fields)
	}
	checkSet(t, "event schema", definitions(t, EventsSchema()), events)
	checkSet(t, "command schema", definitions(t, CommandsSchema()), commands)
}

// TestDecidersAreWhole: nobody who decides is without words for a person.
func TestDecidersAreWhole(t *testing.T) {
	f := testkit.Must(parser.ParseFile(token.NewFileSet(), "by.go", nil, 0))(t)
	declared := 1 // Human
	for _, d := range f.Decls {
		if consts, ok := d.(*ast.GenDecl); ok && consts.Tok == token.CONST {
			declared += len(consts.Specs)
		}
	}
	if declared != len(deciders) || DecidedBy("nobody we know") != "" {
		t.Errorf("%d are declared, in words are %s", declared, deciderNames())
	}
}

func checkSet(t *testing.T, what string, want, got []string) {
	t.Helper()
	slices.Sort(want)
	slices.Sort(got)
	testkit.Same(t, what, want, got)
}

// declared lists the receivers of a method in this package's source.
func declared(t *testing.T, method string) []string {
	t.Helper()
	var names []string
	fset := token.NewFileSet()
	files := testkit.Must(filepath.Glob("*.go"))(t)
	files = slices.DeleteFunc(files, func(file string) bool { return strings.HasSuffix(file, "_test.go") })
	for _, file := range files {
		f := testkit.Must(parser.ParseFile(fset, file, nil, 0))(t)
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == method {
				names = append(names, fn.Recv.List[0].Type.(*ast.Ident).Name)
			}
		}
	}
	return names
}

func definitions(t *testing.T, schema []byte) []string {
	t.Helper()
	var doc struct {
		Defs  map[string]json.RawMessage `json:"$defs"`
		OneOf []struct {
			Ref string `json:"$ref"`
		}
	}
	testkit.OK(t, json.Unmarshal(schema, &doc))
	var names []string
	for _, one := range doc.OneOf {
		name := strings.TrimPrefix(one.Ref, "#/$defs/")
		if doc.Defs[name] == nil {
			t.Errorf("%s is referred to and not defined", name)
		}
		names = append(names, name)
	}
	if len(names) != len(doc.Defs) {
		t.Errorf("%d definitions, %d in the union", len(doc.Defs), len(names))
	}
	return names
}

// TestFieldsAreDescribed: a field of the contract without a word on it is a field
// nobody can rely on.
func TestFieldsAreDescribed(t *testing.T) {
	for name, def := range documents().events.Defs {
		if def.Description == "" {
			t.Errorf("event %s has no description", name)
		}
		for field, p := range def.Properties {
			if p.Description == "" {
				t.Errorf("event %s: field %s has no description", name, field)
			}
		}
	}
	used := map[string]bool{}
	for name, def := range documents().events.Defs {
		for field := range def.Properties {
			used[field], used[name+"."+field] = true, true
		}
	}
	for note := range fieldNotes {
		if !used[note] {
			t.Errorf("a note on %s, which no event has", note)
		}
	}
	for enum := range fieldEnums {
		if !used[enum] {
			t.Errorf("an enum of %s, which no event has", enum)
		}
	}
}

func TestEveryEventValidates(t *testing.T) {
	for _, e := range samples() {
		line := testkit.Must(EncodeLine(nil, 1, someTime, e))(t)
		if err := validEvent(line); err != nil {
			t.Errorf("%s%v", line, err)
		}
	}
}

// TestMutatedEventsFail takes each line apart: without a required field, with a
// field of another type, or under another name, it is none of the contract.
func TestMutatedEventsFail(t *testing.T) {
	refused := 0
	for _, e := range samples() {
		line := testkit.Must(EncodeLine(nil, 1, someTime, e))(t)
		def := documents().events.Defs[e.Body.EventName()]
		for _, name := range def.Required {
			checkMutation(t, line, func(o map[string]any) { delete(o, name) })
			refused++
		}
		for name, p := range def.Properties {
			if p.Type == "" && p.Const == nil {
				continue // a tool's input may be anything
			}
			checkMutation(t, line, func(o map[string]any) { o[name] = map[string]any{"x": []any{nil}} })
			checkMutation(t, line, func(o map[string]any) { o[name] = nil })
			refused += 2
		}
		checkMutation(t, line, func(o map[string]any) { o["event"] = "no_such" })
		checkMutation(t, line, func(o map[string]any) { o["v"] = 2 })
		checkMutation(t, line, func(o map[string]any) { o["seq"] = 0 })
		checkMutation(t, line, func(o map[string]any) { o["id"] = "" })
	}
	if refused < 200 {
		t.Errorf("only %d mutations were tried", refused)
	}
}

func checkMutation(t *testing.T, line []byte, mutate func(map[string]any)) {
	t.Helper()
	var o map[string]any
	testkit.OK(t, json.Unmarshal(line, &o))
	mutate(o)
	mutated := testkit.Must(json.Marshal(o))(t)
	if err := validEvent(mutated); err == nil {
		t.Errorf("accepted: %s", mutated)
	}
}

func TestNewFieldsAreLegal(t *testing.T) {
	line := []byte(`{"v":1,"seq":1,"time":"2026-11-21T04:05:06.000Z","id":"x","event":"notice","text":"t","later":[1]}`)
	if err := validEvent(line); err != nil {
		t.Error(err)
	}
}

func TestSchemasAreStable(t *testing.T) {
	for name, schema := range map[string][]byte{"events": EventsSchema(), "commands": CommandsSchema()} {
		if !json.Valid(schema) || !bytes.HasSuffix(schema, []byte("}\n")) {
			t.Errorf("%s: not a JSON text", name)
		}
		if bytes.Contains(schema, []byte(`"null"`)) {
			t.Errorf("%s: something may be null", name)
		}
	}
}

func TestExitNames(t *testing.T) {
	testkit.Same(t, "ExitLimit is", "limit reached", ExitLimit.String())
	testkit.Same(t, "Exit(9) is", "exit code 9", Exit(9).String())
}

func validEvent(line []byte) error   { return valid(line, "event", documents().events) }
func validCommand(line []byte) error { return valid(line, "type", documents().commands) }

// valid reports how a line breaks the one definition that it names, or else the union: its errors only say that nothing
// matched.
func valid(line []byte, tag string, union *jsonschema.Schema) error {
	if _, err := jsonl.Members(line); err != nil {
		return err
	}
	var instance map[string]any
	if err := json.Unmarshal(line, &instance); err != nil {
		return err
	}
	name, _ := instance[tag].(string)
	if union.Defs[name] == nil {
		return fmt.Errorf("`%s` is %v, which is not in the schema", tag, instance[tag])
	}
	for _, s := range []*jsonschema.Schema{union.Defs[name], union} {
		ready, known := resolvedSchemas.Load(s)
		if !known {
			r, err := s.CloneSchemas().Resolve(nil)
			if err != nil {
				return err
			}
			ready, _ = resolvedSchemas.LoadOrStore(s, r)
		}
		if err := ready.(*jsonschema.Resolved).Validate(instance); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

var resolvedSchemas sync.Map // by schema
