package decider

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
)

// The templates of decisions, by the names that overrides use.
const (
	selectFile   = "select.md"
	evaluateFile = "evaluate.md"
	briefFile    = "brief.md"
	stateFile    = "state.md"
)

// system is the block of select.md and evaluate.md that is the system prompt.
const system = "system"

// MaxPrompt bounds the output of one template, in bytes.
const MaxPrompt = 256 << 10

// PromptNames are the templates a user may override, sorted.
func PromptNames() []string { return []string{briefFile, evaluateFile, selectFile, stateFile} }

// PromptSource is the text of a built-in template, as a basis for an override; false: there is none of that name.
func PromptSource(name string) (string, bool) {
	if !slices.Contains(PromptNames(), name) {
		return "", false
	}
	text, err := promptFiles.ReadFile("text/" + name)
	if err != nil {
		panic(err) // embedded; a test reads them all
	}
	return string(text), true
}

// BriefPrompt fills in the brief of an Orchestrator without a brief from the Arbiter.
type BriefPrompt struct {
	Input   SelectAgentInput
	Mode    string // empty: none
	Reason  string // why it was chosen
	Message string // the decider's message; may be empty
	Aside   bool   // Message is all that it has to do: it has no step of the plan
}

// StatePrompt fills in the state of the task, for the Arbiter's own session.
type StatePrompt struct {
	Point DecisionPoint
	Input SelectAgentInput
}

// PromptSet are the templates of decisions: the built-in ones, some of them overridden. It is immutable, and any
// goroutine may use it. Its output depends only on its input.
type PromptSet struct{ templates map[string]*template.Template }

// promptBuiltIn are the templates without overrides.
var promptBuiltIn = sync.OnceValue(func() *PromptSet {
	s := &PromptSet{templates: map[string]*template.Template{}}
	for _, name := range PromptNames() {
		text, _ := PromptSource(name)
		t, err := read(name, text)
		if err != nil {
			panic(err) // a test renders them all
		}
		s.templates[name] = t
	}
	return s
})

