package decider

// This part of the package holds the prompts of agents and of deciders: text templates embedded in the
// binary. Users can override those of deciders ([PromptSet]); such a template can neither hang nor read
// anything. The package is pure.

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"sync"
	"text/template"
	"text/template/parse"
	"time"
	"unicode"
)

//go:embed text/*.md
var promptFiles embed.FS

// templates are the agents' roles. They cannot be overridden, because they contain the protocol. They are
// parsed when the first one is needed.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(promptFiles, "text/arbiter.md",
		"text/orchestrator.md", "text/reminder.md"))
})

// PromptMode is a line of the list of modes. Model and Effort are empty where the mode names none.
type PromptMode struct{ Name, Description, Model, Effort string }

// ArbiterPrompt fills in the Arbiter's system prompt.
type ArbiterPrompt struct {
	CWD              string
	Delimiter        string // marks the envelopes of this run
	Modes            []PromptMode
	MaxOrchestrators int
	Hosts            string // names of hosts and pools; empty: there is one
	Makes            string // of agents; empty: Claude is the only one
	Decider          string // who decides in its place, in words; empty: the Arbiter itself
	Isolated         bool   // Orchestrators have their own directories, and CWD contains the merged files
	Rehearsal        bool
}

// OrchestratorPrompt fills in what is appended to Claude Code's own system prompt.
type OrchestratorPrompt struct {
	ID, Name   string
	CWD        string
	Delimiter  string
	Mode       string // its name, empty for none
	ModePrompt string
	Isolated   bool // CWD is its own
	Rehearsal  bool
}

// ReminderPrompt fills in what an agent reads again after a compaction.
type ReminderPrompt struct {
	Arbiter   bool
	ID, Name  string
	Delimiter string
	Task      string // the Arbiter's
	Roll      string // the living agents, for the Arbiter
	Brief     string // an Orchestrator's
	Plan      string
	Criteria  string // of acceptance; empty: none
}

// Text renders the reminder.
func (r ReminderPrompt) Text() string { return render("reminder.md", r) }

// Text renders the prompt.
func (a ArbiterPrompt) Text() string { return render("arbiter.md", a) }

// Text renders the prompt.
func (o OrchestratorPrompt) Text() string { return render("orchestrator.md", o) }

func render(name string, data any) string {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // embedded templates over our own types; a test renders them all
	}
	return strings.TrimSpace(b.String()) + "\n"
}

// maxWork bounds the work of one execution of a template: bytes that its functions produce, and stepWork for
// each iteration of a loop or call of a template.
const (
	maxWork  = 4 << 20
	stepWork = 256
)

// budget counts the work. It does not use a clock, so the same input always renders the same text.
type budget struct{ left int }

var errWork = errors.New("too much work")

func (b *budget) spend(n int) error {
	if n < 0 || n > b.left {
		b.left = -1
		return errWork
	}
	b.left -= n
	return nil
}

// functions are the functions for templates, besides the language's own comparisons, index, slice, len, and, or
// and not. The language's other functions that produce text are not offered, because they are unbounded.
func (b *budget) functions() template.FuncMap {
	none := func(...any) (string, error) {
		return "", errors.New("this function is not offered; json, indent, cut, line, span and printf are")
	}
	return template.FuncMap{
		"step":   func() (string, error) { return "", b.spend(stepWork) },
		"json":   b.json,
		"indent": b.indent,
		"cut":    b.cut,
		"line":   b.line,
		"span":   span,
		"printf": b.printf,
		"print":  none, "println": none, "html": none, "js": none, "urlquery": none,
	}
}

// json writes a value as JSON, on one line.
func (b *budget) json(v any) (string, error) {
	text, err := json.Marshal(v)
	if err != nil {
		return "", err
	}
	return string(text), b.spend(len(text))
}

// indent quotes a text: each line begins with the prefix, whatever characters end lines in some program, and
// control characters are removed. No text can produce a line without the prefix.
func (b *budget) indent(prefix string, v any) (string, error) {
	text, err := textOf(v)
	if err != nil {
		return "", err
	}
	lines := 1
	clean := strings.Map(func(r rune) rune {
		switch {
		case r == '\n', r == '\r', r == '\v', r == '\f', r == '\u0085', r == '\u2028', r == '\u2029':
			lines++
			return '\n'
		case r != '\t' && unicode.IsControl(r):
			return -1
		}
		return r
	}, strings.ReplaceAll(text, "\r\n", "\n"))
	if err := b.spend(len(clean) + lines*(len(prefix)+1)); err != nil {
		return "", err
	}
	return prefix + strings.ReplaceAll(clean, "\n", "\n"+prefix), nil
}

// cut shortens a text to so many runes, and keeps what is important (Cut).
func (b *budget) cut(most int, v any) (string, error) {
	text, err := textOf(v)
	if err != nil {
		return "", err
	}
	if most < 0 || most > MaxPrompt {
		return "", fmt.Errorf("cut to %d runes", most)
	}
	return Cut(text, most), b.spend(len(text) + 1)
}

// line turns a text into one line, of at most so many runes.
func (b *budget) line(most int, v any) (string, error) {
	text, err := textOf(v)
	if err != nil {
		return "", err
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.IsSpace(r) {
			return ' '
		}
		return r
	}, text)
	return b.cut(most, strings.Join(strings.Fields(text), " "))
}

// textOf accepts texts of any string type, such as a status.
func textOf(v any) (string, error) {
	r := reflect.ValueOf(v)
	if r.Kind() != reflect.String {
		return "", fmt.Errorf("a %T where a text belongs", v)
	}
	return r.String(), nil
}

// span formats milliseconds for people.
func span(ms int64) string {
	d := time.Duration(min(max(ms, 0), 1<<40)) * time.Millisecond
	if d >= 10*time.Second {
		d = d.Round(time.Second)
	}
	return d.String()
}

