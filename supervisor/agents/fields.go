package agents

import (
	"cmp"
	"errors"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/token"
)

// field is a field of the front matter that arbiter uses.
type field struct {
	name string
	read func(r *reader, line int, v ast.Node)
}

// fields are read in this order, whatever the order in the file.
var fields = []field{
	{"name", (*reader).name},
	{"description", (*reader).description},
	{"tools", (*reader).tools},
	{"disallowedTools", (*reader).disallowedTools},
	{"model", (*reader).model},
	{"effort", (*reader).effort},
	{"maxTurns", (*reader).maxTurns},
	{"maxCost", (*reader).maxCost},
	{"timeout", (*reader).timeout},
}

// unused are fields of Claude Code's that mean nothing here, and why.
var unused = map[string]string{
	"permissionMode":   "arbiter's own policy decides what may run",
	"skills":           "",
	"mcpServers":       "",
	"hooks":            "",
	"color":            "",
	"memory":           "",
	"background":       "",
	"isolation":        "",
	"initialPrompt":    "",
	"forkContext":      "",
	"requiredMcpTools": "",
}

// fields reads the values, and tells of those that are missing, given twice, or not known.
func (r *reader) fields(pairs []*ast.MappingValueNode) {
	given := map[string]*ast.MappingValueNode{}
	for _, p := range pairs {
		key, ok := p.Key.(*ast.StringNode)
		line := lineOf(p.Key)
		if !ok {
			r.problem(line, "", "%s is no name of a field", clip(p.Key.String()))
			continue
		}
		if before := given[key.Value]; before != nil {
			r.problem(line, key.Value, "given twice: line %d has it, too", lineOf(before.Key))
			continue
		}
		given[key.Value] = p
	}
	for _, f := range fields {
		p := given[f.name]
		if p == nil {
			continue
		}
		delete(given, f.name)
		if at := indirect(p.Value); at != nil {
			r.problem(lineOf(at), f.name, "anchors, aliases and tags are not read: write the value out")
			continue
		}
		f.read(r, lineOf(p.Key), p.Value)
	}
	for _, name := range []string{"name", "description"} {
		if !slices.ContainsFunc(pairs, func(p *ast.MappingValueNode) bool { return isKey(p, name) }) {
			r.problem(1, name, "missing; every agent has one")
		}
	}
	r.others(given)
}

// others tells of the fields that nothing is done with.
func (r *reader) others(given map[string]*ast.MappingValueNode) {
	for name, p := range given {
		line := lineOf(p.Key)
		why, known := unused[name]
		switch near := nearest(name); {
		case known && why != "":
			r.warn(line, name, "not used by arbiter: %s", why)
		case known:
			r.warn(line, name, "not used by arbiter")
		case near != "":
			r.problem(line, clip(name), "no such field: write %s", near)
		default:
			r.warn(line, clip(name), "no such field, neither of arbiter nor of Claude Code as far as arbiter knows")
		}
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Field, b.Field)) })
}

// nearest is the field somebody meant who wrote disallowed-tools or Max_Turns. Such a
// slip is no warning: a tool that was to be denied would be allowed.
func nearest(name string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(s))
	}
	aliases := map[string]string{"allowedtools": "tools", "deniedtools": "disallowedTools", "tool": "tools", "disallowedtool": "disallowedTools"}
	if near := aliases[plain(name)]; near != "" {
		return near
	}
	for _, f := range fields {
		if plain(f.name) == plain(name) {
			return f.name
		}
	}
	return ""
}

func isKey(p *ast.MappingValueNode, name string) bool {
	key, ok := p.Key.(*ast.StringNode)
	return ok && key.Value == name
}

// indirect finds what stands for something else. It is refused rather than expanded:
// nothing that an agent file needs is worth the ways to make it explode.
func indirect(v ast.Node) ast.Node {
	switch v := v.(type) {
	case *ast.AnchorNode, *ast.AliasNode, *ast.TagNode, *ast.MergeKeyNode:
		return v
	case *ast.SequenceNode:
		for _, x := range v.Values {
			if at := indirect(x); at != nil {
				return at
			}
		}
	}
	return nil
}

// text reads a value that must be text.
func (r *reader) text(line int, field string, v ast.Node) (string, bool) {
	switch v := v.(type) {
	case *ast.StringNode:
		if strings.TrimSpace(v.Value) != "" {
			return v.Value, true
		}
	case *ast.LiteralNode:
		if strings.TrimSpace(v.Value.Value) != "" {
			return v.Value.Value, true
		}
	case *ast.NullNode:
	default:
		r.problem(line, field, "want text, not %s; put it into quotes if it is", kindOf(v))
		return "", false
	}
	r.problem(line, field, "empty")
	return "", false
}