// NewSet returns a set of the built-in templates and a user's own, by file name. Each of these is tried on two
// samples, a task at its beginning and one in progress, so that unknown names are found now; errors name file
// and line. A select.md or evaluate.md without a block "system" keeps the built-in system prompt.
func NewSet(overrides map[string]string) (*PromptSet, error) {
	if len(overrides) == 0 {
		return promptBuiltIn(), nil
	}
	s := &PromptSet{templates: maps.Clone(promptBuiltIn().templates)}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if !slices.Contains(PromptNames(), name) {
			return nil, fmt.Errorf("no template is named %q: there are %s", name, strings.Join(PromptNames(), ", "))
		}
		t, err := read(name, overrides[name])
		if err != nil {
			return nil, err
		}
		s.templates[name] = t
	}
	for _, name := range slices.Sorted(maps.Keys(overrides)) {
		if err := s.try(name); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// read parses one file into its own name space, and adds the counting of steps.
func read(name, text string) (*template.Template, error) {
	t, err := template.New(name).Option("missingkey=error").Funcs((&budget{}).functions()).Parse(text)
	if err != nil {
		return nil, explained(err)
	}
	for _, part := range t.Templates() {
		if part.Tree != nil {
			meter(part.Tree.Root)
		}
	}
	return t, nil
}

// promptStep is the node that counts: {{step}}.
var promptStep = sync.OnceValue(func() parse.Node {
	trees, err := parse.Parse("step", "{{step}}", "", "", map[string]any{"step": true})
	if err != nil {
		panic(err) // a constant
	}
	return trees["step"].Root.Nodes[0]
})

// meter inserts a step into each body that can be run more than once: a loop's, and a template's, which may
// call itself. Otherwise a template could run without end, since the package has no deadline.
func meter(list *parse.ListNode) {
	if list == nil {
		return
	}
	meterWithin(list)
	list.Nodes = slices.Insert(list.Nodes, 0, promptStep().Copy())
}

func meterWithin(list *parse.ListNode) {
	if list == nil {
		return
	}
	for _, n := range list.Nodes {
		switch n := n.(type) {
		case *parse.IfNode:
			meterWithin(n.List)
			meterWithin(n.ElseList)
		case *parse.WithNode:
			meterWithin(n.List)
			meterWithin(n.ElseList)
		case *parse.RangeNode:
			meter(n.List)
			meterWithin(n.ElseList)
		}
	}
}

// Select renders the prompt for the choice of an agent.
func (s *PromptSet) Select(in SelectAgentInput) (system, prompt string, err error) {
	return s.both(selectFile, selectData(in))
}

// Evaluate renders the prompt for the judgement of progress.
func (s *PromptSet) Evaluate(in EvaluateProgressInput) (system, prompt string, err error) {
	return s.both(evaluateFile, evaluateData(in))
}

// Brief renders an Orchestrator's brief.
func (s *PromptSet) Brief(b BriefPrompt) (string, error) {
	data := briefData{selectData: selectData(b.Input), Mode: b.Mode, Reason: b.Reason, Message: b.Message,
		Aside: b.Aside}
	data.Step = b.Input.Plan.Current()
	return s.render(briefFile, briefFile, data)
}

// State renders the state of the task.
func (s *PromptSet) State(at StatePrompt) (string, error) {
	data := stateData{selectData: selectData(at.Input), Point: at.Point, Step: at.Input.Plan.Current()}
	if n := len(at.Input.History); n > 0 {
		data.Last = &at.Input.History[n-1]
	}
	for _, e := range at.Input.History {
		if e.Error != nil {
			data.Failures = append(data.Failures, e)
		}
	}
	data.Failures = data.Failures[max(len(data.Failures)-3, 0):]
	return s.render(stateFile, stateFile, data)
}

// What templates see: the members of the inputs, without their methods.
type (
	selectData   SelectAgentInput
	evaluateData EvaluateProgressInput
	briefData    struct {
		selectData
		Step                  *DecisionStep // the current one, or nil
		Mode, Reason, Message string
		Aside                 bool
	}
	stateData struct {
		selectData
		Point    DecisionPoint
		Step     *DecisionStep
		Last     *ExecutionSummary  // nil: none
		Failures []ExecutionSummary // the last three, of those in the history
	}
)

func (s *PromptSet) both(name string, data any) (sys, prompt string, err error) {
	from := s
	if s.templates[name].Lookup(system) == nil {
		from = promptBuiltIn()
	}
	if sys, err = from.render(name, system, data); err != nil {
		return "", "", err
	}
	if prompt, err = s.render(name, name, data); err != nil {
		return "", "", err
	}
	return sys, prompt, nil
}

// render executes one part of one file, within the bounds of work and of length.
func (s *PromptSet) render(name, part string, data any) (string, error) {
	text, err := s.execute(name, part, data)
	if err == nil && text == "" {
		err = fmt.Errorf("%s renders nothing", name)
	}
	if err != nil {
		return "", err
	}
	return text + "\n", nil
}

func (s *PromptSet) execute(name, part string, data any) (string, error) {
	t, err := s.templates[name].Clone()
	if err != nil {
		return "", explained(err)
	}
	b := &budget{left: maxWork}
	out := &bounded{}
	err = t.Funcs(b.functions()).ExecuteTemplate(out, part, data)
	switch {
	case out.over:
		return "", fmt.Errorf("%s renders more than %d bytes", name, MaxPrompt)
	case b.left < 0:
		return "", fmt.Errorf("%s works without end, or almost", name)
	case err != nil:
		return "", explained(err)
	}
	return strings.TrimSpace(out.String()), nil
}

// bounded accepts as much text as a prompt may have.
type bounded struct {
	strings.Builder
	over bool
}

func (w *bounded) Write(p []byte) (int, error) {
	if w.Len()+len(p) > MaxPrompt {
		w.over = true
		return 0, errors.New("too long")
	}
	return w.Builder.Write(p)
}