// printf formats texts, numbers and booleans; widths have two digits at most.
func (b *budget) printf(format string, args ...any) (string, error) {
	digits := 0
	for _, r := range format {
		if digits++; !unicode.IsDigit(r) {
			digits = 0
		}
		if r == '*' || r == '[' || digits > 2 {
			return "", fmt.Errorf("printf %q: no *, no [, and no number above 99", format)
		}
	}
	work := len(format)
	for _, a := range args {
		work += 128
		switch r := reflect.ValueOf(a); {
		case !r.IsValid():
			return "", errors.New("printf of nothing")
		case r.Kind() == reflect.String:
			work += 4 * r.Len()
		case r.Kind() > reflect.Float64:
			return "", fmt.Errorf("printf of a %T: it takes texts and numbers", a)
		}
	}
	if err := b.spend(work); err != nil {
		return "", err
	}
	return fmt.Sprintf(format, args...), nil
}

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

// Prompt renders the prompt for the choice of an agent or for the judgement of progress.
func (s *PromptSet) Prompt(in Input) (system, prompt string, err error) {
	if in, ok := in.(EvaluateProgressInput); ok {
		return s.both(evaluateFile, evaluateData(in))
	}
	return s.both(selectFile, selectData(in.(SelectAgentInput)))
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

// Errors of text/template that can be made clearer for a template's author.
var (
	noMember = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`can't evaluate field (\S+) in type \S*?(\w+\.\w+)$`)
	})
	noValue = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`nil pointer evaluating \S*?\w+\.\w+\.(\w+)$`)
	})
)

// explained turns an error of text/template into one for the author of a template: it begins with file and line, and
// lists the existing members.
func explained(err error) error {
	text := strings.TrimPrefix(err.Error(), "template: ")
	if m := noMember().FindStringSubmatchIndex(text); m != nil {
		name := text[m[2]:m[3]]
		if names := members()[text[m[4]:m[5]]]; names != "" {
			return errors.New(text[:m[0]] + "there is no " + name + " here, but " + names)
		}
	}
	if m := noValue().FindStringSubmatchIndex(text); m != nil {
		return errors.New(text[:m[0]] + "there may be nothing to have a " + text[m[2]:m[3]] +
			": put it into {{with …}} … {{end}}")
	}
	return errors.New(text)
}

// members are the names that templates can use, by the Go type that contains them.
var members = sync.OnceValue(func() map[string]string {
	found := map[string]string{}
	for _, data := range []any{selectData{}, evaluateData{}, briefData{}, stateData{}} {
		collect(reflect.TypeOf(data), found)
	}
	return found
})

// collect adds the members of a type and of all types within it.
func collect(t reflect.Type, found map[string]string) {
	for t.Kind() == reflect.Pointer || t.Kind() == reflect.Slice {
		t = t.Elem()
	}
	if t.Kind() != reflect.Struct || found[t.String()] != "" {
		return
	}
	var names []string
	for _, f := range reflect.VisibleFields(t) {
		if f.IsExported() && !f.Anonymous {
			names = append(names, f.Name)
		}
	}
	found[t.String()] = strings.Join(names, ", ")
	for _, f := range reflect.VisibleFields(t) {
		if !f.Anonymous {
			collect(f.Type, found)
		}
	}
}

// try renders a template on both samples. An empty result for one sample is allowed, because the template may
// not be meant for such a task. An empty result for both is a mistake, such as a file that is still empty.
func (s *PromptSet) try(name string) error {
	parts := []string{name}
	if s.templates[name].Lookup(system) != nil {
		parts = append(parts, system)
	}
	for _, part := range parts {
		made := 0
		for _, data := range samples(name) {
			text, err := s.execute(name, part, data)
			if err != nil {
				return err
			}
			made += len(text)
		}
		if made == 0 && part == name {
			return fmt.Errorf("%s renders nothing (remove the file, and the built-in template counts)", name)
		}
		if made == 0 {
			return fmt.Errorf("the block %q of %s renders nothing (remove it, and the built-in one counts)", part, name)
		}
	}
	return nil
}

// samples are what a file is tried with: a task that begins, of which nothing exists yet, and one in progress, of which
// everything does.
func samples(name string) (list []any) {
	for _, everything := range []bool{false, true} {
		in := SelectAgentInput{TaskInput: TaskInput{Task: "A task.", AvailableAgents: []AgentDescription{{Name: "developer",
			DisplayName: "developer", WhenToUse: "For changes."}}}}
		var last ExecutionSummary
		fill(reflect.ValueOf(&last).Elem())
		if everything {
			fill(reflect.ValueOf(&in).Elem())
			in.Plan.CurrentStepIndex = 0
		}
		step := in.Plan.Current()
		switch name {
		case selectFile:
			list = append(list, selectData(in))
		case evaluateFile:
			list = append(list, evaluateData{TaskInput: in.TaskInput, LastExecution: last})
		case briefFile:
			list = append(list,
				briefData{selectData: selectData(in), Step: step, Mode: "developer", Reason: "It is next."})
		case stateFile:
			data := stateData{selectData: selectData(in), Point: PointSelect, Step: step}
			if everything {
				data.Last, data.Failures = &last, in.History
			}
			list = append(list, data)
		}
	}
	return list
}

// fill puts something into every member.
func fill(v reflect.Value) {
	switch v.Kind() {
	case reflect.String:
		v.SetString("Something.")
	case reflect.Int, reflect.Int64:
		v.SetInt(1)
	case reflect.Float64:
		v.SetFloat(1)
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		fill(v.Index(0))
	case reflect.Struct:
		for _, member := range v.Fields() {
			fill(member)
		}
	}
}
