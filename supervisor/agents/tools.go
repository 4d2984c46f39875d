package agents

import (
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/yamldoc"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// maxTools bounds a list of tools.
const maxTools = 200

// toolList reads tools in both forms that Claude Code accepts, a list and a text with commas. all says that the
// list is *.
func (r *reader) toolList(line int, field string, v yamldoc.Value) (list []string, all bool) {
	type item struct {
		text string
		line int
	}
	var items []item
	switch v.Kind() {
	case yamldoc.Nothing:
		return nil, false
	case yamldoc.Text:
		text(field, func(r *reader, line int, text string) {
			for _, part := range policy.SplitRules(text) {
				items = append(items, item{part, line})
			}
			if len(items) == 0 {
				r.problem(line, field, "names no tool; leave the field out if none is meant")
			}
		})(r, line, v)
	case yamldoc.List:
		entries := v.Items("a list")
		if len(entries) == 0 {
			r.problem(line, field, "names no tool; leave the field out if none is meant")
		}
		for _, x := range entries {
			if x.Kind() != yamldoc.Text {
				r.problem(x.Line(), field, "want tools' names, not %s", x.Kind())
				continue
			}
			items = append(items, item{strings.TrimSpace(x.Text()), x.Line()})
		}
	default:
		r.problem(line, field, "want tools' names, as a list or with commas between them, not %s", v.Kind())
		return nil, false
	}
	if len(items) > maxTools {
		r.problem(line, field, "names %d tools, at most %d are allowed", len(items), maxTools)
		return nil, false
	}
	for _, it := range items {
		if it.text == "*" {
			all = true
			continue
		}
		r.checkTool(it.line, field, it.text)
		list = append(list, it.text)
	}
	return list, all
}

// checkTool checks one entry against the syntax of permission rules.
func (r *reader) checkTool(line int, field, text string) {
	if strings.ContainsFunc(text, isControl) {
		r.problem(line, field, "%s: one entry has one line", clip(text))
		return
	}
	rule, err := policy.ParseRule(text)
	switch {
	case err != nil:
		r.problem(line, field, "%v", err)
	case bridge.StartsSubagent(rule.Tool()) && strings.Contains(text, ","):
		r.problem(line, field, "%s: name each type of subagent in an entry of its own", clip(text))
	case !rule.Known():
		r.warn(line, field, "%s is not a known tool; those of an MCP server are called mcp__server__tool",
			clip(rule.Tool()))
	}
}
