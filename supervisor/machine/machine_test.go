package machine

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

// A deviation without a reason, one of an unknown state or event, a place that is named twice, or a transition
// that equals SPEC-0003's is an error in the list.
func TestDeviationsDeviate(t *testing.T) {
	s, d := loaded[seed](t, "spec-0003.yaml"), loaded[deviations](t, "deviations.yaml")
	_, written := theModel(t)
	seen := map[place]string{}
	for _, dev := range d.Deviations {
		testkit.Check(t, dev.What != "" && dev.Why != "" && len(dev.States) != 0,
			"a deviation lacks what, why or states: %+v", dev)
		if _, added := d.Added[dev.Event]; !added && dev.Event != alwaysName && !slices.Contains(s.Events, dev.Event) {
			t.Errorf("%s: there is no event %s", dev.What, dev.Event)
		}
		for _, state := range dev.States {
			at := place{state, dev.Event}
			_, ok := s.States[state]
			testkit.Check(t, ok, "%s: there is no state %s", dev.What, state)
			before, ok := seen[at]
			testkit.Check(t, !ok, "%s by %s is in %q and in %q", state, dev.Event, before, dev.What)
			seen[at] = dev.What
			testkit.Check(t, !cmp.Equal(written[at], dev.Becomes, cmpopts.EquateEmpty()),
				"%s: SPEC-0003 says that of %s by %s, too", dev.What, state, dev.Event)
		}
	}
}

// These are the parts that hold as written; the machine deviates from the rest of SPEC-0003's transitions.
func TestWhatHoldsAsWritten(t *testing.T) {
	m, written := theModel(t)
	var kept []string
	for at, steps := range written {
		if cmp.Equal(m[at], steps) {
			kept = append(kept, at.state+" by "+at.event)
		}
	}
	slices.Sort(kept)
	want := []string{"executing by AGENT_COMPLETE", "executing by AGENT_TOOL_CALL", "executing by CANCEL",
		"idle by START_TASK"}
	testkit.Same(t, "", want, kept)
	testkit.Same(t, "SPEC-0003 has transitions in 11 places", 11, len(written))
}

// Everything that SPEC-0003 names exists under the same name.
func TestEverythingNamedIsThere(t *testing.T) {
	s := loaded[seed](t, "spec-0003.yaml")
	m, _ := theModel(t)
	for _, e := range s.Events {
		taken := false
		for at := range m {
			taken = taken || at.event == e
		}
		testkit.Check(t, taken, "no state takes %s", e)
	}
	for g := range s.Guards {
		testkit.Check(t, Guards[Guard(g)] != nil, "there is no guard %s", g)
	}
	testkit.Same(t, fmt.Sprintf("a run begins in, not in %s", s.Initial), initial, State(s.Initial))
	for name, state := range s.States {
		testkit.Check(t, slices.Contains(all, State(name)) && State(name).Live() != state.Final,
			"the state %s is missing, or final where it should not be", name)
	}
	testkit.Same(t, "states", len(all), len(s.States))
}

var update = flag.Bool("update", false, "write GRAPH.md")

