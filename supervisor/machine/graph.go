package machine

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// Names in documents for values that are the empty string in Go.
const (
	alwaysName = "always"
	sameName   = "same"
)

// group is a set of states that rows share; a graph shows it as one node, so that a trigger accepted in any
// state is one edge instead of eight.
type group struct {
	name, title string
	of          []State
}

// groups are searched in order; single states need none.
var groups = []group{
	{"any", "any state", all},
	{"live", "any live state", live},
	{"tasked", "any live state with a task", tasked},
	{"final", "any final state", ends},
}

// beforeTitle is the text of the node of [Before], the only target that is not a state.
const beforeTitle = "the state before the end"

// initial is the state that a run begins in.
const initial = Idle

// edge is one row as an arrow between two nodes.
type edge struct{ from, to, label string }

// edges are the rows as arrows, in the order of the table, with the nodes they use that are not states.
func edges() ([]edge, []group) {
	var list []edge
	var used []group
	for i, r := range Table {
		nodes, g := r.nodes()
		if g != nil && !slices.ContainsFunc(used, func(u group) bool { return u.name == g.name }) {
			used = append(used, *g)
		}
		for _, from := range nodes {
			to := string(r.To)
			if r.To == Same {
				to = from
			}
			list = append(list, edge{from, to, label(i, r)})
		}
	}
	return list, append(used, group{name: string(Before), title: beforeTitle})
}

// nodes are the nodes for a row's From: one group, or each of its states.
func (r *Row) nodes() ([]string, *group) {
	for i, g := range groups {
		if len(r.From) > 1 && slices.Equal(g.of, r.From) {
			return []string{g.name}, &groups[i]
		}
	}
	var names []string
	for _, s := range r.From {
		names = append(names, string(s))
	}
	return names, nil
}

// label says `7 TRIGGER [guard, guard] / action`. The row's number comes first: of several rows that fit, the
// one with the lowest number counts.
func label(number int, r Row) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d %s", number, triggerName(r.On))
	if len(r.If) > 0 {
		b.WriteString(" [" + join(r.If) + "]")
	}
	if len(r.Do) > 0 {
		b.WriteString(" / " + join(r.Do))
	}
	return b.String()
}

func triggerName(t Trigger) string {
	if t == Always {
		return alwaysName
	}
	return string(t)
}

func join[T ~string](list []T) string {
	words := make([]string, len(list))
	for i, w := range list {
		words[i] = string(w)
	}
	return strings.Join(words, ", ")
}

// Mermaid draws the table as a state diagram. Groups of states are separate nodes and not composite states:
// Mermaid allows no edge from a composite state into itself.
func Mermaid() string {
	var b strings.Builder
	list, used := edges()
	b.WriteString("stateDiagram-v2\n")
	for _, g := range used {
		fmt.Fprintf(&b, "    state %q as %s\n", g.title, g.name)
	}
	fmt.Fprintf(&b, "    [*] --> %s\n", initial)
	for _, e := range list {
		fmt.Fprintf(&b, "    %s --> %s : %s\n", e.from, e.to, e.label)
	}
	for _, s := range ends {
		fmt.Fprintf(&b, "    %s --> [*]\n", s)
	}
	b.WriteString("    classDef group stroke-dasharray:4\n")
	for _, g := range used {
		fmt.Fprintf(&b, "    class %s group\n", g.name)
	}
	return b.String()
}

// DOT draws the table for Graphviz.
func DOT() string {
	var b strings.Builder
	list, used := edges()
	b.WriteString("digraph machine {\n\trankdir=LR;\n\tnode [shape=box, style=rounded];\n\tstart [shape=point];\n")
	for _, s := range live {
		fmt.Fprintf(&b, "\t%s;\n", s)
	}
	for _, s := range ends {
		fmt.Fprintf(&b, "\t%s [peripheries=2];\n", s)
	}
	for _, g := range used {
		fmt.Fprintf(&b, "\t%s [label=%q, style=dashed];\n", g.name, g.title)
	}
	fmt.Fprintf(&b, "\tstart -> %s;\n", initial)
	for _, e := range list {
		fmt.Fprintf(&b, "\t%s -> %s [label=%q];\n", e.from, e.to, e.label)
	}
	b.WriteString("}\n")
	return b.String()
}

// document is the table as JSON.
type document struct {
	Initial  State             `json:"initial"`
	States   []stateOf         `json:"states"`
	Triggers []string          `json:"triggers"`
	Guards   []Guard           `json:"guards"`
	Actions  []Action          `json:"actions"`
	Rows     []rowOf           `json:"rows"`
	Reading  string            `json:"reading"`
	Targets  map[string]string `json:"targets"`
}

type stateOf struct {
	Name  State `json:"name"`
	Final bool  `json:"final"`
}

type rowOf struct {
	Row  int      `json:"row"`
	From []State  `json:"from"`
	On   string   `json:"on"`
	If   []Guard  `json:"if"`
	To   string   `json:"to"`
	Do   []Action `json:"do"`
	Why  string   `json:"why,omitempty"`
}

// JSON is the table as one JSON object, indented.
func JSON() []byte {
	doc := document{
		Initial: initial,
		Reading: "A row is taken where the state is one of `from`, the trigger is `on` and all guards of `if` hold; " +
			"of several the first counts. " +
			"A trigger that no row takes is ignored. Rows on `always` are looked at whenever a state was entered.",
		Targets: map[string]string{sameName: "the state is not left", string(Before): beforeTitle},
	}
	for _, s := range all {
		doc.States = append(doc.States, stateOf{s, !s.Live()})
	}
	for i, r := range Table {
		doc.Triggers = once(doc.Triggers, triggerName(r.On))
		doc.Guards = once(doc.Guards, r.If...)
		doc.Actions = once(doc.Actions, r.Do...)
		to := string(r.To)
		if r.To == Same {
			to = sameName
		}
		doc.Rows = append(doc.Rows, rowOf{
			Row: i, From: r.From, On: triggerName(r.On), If: append([]Guard{}, r.If...), To: to,
			Do: append([]Action{}, r.Do...), Why: r.Why,
		})
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	if err := enc.Encode(doc); err != nil {
		panic("machine: the table is plain data: " + err.Error())
	}
	return b.Bytes()
}

// once appends the values that the list lacks.
func once[T comparable](list []T, more ...T) []T {
	for _, x := range more {
		if !slices.Contains(list, x) {
			list = append(list, x)
		}
	}
	return list
}
