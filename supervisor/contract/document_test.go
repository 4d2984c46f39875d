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

var update = flag.Bool("update", false, "write docs/contract.md")

// page is the file that the contract is written to.
const page = "../../docs/contract.md"

// TestDocument: docs/contract.md agrees with the types. It is generated from the same notes and
// tables as the schemas.
func TestDocument(t *testing.T) {
	got := document(t)
	if *update {
		if err := os.WriteFile(page, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if diff := gocmp.Diff(string(want), got); diff != "" {
		t.Errorf("go test ./supervisor/contract -run Document -update writes it (-file +types):\n%s", diff)
	}
}

// TestEverythingIsExplained: every event, command and field has a description.
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
	"`arbiter --json` writes events to stdout and reads commands from stdin: one JSON object per line. Messages for " +
	"people go to\n" +
	"stderr. This page is generated from the program's own types (`go test ./supervisor/contract -run Document " +
	"-update`), like the\n" +
	"schemas that `arbiter schema events` and `arbiter schema commands` print. [Scripting](scripting.md) shows how to " +
	"use them.\n\n" +
	"Within `v` 1, Arbiter adds events, fields and commands, and never renames or removes one: ignore what you do not " +
	"know.\n\n" +
	"- `seq` counts the lines of one process from 1, without gaps. A resumed run is a new process, which counts from 1 " +
	"again.\n" +
	"- The first line is `session`, the last one is `result`.\n" +
	"- Arbiter answers each command with `accepted`, once the command is on disk, or with `rejected`; both carry its " +
	"`ref`.\n" +
	"- The end of stdin means that no human is there. Arbiter then answers one question by saying so; the next question " +
	"ends the\n" +
	"  run with `needs_input`. COMPLETE ends the process even if stdin is open.\n" +
	"- A `question` comes even while agents work. It stays open until the human's next `message` to the Arbiter,\n" +
	"  which answers all open questions, or until another command of the human settles its subject. No rule, " +
	"mode or\n" +
	"  decider answers it.\n" +
	"- An answer of scope `run` or `always`, and `configure` with permissions or a rule, settle at once every\n" +
	"  request that they cover, of any agent. Each request has a `permission` event of its own.\n" +
	"- After `--resume`, Arbiter emits each open question again. It emits a permission request again, with the same\n" +
	"  id, when the agent asks for the same action again, and otherwise reports the request as withdrawn, or as\n" +
	"  decided by the rules of the resumed run.\n" +
	"- At the end, Arbiter prints Claude's session ids on stderr: `{\"arbiter\": …, \"lastOrchestrator\": …, " +
	"\"orchestratorNumber\": …}`.\n"

func document(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(preface)
	b.WriteString("\n## Exit codes\n\n| code | meaning | when |\n|---|---|---|\n")
	for _, e := range Exits() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Exit, e.Word, e.When)
	}
	b.WriteString("\n## Events\n\nEvery event has these fields:\n\n")
	common := []string{"v", "seq", "time", "id", "event"}
	fields(t, &b, documents().events.Defs["session"], func(f string) bool { return slices.Contains(common, f) })
	b.WriteString("\nThe other fields follow, event by event. Fields in *italics* may be absent.\n")
	for _, e := range Events() {
		define(t, &b, e.EventName(), documents().events, func(f string) bool { return !slices.Contains(common, f) })
	}
	b.WriteString("\n## Commands\n\nA command names its `type`. It may carry a `ref`, a text or a number, that the " +
		"answer repeats. Fields in *italics* are optional. Arbiter rejects unknown fields.\n")
	for _, f := range forms {
		define(t, &b, f.body.CommandType(), documents().commands, func(f string) bool {
			return f != "type" && f != "ref"
		})
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

// fields writes a table of an object's fields, in their order on the line.
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