// wanted are the arrows that a graph must have: those of the table, after its groups were expanded.
func wanted() []string {
	arrows := []string{"start → " + string(initial)}
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
	testkit.Need(t, lines[0] == "stateDiagram-v2", "it begins with %q", lines[0])
	titles := map[string]string{}
	var arrows []string
	var final []State
	for _, line := range lines[1:] {
		if m := mermaidTitle.FindStringSubmatch(line); m != nil {
			titles[m[2]] = m[1]
			continue
		}
		if m := mermaidClass.FindStringSubmatch(line); m != nil {
			testkit.Check(t, m[1] == "" || titles[m[1]] != "", "%q styles an unknown group", line)
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
	testkit.Same(t, "arrows (-table +graph)", wanted(), arrows)
	testkit.Same(t, "final states", ends, final)
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
	testkit.Need(t, lines[0] == "digraph machine {" && lines[len(lines)-1] == "}", "it is not a digraph: %q … %q",
		lines[0], lines[len(lines)-1])
	titles := map[string]string{}
	var arrows []string
	for _, line := range lines[1 : len(lines)-1] {
		if dotSetting.MatchString(line) {
			continue
		}
		if m := dotEdge.FindStringSubmatch(line); m != nil {
			for _, end := range m[1:3] {
				_, declared := titles[end]
				testkit.Check(t, declared, "%q speaks of %s, which is not a node", line, end)
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
	testkit.Same(t, "arrows (-table +graph)", wanted(), arrows)
}

// unquoted is the label in a list of attributes.
func unquoted(t *testing.T, attributes string) string {
	t.Helper()
	m := dotLabel.FindStringSubmatch(attributes)
	if m == nil {
		return ""
	}
	return testkit.Must(strconv.Unquote(m[1]))(t)
}

func TestJSONIsTheTable(t *testing.T) {
	var doc document
	testkit.OK(t, json.Unmarshal(JSON(), &doc))
	testkit.Check(t, len(doc.Rows) == len(Table) && len(doc.States) == len(all) && len(doc.Guards) == len(Guards),
		"%d rows, %d states, %d guards", len(doc.Rows), len(doc.States), len(doc.Guards))
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
		testkit.Same(t, fmt.Sprintf("row %d (-table +json)", i), want, back)
	}
}

func TestTheDocumentationHasTheGraph(t *testing.T) {
	const path, begin, end = "GRAPH.md", "<!-- machine -->\n", "<!-- /machine -->"
	raw := testkit.Must(os.ReadFile(path))(t)
	before, rest, ok := strings.Cut(string(raw), begin)
	got, after, closed := strings.Cut(rest, end)
	testkit.Need(t, ok && closed, "%s lacks the markers of the graph", path)
	want := "```mermaid\n" + Mermaid() + "```\n"
	if got == want {
		return
	}
	testkit.Need(t, *update,
		"GRAPH.md is not the table's; go test ./supervisor/machine -update writes it (-table "+"+document):\n%s",
		cmp.Diff(want, got))
	testkit.OK(t, os.WriteFile(path, []byte(before+begin+want+end+after), 0o644))
}

// seedState is a state as SPEC-0003 lists it.
type seedState struct {
	On     map[string][]seedStep `yaml:"on"`
	Entry  []string              `yaml:"entry"`
	Always []seedStep            `yaml:"always"`
	Final  bool                  `yaml:"final"`
	Invoke struct {
		ID      string     `yaml:"id"`
		OnDone  []seedStep `yaml:"onDone"`
		OnError []seedStep `yaml:"onError"`
	} `yaml:"invoke"`
}

type seedStep struct {
	Guard   string   `yaml:"guard"`
	Target  string   `yaml:"target"`
	Actions []string `yaml:"actions"`
}

// seed is the transcription of SPEC-0003.
type seed struct {
	ID        string               `yaml:"id"`
	Initial   string               `yaml:"initial"`
	Events    []string             `yaml:"events"`
	Decisions []string             `yaml:"decisions"`
	Guards    map[string]string    `yaml:"guards"`
	States    map[string]seedState `yaml:"states"`
	Overview  []string             `yaml:"overview"`
}

// steps are a state's transitions by their place.
func (s seedState) steps() map[string][]seedStep {
	all := map[string][]seedStep{"onDone": s.Invoke.OnDone, "onError": s.Invoke.OnError, alwaysName: s.Always}
	maps.Copy(all, s.On)
	maps.DeleteFunc(all, func(_ string, steps []seedStep) bool { return len(steps) == 0 })
	return all
}

// deviations are the places where the machine differs on purpose.
type deviations struct {
	Events     map[string]string   `yaml:"events"`
	Added      map[string]string   `yaml:"added"`
	Actions    map[string][]string `yaml:"actions"`
	Told       []string            `yaml:"told"`
	Deviations []deviation         `yaml:"deviations"`
}

type deviation struct {
	What    string       `yaml:"what"`
	Why     string       `yaml:"why"`
	Event   string       `yaml:"event"`
	States  []string     `yaml:"states"`
	Becomes []transition `yaml:"becomes"`
}

// transition is a transition of the model. With an empty target the state stays the same.
type transition struct {
	If     []string `yaml:"if"`
	Target string   `yaml:"target"`
	Do     []string `yaml:"do"`
}

// place is a place of transitions: an event in a state.
type place struct{ state, event string }

// model is SPEC-0003 with the deviations applied: a machine that does not use Table.
type model map[place][]transition

// loaded reads a file of testdata/machine, and refuses unknown fields.
func loaded[T any](t testing.TB, name string) T {
	t.Helper()
	raw := testkit.Must(os.ReadFile(filepath.Join("..", "..", "testdata", "machine", name)))(t)
	var v T
	err := yaml.UnmarshalWithOptions(raw, &v, yaml.Strict())
	testkit.Need(t, err == nil, "%s: %v", name, err)
	return v
}

// asWritten is SPEC-0003 alone, in our names for events and actions.
func asWritten(t testing.TB, s seed, d deviations) model {
	t.Helper()
	m := model{}
	for name, state := range s.States {
		for where, steps := range state.steps() {
			event := where
			if ours, ok := d.Events[name+"."+where]; ok {
				event = ours
			}
			for _, step := range steps {
				next := transition{Target: step.Target, Do: ours(t, d, name+"."+where, step.Actions)}
				if step.Guard != "" {
					next.If = []string{step.Guard}
				}
				if step.Target != "" {
					next.Do = append(next.Do, ours(t, d, step.Target+".entry", s.States[step.Target].Entry)...)
				}
				m[place{name, event}] = append(m[place{name, event}], next)
			}
		}
	}
	return m
}

// ours translates the actions of a place. An action without a translation must be one that only reports.
func ours(t testing.TB, d deviations, where string, actions []string) []string {
	t.Helper()
	if here, ok := d.Actions[where]; ok {
		return slices.Clone(here)
	}
	for _, a := range actions {
		testkit.Check(t, slices.Contains(d.Told, a), "%s: the model does not know %q", where, a)
	}
	return nil
}

// theModel applies the deviations. It also returns SPEC-0003 without them.
func theModel(t testing.TB) (m, written model) {
	t.Helper()
	s, d := loaded[seed](t, "spec-0003.yaml"), loaded[deviations](t, "deviations.yaml")
	written = asWritten(t, s, d)
	m = maps.Clone(written)
	for _, dev := range d.Deviations {
		for _, state := range dev.States {
			m[place{state, dev.Event}] = dev.Becomes
		}
	}
	return m, written
}

// next returns the model's move for an event. The index is the transition's.
func (m model) next(state State, on Trigger, s Situation) (index int, to State, do []string, ok bool) {
	for i, tr := range m[place{string(state), triggerName(on)}] {
		if !slices.ContainsFunc(tr.If, func(g string) bool { return !modelGuard(g, s) }) {
			return i, modelTarget(tr.Target, state, s), tr.Do, true
		}
	}
	return 0, "", nil, false
}

func modelTarget(target string, from State, s Situation) State {
	switch {
	case target == "":
		return from
	case target != string(Before):
		return State(target)
	case slices.Contains([]string{"idle", "selecting", "executing", "evaluating", "error_handling"}, string(s.Before)):
		return s.Before
	}
	return "idle"
}

// modelGuard implements the guards a second time.
func modelGuard(name string, s Situation) bool {
	switch name {
	case "isComplete", "shouldRetry":
		return s.Decision == map[string]string{"isComplete": "COMPLETE", "shouldRetry": "RETRY"}[name]
	case "goesOn":
		return strings.Contains(" CONTINUE RETRY ADDRESS_ORCHESTRATOR ", " "+s.Decision+" ")
	case "maxIterationsReached":
		return s.MaxIterations-s.Iterations <= 0
	case "maxFailuresReached":
		total := s.MaxTotalFailures != 0 && s.MaxTotalFailures-s.TotalFailures <= 0
		return total || s.MaxFailures-s.Failures <= 0
	case "nobodyWorks":
		return !s.Engaged
	}
	held, ok := map[string]bool{
		"isRecoverableError": s.Recoverable, "hasAgent": s.AgentKnown, "agentAlive": s.AgentAlive,
		"someoneWorks": s.Engaged, "rulingAwaited": s.Awaited, "taskGiven": s.HasTask, "stepLeft": s.HasStep,
		"lastAgentThere": s.HasLast, "rulesCanDecide": s.RulesLeft, "taskFinished": s.WasComplete,
	}[name]
	if !ok {
		panic("the model knows no guard " + name)
	}
	return held
}

// triggers are all triggers of both machines.
func triggers(t testing.TB) []Trigger {
	t.Helper()
	s, d := loaded[seed](t, "spec-0003.yaml"), loaded[deviations](t, "deviations.yaml")
	list := testkit.Each(s.Events, func(e string) Trigger { return Trigger(e) })
	for _, e := range slices.Sorted(maps.Keys(d.Added)) {
		list = append(list, Trigger(e))
	}
	for _, r := range Table {
		list = once(list, r.On)
	}
	return slices.DeleteFunc(list, func(t Trigger) bool { return t == Always })
}
