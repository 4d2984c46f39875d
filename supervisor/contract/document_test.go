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
	"stderr. This page is generated (`go test ./supervisor/contract -run Document -update`) from the same types as " +
	"the JSON Schemas\n" +
	"of `arbiter schema events` and `arbiter schema commands`. [Scripting](scripting.md) shows how to use them.\n\n" +
	"Within `v` 1, Arbiter adds events, fields and commands, and never renames or removes one: ignore what you do not " +
	"know.\n\n" +
	"- The first line is `session`, the last one is `result`. A resumed run is a new process: its `seq` begins at 1.\n" +
	"- Arbiter answers each command with `accepted`, once the command is on disk, or with `rejected`.\n" +
	"- The end of stdin means that no human is there. Arbiter then answers one question by saying so; the next question " +
	"ends the\n" +
	"  run with `needs_input`. COMPLETE ends the process even if stdin is open.\n" +
	"- A `question` stays open until the human's next `message` to the Arbiter, which answers all open questions, or " +
	"until another\n" +
	"  command of the human settles its subject. No rule, mode or decider answers it.\n" +
	"- An answer of scope `run` or `always`, and `configure` with permissions or a rule, settle at once every\n" +
	"  request that they cover, of any agent. Each request has a `permission` event of its own.\n" +
	"- After `--resume`, Arbiter emits each open question again. It emits a permission request again, with the same\n" +
	"  id, when the agent asks for the same action again; otherwise it reports the request as withdrawn, or as\n" +
	"  decided by the rules of the resumed run.\n" +
	"- At the end, `arbiter --json` prints Claude's session ids on stderr, unless that is a terminal:\n" +
	"  `{\"arbiter\": …, \"lastOrchestrator\": …, \"orchestratorNumber\": …}`.\n\n" +
	"Below, `?` marks a field that may be absent. A field without a type is a string.\n"

func document(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	b.WriteString(preface)
	b.WriteString("\n## Exit codes\n\n| code | meaning | when |\n|---|---|---|\n")
	for _, e := range Exits() {
		fmt.Fprintf(&b, "| %d | %s | %s |\n", e.Exit, e.Word, e.When)
	}
	common := []string{"v", "seq", "time", "id", "event"}
	section := func(names []string, doc *jsonschema.Schema, own ...string) {
		show := func(f string) bool { return !slices.Contains(own, f) }
		shared := sharedFields(t, names, doc, show)
		b.WriteString("\nThese fields mean the same wherever they are:\n\n")
		for _, line := range shared {
			b.WriteString(line)
		}
		for _, name := range names {
			define(t, &b, name, doc, show, shared)
		}
	}
	b.WriteString("\n## Events\n\nEvery event has these fields:\n\n")
	for _, f := range common {
		b.WriteString(fieldLine(t, documents().events.Defs["session"], f))
	}
	var names []string
	for _, e := range Events() {
		names = append(names, e.EventName())
	}
	section(names, documents().events, common...)
	b.WriteString("\n## Commands\n\nA command names its `type`. It may carry a `ref`, a text or a number, that the " +
		"answer repeats. Arbiter rejects unknown fields.\n")
	names = nil
	for _, f := range forms {
		names = append(names, f.body.CommandType())
	}
	section(names, documents().commands, "type", "ref")
	return b.String()
}

// sharedFields returns the lines of the fields that several definitions explain in the same words, one for each
// name.
func sharedFields(t *testing.T, names []string, doc *jsonschema.Schema, show func(string) bool) (lines []string) {
	t.Helper()
	count, taken := map[string]int{}, map[string]bool{}
	for _, name := range names {
		for _, f := range doc.Defs[name].PropertyOrder {
			line := meaning(t, doc.Defs[name], f)
			if count[line]++; count[line] == 2 && show(f) && !taken[f] {
				taken[f], lines = true, append(lines, line)
			}
		}
	}
	slices.Sort(lines)
	return lines
}

func define(t *testing.T, b *strings.Builder, name string, doc *jsonschema.Schema, show func(string) bool,
	shared []string) {
	t.Helper()
	def := doc.Defs[name]
	fmt.Fprintf(b, "\n### `%s`\n\n%s", name, def.Description)
	var also, lines []string
	for _, f := range def.PropertyOrder {
		switch {
		case !show(f) || def.Properties[f] == nil:
		case slices.Contains(shared, meaning(t, def, f)):
			also = append(also, "`"+f+optional(def, f)+"`")
		default:
			lines = append(lines, fieldLine(t, def, f))
		}
	}
	if also != nil {
		b.WriteString(" With " + strings.Join(also, ", ") + ".")
	}
	b.WriteString("\n")
	if lines != nil {
		b.WriteString("\n" + strings.Join(lines, ""))
	}
}

func optional(def *jsonschema.Schema, f string) string {
	if slices.Contains(def.Required, f) {
		return ""
	}
	return "?"
}

// fieldLine is the line about a field of an object.
func fieldLine(t *testing.T, def *jsonschema.Schema, f string) string {
	t.Helper()
	return strings.Replace(meaning(t, def, f), "- `"+f, "- `"+f+optional(def, f), 1)
}

// meaning is the line about a field, wherever it may be absent.
func meaning(t *testing.T, def *jsonschema.Schema, f string) string {
	t.Helper()
	p := def.Properties[f]
	if p == nil {
		return ""
	}
	kind := " " + typeOf(t, p)
	if f == "event" || kind == " string" {
		kind = ""
	}
	return fmt.Sprintf("- `%s`%s: %s\n", f, kind, p.Description)
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
