package rehearsal

import (
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

func readTemplate(v yamldoc.Value) *text {
	src := v.Text()
	t := &text{at: v.Place()}
	tpl, err := template.New(v.Path).Funcs(templateFuncs).Option("missingkey=error").Parse(src)
	if err != nil {
		v.Errorf("bad template: %v", err)
		return nil
	}
	t.tpl = tpl
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
	pipe := func(p *parse.PipeNode) {
		for _, cmd := range p.Cmds {
			for _, a := range cmd.Args {
				visit(a)
			}
		}
	}
	visit = func(n parse.Node) {
		switch n := n.(type) {
		case *parse.ListNode:
			if n != nil {
				for _, c := range n.Nodes {
					visit(c)
				}
			}
		case *parse.ActionNode:
			pipe(n.Pipe)
		case *parse.IfNode:
			pipe(n.Pipe)
			visit(n.List)
			visit(n.ElseList)
		case *parse.PipeNode:
			pipe(n)
		case *parse.FieldNode:
			top = append(top, n.Ident[0])
			if n.Ident[0] == "vars" && len(n.Ident) > 1 {
				vars = append(vars, n.Ident[1])
			}
		}
	}
	if t != nil && t.tpl.Tree != nil {
		visit(t.tpl.Root)
	}
	return top, vars
}

// tree is a value of a tool's input in the form of the scenario: nil, bool, int64, uint64, float64, *text,
// []tree or map[string]tree.
type tree any

func readTree(v yamldoc.Value) tree {
	switch v.Kind() {
	case yamldoc.Nothing, yamldoc.Bool, yamldoc.Number:
		return v.Plain()
	case yamldoc.Text:
		return readTemplate(v)
	case yamldoc.List:
		out := []tree{}
		for _, it := range v.Items("a list") {
			out = append(out, readTree(it))
		}
		return out
	case yamldoc.Mapping:
		return readObject(v)
	}
	v.Want("a value")
	return nil
}

func readObject(v yamldoc.Value) map[string]tree {
	out := map[string]tree{}
	for _, f := range v.Fields("a mapping") {
		out[f.Key] = readTree(f.Value)
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

func eachText(t tree, visit func(*text)) {
	switch v := t.(type) {
	case *text:
		visit(v)
	case []tree:
		for _, e := range v {
			eachText(e, visit)
		}
	case map[string]tree:
		for _, e := range v {
			eachText(e, visit)
		}
	}
}

// amount is a number of tokens: written as a number, or as a template that gives one, so that a variable
// can adapt a scenario to another window.
type amount struct{ text *text }

func readAmount(v yamldoc.Value) *amount {
	if v.Kind() == yamldoc.Number {
		src := strconv.Itoa(v.Integer(0))
		return &amount{&text{tpl: template.Must(template.New("").Parse(src))}}
	}
	t := readTemplate(v)
	if t == nil {
		return nil
	}
	return &amount{t}
}

func (a *amount) render(s scope) (int, error) {
	out, err := a.text.render(s)
	if err != nil {
		return 0, err
	}
	n, err := strconv.Atoi(strings.TrimSpace(out))
	if err != nil || n < 0 {
		return 0, fmt.Errorf("%s: want a number of tokens, found %q", a.text.at, out)
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
