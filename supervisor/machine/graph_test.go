package machine

import (
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "write GRAPH.md")

// wanted are the arrows that a graph must have: those of the table, after its groups were expanded.
func wanted() []string {
	arrows := []string{"start → " + string(initial())}
	for i, r := range Table {
		for _, from := range r.From {
			to := r.To
			if to == Same {
				to = from
			}
			arrows = append(arrows, fmt.Sprintf("%s → %s: %s", from, to, label(i, r)))
		}
	}
	slices.Sort(arrows)
	return arrows
}

// apart expands the groups of a drawn arrow, by the titles that a reader sees.
func apart(from, to, text string, titles map[string]string) []string {
	states := map[string][]State{
		"any state": all, "any live state": live, "any live state with a task": tasked, "any final state": ends,
	}
	var arrows []string
	sources, grouped := states[titles[from]]
	if !grouped {
		sources = []State{State(from)}
	}
	for _, s := range sources {
		target := to
		if grouped && to == from {
			target = string(s)
		}
		arrows = append(arrows, fmt.Sprintf("%s → %s: %s", s, target, text))
	}
	return arrows
}

// These are the forms of lines in Mermaid's grammar for state diagrams that we use; a label ends at a colon or
// semicolon.
var (
	mermaidTitle = regexp.MustCompile(`^    state "([^"]+)" as ([a-z_]+)$`)
	mermaidEdge  = regexp.MustCompile(`^    ([a-z_]+|\[\*\]) --> ([a-z_]+|\[\*\])(?: : ([^:;#]+))?$`)
	mermaidClass = regexp.MustCompile(`^    (?:classDef group [a-z-]+:[0-9]+|class ([a-z_]+) group)$`)
)

func TestMermaidDrawsTheTable(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(Mermaid(), "\n"), "\n")
	if lines[0] != "stateDiagram-v2" {
		t.Fatalf("it begins with %q", lines[0])
	}
	titles := map[string]string{}
	var arrows []string
	var final []State
	for _, line := range lines[1:] {
		if m := mermaidTitle.FindStringSubmatch(line); m != nil {
			titles[m[2]] = m[1]
			continue
		}
		if m := mermaidClass.FindStringSubmatch(line); m != nil {
			if m[1] != "" && titles[m[1]] == "" {
				t.Errorf("%q styles an unknown group", line)
			}
			continue
		}
		m := mermaidEdge.FindStringSubmatch(line)
		switch {
		case m == nil:
			t.Errorf("no line of a state diagram: %q", line)
		case m[1] == "[*]":
			arrows = append(arrows, "start → "+m[2])
		case m[2] == "[*]":
			final = append(final, State(m[1]))
		default:
			arrows = append(arrows, apart(m[1], m[2], m[3], titles)...)
		}
	}
	slices.Sort(arrows)
	if diff := cmp.Diff(wanted(), arrows); diff != "" {
		t.Errorf("(-table +graph):\n%s", diff)
	}
	if !slices.Equal(final, ends) {
		t.Errorf("final states are %v", final)
	}
}

// dotNode, dotEdge and dotSetting are the statements of Graphviz' language that we use; names that its grammar
// reserves are not nodes.
var (
	dotAttribute = `(?:[a-z]+=(?:[A-Za-z0-9]+|"(?:[^"\\]|\\.)*"))`
	dotList      = `\[` + dotAttribute + `(?:, ` + dotAttribute + `)*\]`
	dotSetting   = regexp.MustCompile(`^\t(?:rankdir=LR|node ` + dotList + `);$`)
	dotNode      = regexp.MustCompile(`^\t([a-z_]+)(?: (` + dotList + `))?;$`)
	dotEdge      = regexp.MustCompile(`^\t([a-z_]+) -> ([a-z_]+)(?: (` + dotList + `))?;$`)
	dotLabel     = regexp.MustCompile(`label=("(?:[^"\\]|\\.)*")`)
)

func TestDOTDrawsTheTable(t *testing.T) {
	lines := strings.Split(strings.TrimSuffix(DOT(), "\n"), "\n")
	if lines[0] != "digraph machine {" || lines[len(lines)-1] != "}" {
		t.Fatalf("it is not a digraph: %q … %q", lines[0], lines[len(lines)-1])
	}
	titles := map[string]string{}
	var arrows []string
	for _, line := range lines[1 : len(lines)-1] {
		if dotSetting.MatchString(line) {
			continue
		}
		if m := dotEdge.FindStringSubmatch(line); m != nil {
			for _, end := range m[1:3] {
				if _, declared := titles[end]; !declared {
					t.Errorf("%q speaks of %s, which is not a node", line, end)
				}
			}
			if m[1] == "start" {
				arrows = append(arrows, "start → "+m[2])
				continue
			}
			arrows = append(arrows, apart(m[1], m[2], unquoted(t, m[3]), titles)...)
			continue
		}
		m := dotNode.FindStringSubmatch(line)
		if m == nil || slices.Contains([]string{"node", "edge", "graph", "digraph", "subgraph", "strict"}, m[1]) {
			t.Errorf("no statement of Graphviz: %q", line)
			continue
		}
		titles[m[1]] = unquoted(t, m[2])
	}
	slices.Sort(arrows)
	if diff := cmp.Diff(wanted(), arrows); diff != "" {
		t.Errorf("(-table +graph):\n%s", diff)
	}
}

// unquoted is the label in a list of attributes.
func unquoted(t *testing.T, attributes string) string {
	t.Helper()
	m := dotLabel.FindStringSubmatch(attributes)
	if m == nil {
		return ""
	}
	text := testkit.Must(strconv.Unquote(m[1]))(t)
	return text
}

func TestJSONIsTheTable(t *testing.T) {
	var doc document
	testkit.OK(t, json.Unmarshal(JSON(), &doc))
	if len(doc.Rows) != len(Table) || len(doc.States) != len(all) || len(doc.Guards) != len(Guards) {
		t.Errorf("%d rows, %d states, %d guards", len(doc.Rows), len(doc.States), len(doc.Guards))
	}
	for i, r := range doc.Rows {
		back := Row{From: r.From, On: Trigger(r.On), If: r.If, To: State(r.To), Do: r.Do, Why: r.Why}
		if r.On == alwaysName {
			back.On = Always
		}
		if r.To == sameName {
			back.To = Same
		}
		want := Table[i]
		want.If, want.Do = append([]Guard{}, want.If...), append([]Action{}, want.Do...)
		if diff := cmp.Diff(want, back); diff != "" {
			t.Errorf("row %d (-table +json):\n%s", i, diff)
		}
	}
}

func TestTheDocumentationHasTheGraph(t *testing.T) {
	const path, begin, end = "GRAPH.md", "<!-- machine -->\n", "<!-- /machine -->"
	raw := testkit.Must(os.ReadFile(path))(t)
	before, rest, ok := strings.Cut(string(raw), begin)
	got, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		t.Fatalf("%s lacks the markers of the graph", path)
	}
	want := "```mermaid\n" + Mermaid() + "```\n"
	if got == want {
		return
	}
	if !*update {
		t.Fatalf("GRAPH.md is not the table's; go test ./supervisor/machine -update writes it (-table "+
			"+document):\n%s", cmp.Diff(want, got))
	}
	testkit.OK(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
}
