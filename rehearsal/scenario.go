package rehearsal

import (
	"cmp"
	"embed"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"time"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

// Scenario is a parsed script: its actors, and the answers of each. It may be played by several servers, and must not
// be changed.
type Scenario struct {
	Name        string
	Title       string
	Description string
	Allow       []string          // the permission rules, in Claude's syntax, that its tool calls need
	Vars        map[string]string // its variables with their defaults
	Files       map[string]string // of the workspace at the beginning: texts by slash-separated relative paths

	file   string
	actors []*actor
	texts  []*text         // all templates
	groups map[string]bool // names that expectations capture anywhere
}

// actor is one part in the play. Every conversation that matches it plays the
// steps from the first.
type actor struct {
	name      string
	match     match
	steps     []*step
	otherwise []*step // the first that matches
}

// match selects the conversations that an actor plays.
type match struct {
	role     Role
	contains *regexp.Regexp // on the first user text
	model    *regexp.Regexp
	nth      int // the nth conversation that matches the rest; 0 = each
}

// step is one answer of the model.
type step struct {
	line       int
	expect     *regexp.Regexp
	think, say *text
	use        []toolUse
	usage      usage
	stopReason string
	delay      time.Duration
	pause      time.Duration // before the answer, if a human watches
	chunkDelay time.Duration
	repeat     int // how many times it is played
	headers    map[string]string
	fault      *fault
}

// toolUse is one call. A verdict is a call of StructuredOutput, the tool that
// --json-schema adds.
type toolUse struct {
	tool  string
	input map[string]tree
}

// usage overrides figures that would be made up: context, the whole of the input side, or its parts, and output.
type usage map[string]*text

// fault is an API error. Either the request is refused (status, garbage, errorEvent, cutAfter), or it is
// answered late (stall, stallMid).
type fault struct {
	status     int
	errorType  string
	message    *text
	headers    map[string]string
	stall      time.Duration
	stallMid   time.Duration
	cutAfter   int // events sent before the connection is cut; 0 = no cut
	garbage    bool
	errorEvent string
}

// answers reports whether the client gets the step's content in the end.
func (f *fault) answers() bool {
	return f == nil || f.status == 0 && f.cutAfter == 0 && !f.garbage && f.errorEvent == ""
}

// Role is the role of a conversation, judged by the tools that its requests offer.
type Role string

// The roles that a request can have. RoleAny is only used in a match: it matches every role but side.
const (
	RoleAny          Role = "any"
	RoleArbiter      Role = "arbiter"      // offers mcp__arbiter__spawn_orchestrator
	RoleOrchestrator Role = "orchestrator" // offers mcp__arbiter__report_progress
	RoleMain         Role = "main"         // the main thread of any other session
	RoleSubagent     Role = "subagent"     // started by the Agent tool
	RoleSide         Role = "side"         // titles, side questions, compaction: outside the history
)

var roles = []Role{RoleAny, RoleArbiter, RoleOrchestrator, RoleMain, RoleSubagent, RoleSide}

//go:embed scenarios/*.yaml
var builtin embed.FS

const defaultScenario = "small-job"

// Load reads a scenario file.
func Load(path string) (*Scenario, error) {
	src, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read scenario: %w", err)
	}
	return Parse(path, src)
}

// Builtin returns an embedded scenario; "" is the default one.
func Builtin(name string) (*Scenario, error) {
	name = cmp.Or(name, defaultScenario)
	src, err := BuiltinSource(name)
	if err != nil {
		return nil, err
	}
	return Parse(name+".yaml", src)
}

// BuiltinNames lists the embedded scenarios, sorted.
func BuiltinNames() (names []string) {
	files, err := builtin.ReadDir("scenarios")
	if err != nil {
		panic(err) // it is embedded
	}
	for _, f := range files {
		names = append(names, strings.TrimSuffix(f.Name(), ".yaml"))
	}
	return names
}

// BuiltinSource returns the text of an embedded scenario, to be read or modified.
func BuiltinSource(name string) ([]byte, error) {
	src, err := builtin.ReadFile("scenarios/" + name + ".yaml")
	if err != nil {
		return nil, fmt.Errorf("there is no built-in scenario %q: use one of %s", name,
			strings.Join(BuiltinNames(), ", "))
	}
	return src, nil
}

