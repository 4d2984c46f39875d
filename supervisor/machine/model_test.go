package machine

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"
)

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
	raw, err := os.ReadFile(filepath.Join("..", "..", "testdata", "machine", name))
	if err != nil {
		t.Fatal(err)
	}
	var v T
	if err := yaml.UnmarshalWithOptions(raw, &v, yaml.Strict()); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
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
		if !slices.Contains(d.Told, a) {
			t.Errorf("%s: the model does not know %q", where, a)
		}
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
	var list []Trigger
	for _, e := range s.Events {
		list = append(list, Trigger(e))
	}
	for _, e := range slices.Sorted(maps.Keys(d.Added)) {
		list = append(list, Trigger(e))
	}
	for _, r := range Table {
		list = once(list, r.On)
	}
	return slices.DeleteFunc(list, func(t Trigger) bool { return t == Always })
}
