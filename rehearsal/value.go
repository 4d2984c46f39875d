package rehearsal

import (
	"errors"
	"fmt"
	"math"
	"regexp"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

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
func renderTree(t tree, s scope) (any, error) {
	switch v := t.(type) {
	case *text:
		return v.render(s)
	case []tree:
		out := make([]any, len(v))
		for i, e := range v {
			r, err := renderTree(e, s)
			if err != nil {
				return nil, err
			}
			out[i] = r
		}
		return out, nil
	case map[string]tree:
		out := make(map[string]any, len(v))
		for k, e := range v {
			r, err := renderTree(e, s)
			if err != nil {
				return nil, err
			}
			out[k] = r
		}
		return out, nil
	}
	return t, nil
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