// Parse reads a scenario. It is strict: every unknown field, wrong type, bad
// regular expression, bad template and unknown template name is reported, each
// as `file:line: field: what`, all of them joined in one error.
func Parse(name string, src []byte) (*Scenario, error) {
	doc, err := yamldoc.Parse(name, src)
	if err != nil {
		return nil, err
	}
	values := doc.Values()
	if len(values) != 1 {
		return nil, fmt.Errorf("%s:1: want one YAML document, found %d", name, len(values))
	}
	root := values[0]
	sc := &Scenario{file: name, Vars: map[string]string{}, Files: map[string]string{}, groups: map[string]bool{}}
	sc.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	readFields(root, "a scenario (a mapping)", readers{
		"name": to(&sc.Name, yamldoc.Value.Text), "title": to(&sc.Title, yamldoc.Value.Text),
		"description": to(&sc.Description, yamldoc.Value.Text), "allow": to(&sc.Allow, yamldoc.Value.Texts),
		"vars": to(&sc.Vars, readTexts),
		"files": func(v yamldoc.Value) {
			for _, f := range v.Fields("a mapping of paths to texts") {
				if !filepath.IsLocal(f.Key) || f.Key == "." {
					f.Errorf("%q is not a path inside the workspace", f.Key)
				}
				sc.Files[f.Key] = f.Text()
			}
		},
		"actors": to(&sc.actors, func(v yamldoc.Value) []*actor { return readList(v, "a list of actors", sc.readActor) }),
	})
	if len(sc.actors) == 0 && doc.Err() == nil {
		root.Errorf("a scenario needs actors")
	}
	err = doc.Err()
	if err == nil {
		err = sc.checkNames()
	}
	if err != nil {
		return nil, err
	}
	return sc, nil
}

// readers has a function for each field of a mapping.
type readers map[string]func(yamldoc.Value)

func readFields(v yamldoc.Value, what string, known readers) []yamldoc.Field {
	all := v.Fields(what)
	for _, f := range all {
		if read := known[f.Key]; read != nil {
			read(f.Value)
		} else {
			f.Unknown()
		}
	}
	return all
}

// to makes a reader that sets a variable.
func to[T any](set *T, read func(yamldoc.Value) T) func(yamldoc.Value) {
	return func(v yamldoc.Value) { *set = read(v) }
}

func readList[T any](v yamldoc.Value, what string, read func(yamldoc.Value) T) (list []T) {
	for _, it := range v.Items(what) {
		list = append(list, read(it))
	}
	return list
}

func readTexts(v yamldoc.Value) map[string]string {
	texts := map[string]string{}
	for _, f := range v.Fields("a mapping of texts") {
		texts[f.Key] = f.Text()
	}
	return texts
}

func (s *Scenario) readActor(v yamldoc.Value) *actor {
	a := &actor{match: match{role: RoleAny}}
	readFields(v, "an actor (a mapping)", readers{
		"name": to(&a.name, yamldoc.Value.Text), "match": to(&a.match, s.readMatch),
		"steps":     to(&a.steps, func(v yamldoc.Value) []*step { return readList(v, "a list of steps", s.readStep) }),
		"otherwise": to(&a.otherwise, s.readOtherwise),
	})
	if a.name == "" {
		v.Errorf("an actor needs a name")
	}
	if len(a.steps) == 0 && len(a.otherwise) == 0 {
		v.Errorf("an actor needs steps")
	}
	return a
}

func (s *Scenario) readOtherwise(v yamldoc.Value) []*step {
	if v.Kind() != yamldoc.List {
		return []*step{s.readOther(v)}
	}
	return readList(v, "a list of steps", s.readOther)
}

func (s *Scenario) readOther(v yamldoc.Value) *step {
	st := s.readStep(v)
	if st.repeat != 1 {
		v.Errorf("repeat has no meaning here: it is played as often as needed")
	}
	return st
}

func (s *Scenario) readMatch(v yamldoc.Value) match {
	m := match{role: RoleAny}
	readFields(v, "a mapping", readers{
		"role": func(v yamldoc.Value) {
			if m.role = Role(v.Text()); !slices.Contains(roles, m.role) {
				v.Errorf("want one of %v, found %q", roles, m.role)
			}
		},
		"contains": to(&m.contains, readPattern), "model": to(&m.model, readPattern),
		"nth": func(v yamldoc.Value) { m.nth = v.Integer(1) },
	})
	return m
}

