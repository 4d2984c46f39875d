package contract

import (
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/jsonschema-go/jsonschema"
)

var update = flag.Bool("update", false, "write CONTRACT.md")

// TestDocument holds CONTRACT.md to the types: it is written from the same notes and
// tables as the schemas.
func TestDocument(t *testing.T) {
	got := document(t)
	if *update {
		if err := os.WriteFile("CONTRACT.md", []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile("CONTRACT.md")
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("go test ./supervisor/contract -run Document -update writes it (-file +types):\n%s", diff)
	}
}

// TestEverythingIsExplained: no event, command or field is without a word on it.
func TestEverythingIsExplained(t *testing.T) {
	for _, doc := range []*jsonschema.Schema{documents().events, documents().commands} {
		for name, def := range doc.Defs {
			if def.Description == "" {
				t.Errorf("%s is not explained", name)
			}
			for f, p := range def.Properties {
				if p.Description == "" {
					t.Errorf("%s.%s is not explained", name, f)
				}
			}
		}
	}
}

const preface = "# The contract for scripts\n\n" +
	"`arbiter --json` writes one JSON object a line on stdout, an *event*, and reads one a line on stdin, a *command*. Prose goes to stderr.\n" +
	"This page is written from the program's own types (`go test ./supervisor/contract -run Document -update`), as are the schemas that\n" +
	"`arbiter schema events` and `arbiter schema commands` print. Within `v` 1 events, fields and commands are added, and none is renamed or removed: skip what you do not know.\n\n" +
	"- `seq` counts the lines of one process from 1, without gaps. A resumed run is another process and counts anew.\n" +
	"- The first line is `session`, the last one `result`.\n" +
	"- A command is answered by `accepted`, when it is on disk, or by `rejected`, with its `ref`.\n" +
	"- The end of stdin says that no human is there any more: a question is then answered once by saying so, and the next one ends the run with `needs_input`. COMPLETE ends the process though stdin is open.\n" +
	"- After `--resume` an open question is emitted again, and a permission request when its agent asks for the same action again, with the same id. One that is not asked for again is told as withdrawn.\n" +
	"- At the end one line on stderr: `{\"arbiter\": …, \"lastOrchestrator\": …, \"orchestratorNumber\": …}`, Claude's session ids.\n"

func document(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(preface)
	b.WriteString("\n## Exit codes\n\n| code | | |\n|---|---|---|\n")
	for _, e := range Exits() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Exit, e.Word, e.When)
	}
	b.WriteString("\n## Events\n\nEvery event has these fields:\n\n")
	common := []string{"v", "seq", "time", "id", "event"}
	fields(t, &b, documents().events.Defs["session"], func(f string) bool { return slices.Contains(common, f) })
	b.WriteString("\nThe others, event by event; those in *italics* may be absent.\n")
	for _, e := range Events() {
		define(t, &b, e.EventName(), documents().events, func(f string) bool { return !slices.Contains(common, f) })
	}
	b.WriteString("\n## Commands\n\nA command names its `type`, and may carry a `ref`, text or number, that is echoed. Fields in *italics* may be left out; others than these are refused.\n")
	for _, f := range forms {
		define(t, &b, f.body.CommandType(), documents().commands, func(f string) bool { return f != "type" && f != "ref" })
	}
	return b.String()
}

func define(t *testing.T, b *strings.Builder, name string, doc *jsonschema.Schema, show func(string) bool) {
	t.Helper()
	def := doc.Defs[name]
	fmt.Fprintf(b, "\n### `%s`\n\n%s\n", name, def.Description)
	if slices.ContainsFunc(def.PropertyOrder, show) {
		b.WriteByte('\n')
		fields(t, b, def, show)
	}
}

// fields writes a table of an object's fields, in the order they are written in.
func fields(t *testing.T, b *strings.Builder, def *jsonschema.Schema, show func(string) bool) {
	t.Helper()
	b.WriteString("| field | type | |\n|---|---|---|\n")
	for _, f := range def.PropertyOrder {
		if p := def.Properties[f]; p != nil && show(f) {
			name := "`" + f + "`"
			if !slices.Contains(def.Required, f) {
				name = "*" + name + "*"
			}
			kind := typeOf(t, p)
			if f == "event" {
				kind = "string"
			}
			fmt.Fprintf(b, "| %s | %s | %s |\n", name, kind, strings.ReplaceAll(p.Description, "|", "\\|"))
		}
	}
}

// typeOf names a field's type in a word or two, or lists its values.
func typeOf(t *testing.T, p *jsonschema.Schema) string {
	t.Helper()
	switch {
	case p.Const != nil:
		return "`" + literal(t, *p.Const) + "`"
	case p.Enum != nil:
		var values []string
		for _, v := range p.Enum {
			values = append(values, "`"+strings.Trim(literal(t, v), `"`)+"`")
		}
		return strings.Join(values, ", ")
	case p.Items != nil:
		return "list of " + typeOf(t, p.Items)
	case p.Properties != nil:
		var names []string
		for _, f := range p.PropertyOrder {
			names = append(names, "`"+f+"`")
		}
		return "{" + strings.Join(names, ", ") + "}"
	case p.Types != nil:
		return strings.Join(p.Types, " or ")
	}
	return cmp.Or(p.Format, p.Type, "any")
}

func literal(t *testing.T, v any) string {
	t.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(raw)
}