func (r *reader) name(line int, v ast.Node) {
	name, ok := r.text(line, "name", v)
	if !ok {
		return
	}
	r.agent.Name = name
	r.checkName(line, name)
}

func (r *reader) description(line int, v ast.Node) {
	text, ok := r.text(line, "description", v)
	if !ok {
		return
	}
	// The CLI takes \n in the text for a new line, quoted or not (2.1.329).
	r.agent.Description = strings.TrimSpace(strings.ReplaceAll(text, `\n`, "\n"))
	r.hidden(text, line, "description")
}

func (r *reader) tools(line int, v ast.Node) {
	list, all := r.toolList(line, "tools", v)
	if !all {
		r.agent.Tools = list
	}
}

func (r *reader) disallowedTools(line int, v ast.Node) {
	list, all := r.toolList(line, "disallowedTools", v)
	if all {
		r.problem(line, "disallowedTools", "an agent without any tool cannot work: name the tools")
	}
	r.agent.DisallowedTools = list
}

// Names of models that mean the newest of a family.
var families = []string{"inherit", "sonnet", "opus", "haiku", "opusplan", "best", "default", "fable"}

func (r *reader) model(line int, v ast.Node) {
	model, ok := r.text(line, "model", v)
	if !ok {
		return
	}
	plain, _, _ := strings.Cut(model, "[") // sonnet[1m]
	switch {
	case len(model) > 256 || strings.HasPrefix(model, "-") || strings.ContainsFunc(model, func(c rune) bool { return c <= ' ' || c > '~' }):
		r.problem(line, "model", "%s is no model's name: want sonnet, opus, haiku, inherit or a full id", clip(model))
		return
	case !slices.Contains(families, plain) && !strings.ContainsAny(plain, "-.:/"):
		r.warn(line, "model", "%s is no model that arbiter knows: sonnet, opus, haiku, inherit or a full id", clip(model))
	}
	r.agent.Model = model
}

var efforts = []string{"low", "medium", "high", "xhigh", "max"}

func (r *reader) effort(line int, v ast.Node) {
	effort, ok := r.text(line, "effort", v)
	if !ok {
		return
	}
	if !slices.Contains(efforts, effort) {
		r.problem(line, "effort", "%s is none: want %s", clip(effort), strings.Join(efforts, ", "))
		return
	}
	r.agent.Effort = effort
}

func (r *reader) maxTurns(line int, v ast.Node) {
	n, err := strconv.Atoi(scalar(v))
	if err != nil || n < 1 || n > 1_000_000 {
		r.problem(line, "maxTurns", "want a number of turns, 1 or more, not %s", clip(scalar(v)))
		return
	}
	r.agent.Limits.MaxTurns = n
}

func (r *reader) maxCost(line int, v ast.Node) {
	usd, err := strconv.ParseFloat(scalar(v), 64)
	if err != nil || !(usd > 0) || math.IsInf(usd, 0) {
		r.problem(line, "maxCost", "want US dollars, more than 0, such as 2.5, not %s", clip(scalar(v)))
		return
	}
	r.agent.Limits.MaxCostUSD = usd
}

func (r *reader) timeout(line int, v ast.Node) {
	d, err := time.ParseDuration(scalar(v))
	if err != nil || d <= 0 {
		r.problem(line, "timeout", "want a time such as 90s, 45m or 2h, not %s", clip(scalar(v)))
		return
	}
	r.agent.Limits.Timeout = d
}

// scalar is a number or a text as it was written.
func scalar(v ast.Node) string {
	switch v := v.(type) {
	case *ast.StringNode:
		return v.Value
	case *ast.IntegerNode, *ast.FloatNode:
		return v.GetToken().Value
	}
	return kindOf(v)
}

func kindOf(v ast.Node) string {
	switch v.(type) {
	case nil, *ast.NullNode:
		return "nothing"
	case *ast.SequenceNode:
		return "a list"
	case *ast.MappingNode, *ast.MappingValueNode:
		return "a mapping"
	case *ast.IntegerNode, *ast.FloatNode, *ast.InfinityNode, *ast.NanNode:
		return "a number"
	case *ast.BoolNode:
		return "true or false"
	}
	return "something else"
}

// lineOf is the line in the file: the front matter begins on its second.
func lineOf(n ast.Node) int { return tokenLine(n.GetToken()) }

func tokenLine(t *token.Token) int {
	if t == nil || t.Position == nil {
		return 1
	}
	return t.Position.Line + 1
}

// yamlError takes line and message out of the reader's error, which also draws the
// source.
func yamlError(err error) (int, string) {
	var e yaml.Error
	if errors.As(err, &e) {
		return tokenLine(e.GetToken()), "the front matter is no YAML: " + clip(e.GetMessage())
	}
	return 1, clip(err.Error())
}