func (s *Scenario) readStep(v yamldoc.Value) *step {
	st := &step{line: v.Line(), repeat: 1}
	var verdict []toolUse
	readFields(v, "a step (a mapping)", readers{
		"expect": to(&st.expect, s.readExpectation), "think": to(&st.think, s.readTemplate),
		"say": to(&st.say, s.readTemplate),
		"use": to(&st.use, func(v yamldoc.Value) []toolUse { return readList(v, "a list of tool calls", s.readToolUse) }),
		"verdict": func(v yamldoc.Value) {
			verdict = []toolUse{{tool: structuredOutput, input: s.readObject(v)}}
		},
		"usage": to(&st.usage, s.readUsage), "stop_reason": to(&st.stopReason, yamldoc.Value.Text),
		"delay": to(&st.delay, yamldoc.Value.Duration), "pause": to(&st.pause, yamldoc.Value.Duration),
		"chunk_delay": to(&st.chunkDelay, yamldoc.Value.Duration), "repeat": to(&st.repeat, readCount),
		"headers": to(&st.headers, readTexts), "fault": to(&st.fault, s.readFault),
	})
	st.use = append(st.use, verdict...) // last, in any order of the file: StructuredOutput ends the turn
	return st
}

func (s *Scenario) readToolUse(v yamldoc.Value) toolUse {
	u := toolUse{input: map[string]tree{}}
	readFields(v, "a tool call (a mapping)", readers{"tool": to(&u.tool, yamldoc.Value.Text),
		"input": to(&u.input, s.readObject)})
	if u.tool == "" {
		v.Errorf("a tool call needs a tool")
	}
	return u
}

func (s *Scenario) readUsage(v yamldoc.Value) usage {
	u, known := usage{}, readers{}
	for _, name := range []string{"context", "input", "cache_read", "cache_creation", "output"} {
		known[name] = func(v yamldoc.Value) { u[name] = s.readAmount(v) }
	}
	given := readFields(v, "a mapping", known)
	parts := slices.DeleteFunc(given, func(f yamldoc.Field) bool { return f.Key == "context" || f.Key == "output" })
	if u["context"] != nil && len(parts) > 0 {
		v.Errorf("context is the sum of input, cache_read and cache_creation: give the one or the others")
	}
	return u
}

func (s *Scenario) readFault(v yamldoc.Value) *fault {
	ft := &fault{}
	given := readFields(v, "a fault (a mapping)", readers{
		"status": func(v yamldoc.Value) {
			if ft.status = v.Integer(400); ft.status > 599 {
				v.Errorf("want an HTTP status from 400 to 599, found %d", ft.status)
			}
		},
		"error_type": to(&ft.errorType, yamldoc.Value.Text), "message": to(&ft.message, s.readTemplate),
		"headers": to(&ft.headers, readTexts), "stall": to(&ft.stall, yamldoc.Value.Duration),
		"stall_mid": to(&ft.stallMid, yamldoc.Value.Duration),
		"cut_after": func(v yamldoc.Value) { ft.cutAfter = v.Integer(1) },
		"garbage":   to(&ft.garbage, yamldoc.Value.Bool), "error_event": to(&ft.errorEvent, yamldoc.Value.Text),
	})
	kinds := slices.DeleteFunc(given, func(f yamldoc.Field) bool {
		return slices.Contains([]string{"error_type", "message", "headers"}, f.Key)
	})
	if len(kinds) != 1 {
		v.Errorf("a fault is one of status, stall, stall_mid, cut_after, garbage, error_event")
	}
	return ft
}

// text is a Go template of the scenario. Its data is a scope: `.vars`, the
// named groups captured so far, and the words of [reserved].
type text struct {
	at  string // file:line: path, for error messages
	tpl *template.Template
}

// reserved words of a scope; a named group may not take them.
var reserved = map[string]string{
	"vars":     "the scenario's variables",
	"cwd":      "the session's working directory",
	"session":  "the session's id",
	"actor":    "the name of the actor",
	"incoming": "what the model is answering",
}

var templateFuncs = template.FuncMap{
	// oneline folds white space, so that a document fits on one line.
	"oneline": func(s string) string { return strings.Join(strings.Fields(s), " ") },
}

func (sc *Scenario) readTemplate(v yamldoc.Value) *text {
	src := v.Text()
	t := &text{at: v.Place()}
	tpl, err := template.New(v.Path).Funcs(templateFuncs).Option("missingkey=error").Parse(src)
	if err != nil {
		v.Errorf("bad template: %v", err)
		return nil
	}
	t.tpl = tpl
	sc.texts = append(sc.texts, t)
	return t
}

func (t *text) render(s scope) (string, error) {
	if t == nil {
		return "", nil
	}
	var b strings.Builder
	if err := t.tpl.Execute(&b, map[string]any(s)); err != nil {
		return b.String(), fmt.Errorf("%s: %w", t.at, err)
	}
	return b.String(), nil
}

// names lists the names that the template uses as `.name` or `.vars.name`. Inside range and with the dot is
// something else, so those are checked at run time.
func (t *text) names() (top, vars []string) {
	var visit func(n parse.Node)
	visit = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			if n != nil {
				for _, c := range n.Nodes {
					visit(c)
				}
			}
		case *parse.ActionNode:
			visit(n.Pipe)
		case *parse.IfNode:
			visit(n.Pipe)
			visit(n.List)
			visit(n.ElseList)
		case *parse.PipeNode:
			for _, cmd := range n.Cmds {
				for _, a := range cmd.Args {
					visit(a)
				}
			}
		case *parse.FieldNode:
			top = append(top, n.Ident[0])
			if n.Ident[0] == "vars" && len(n.Ident) > 1 {
				vars = append(vars, n.Ident[1])
			}
		}
	}
	if t.tpl.Tree != nil {
		visit(t.tpl.Root)
	}
	return top, vars
}

// tree is a value of a tool's input in the form of the scenario: nil, bool, int64, uint64, float64, *text,
// []tree or map[string]tree.
type tree any

func (sc *Scenario) readTree(v yamldoc.Value) tree {
	switch v.Kind() {
	case yamldoc.Nothing, yamldoc.Bool, yamldoc.Number:
		return v.Plain()
	case yamldoc.Text:
		return sc.readTemplate(v)
	case yamldoc.List:
		out := []tree{}
		for _, it := range v.Items("a list") {
			out = append(out, sc.readTree(it))
		}
		return out
	case yamldoc.Mapping:
		return sc.readObject(v)
	}
	v.Want("a value")
	return nil
}

func (sc *Scenario) readObject(v yamldoc.Value) map[string]tree {
	out := map[string]tree{}
	for _, f := range v.Fields("a mapping") {
		out[f.Key] = sc.readTree(f.Value)
	}
	return out
}

// renderTree returns a value that encoding/json can write.
func renderTree(t tree, render func(*text) string) any {
	switch v := t.(type) {
	case *text:
		return render(v)
	case []tree:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = renderTree(e, render)
		}
		return out
	case map[string]tree:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = renderTree(e, render)
		}
		return out
	}
	return t
}

// readAmount reads a number of tokens: written as a number, or as a template that gives one, so that a variable
// can adapt a scenario to another window.
func (sc *Scenario) readAmount(v yamldoc.Value) *text {
	if v.Kind() == yamldoc.Number {
		return &text{tpl: template.Must(template.New("").Parse(strconv.Itoa(v.Integer(0))))}
	}
	return sc.readTemplate(v)
}

func (t *text) renderAmount(s scope) (int, error) {
	out, err := t.render(s)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: want a number of tokens, found %q", t.at, out)
	}
	return n, nil
}

// readCount reads how many times a step is repeated: a number from 1, or "forever".
func readCount(v yamldoc.Value) int {
	if v.Kind() != yamldoc.Text {
		return v.Integer(1)
	}
	if v.Text() != "forever" {
		v.Errorf("want a number or \"forever\", found %q", v.Text())
		return 1
	}
	return math.MaxInt
}

func readPattern(v yamldoc.Value) *regexp.Regexp {
	re, err := regexp.Compile(v.Text())
	if err != nil {
		v.Errorf("bad regular expression: %v", err)
		return nil
	}
	return re
}

// readExpectation reads a pattern whose groups templates may name.
func (sc *Scenario) readExpectation(v yamldoc.Value) *regexp.Regexp {
	re := readPattern(v)
	if re != nil {
		for _, g := range re.SubexpNames() {
			sc.groups[g] = true
		}
		delete(sc.groups, "") // those without a name
	}
	return re
}

// checkNames finds the names in templates that are never set. Which variables exist is known only at Start,
// because options add some.
func (sc *Scenario) checkNames() error {
	var errs []error
	for w, what := range reserved {
		if sc.groups[w] {
			errs = append(errs, fmt.Errorf("%s: the group name %q is taken: it stands for %s", sc.file, w, what))
		}
	}
	for _, t := range sc.texts {
		top, _ := t.names()
		for _, n := range top {
			if reserved[n] == "" && !sc.groups[n] {
				errs = append(errs, fmt.Errorf("%s: no expectation captures a group %q", t.at, n))
			}
		}
	}
	return errors.Join(errs...)
}

// CheckVars finds the variables that neither the scenario nor the caller set.
func (sc *Scenario) CheckVars(vars map[string]string) error {
	var errs []error
	for _, t := range sc.texts {
		_, names := t.names()
		for _, n := range names {
			if _, ok := vars[n]; !ok {
				errs = append(errs, fmt.Errorf("%s: variable %q is neither in the scenario's vars nor given", t.at, n))
			}
		}
	}
	return errors.Join(errs...)
}
