package agents

import (
	"cmp"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

// field is a field of the front matter that Arbiter uses.
type field struct {
	name string
	read func(r *reader, line int, v yamldoc.Value)
}

// fields are read in this order, whatever the order in the file.
var fields = []field{
	{"name", text("name", (*reader).name)},
	{"description", text("description", (*reader).description)},
	{"displayName", text("displayName", (*reader).displayName)},
	{"tools", (*reader).tools},
	{"disallowedTools", (*reader).disallowedTools},
	{"model", text("model", (*reader).model)},
	{"effort", text("effort", (*reader).effort)},
	{"make", text("make", (*reader).makeOf)},
	{"maxTurns", (*reader).maxTurns},
	{"maxCost", (*reader).maxCost},
	{"timeout", (*reader).timeout},
}

// unused are fields of Claude Code that have no effect here, and why.
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

// fields reads the values, and reports those that are missing, given twice, or not known.
func (r *reader) fields(list []yamldoc.Field) {
	given := map[string]yamldoc.Field{}
	for _, f := range list {
		given[f.Key] = f
	}
	for _, f := range fields {
		v, ok := given[f.name]
		if !ok {
			continue
		}
		delete(given, f.name)
		// Refused rather than expanded: no agent file needs this, and expansion can become arbitrarily large.
		if line, yes := v.Indirect(); yes {
			r.problem(line, f.name, "anchors, aliases and tags are not read: write the value out")
			continue
		}
		f.read(r, v.KeyLine, v.Value)
	}
	for _, name := range []string{"name", "description"} {
		if !slices.ContainsFunc(list, func(f yamldoc.Field) bool { return f.Key == name }) {
			r.problem(1, name, "missing; every agent has one")
		}
	}
	r.others(given)
}

// others reports the fields that have no effect.
func (r *reader) others(given map[string]yamldoc.Field) {
	for name, f := range given {
		line := f.KeyLine
		why, known := unused[name]
		switch near := nearest(name); {
		case known && why != "":
			r.warn(line, name, "not used by arbiter: %s", why)
		case known:
			r.warn(line, name, "not used by arbiter")
		case near != "":
			r.problem(line, clip(name), "no such field: write %s", near)
		default:
			r.warn(line, clip(name), "unknown field: neither arbiter nor Claude Code has one of this name")
		}
	}
	slices.SortStableFunc(r.problems, func(a, b Problem) int {
		return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Field, b.Field))
	})
}

// nearest is the field that was probably meant by a name such as disallowed-tools or Max_Turns. This is an
// error and not a warning: otherwise a tool that should be denied would be allowed.
func nearest(name string) string {
	plain := func(s string) string {
		return strings.ToLower(strings.NewReplacer("-", "", "_", "", " ", "").Replace(s))
	}
	aliases := map[string]string{"allowedtools": "tools", "deniedtools": "disallowedTools", "tool": "tools",
		"disallowedtool": "disallowedTools"}
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

// text is how a field is read whose value must be text.
func text(field string, read func(r *reader, line int, text string)) func(*reader, int, yamldoc.Value) {
	return func(r *reader, line int, v yamldoc.Value) {
		switch kind := v.Kind(); {
		case kind != yamldoc.Text && kind != yamldoc.Nothing:
			r.problem(line, field, "want text, not %s; put it into quotes if it is", kind)
		case kind == yamldoc.Nothing || strings.TrimSpace(v.Text()) == "":
			r.problem(line, field, "empty")
		default:
			read(r, line, v.Text())
		}
	}
}

func (r *reader) name(line int, name string) {
	r.agent.Name = name
	r.checkName(line, name)
}

func (r *reader) description(line int, text string) {
	// The CLI reads \n in the text as a new line, quoted or not (2.1.329).
	r.agent.Description = strings.TrimSpace(strings.ReplaceAll(text, `\n`, "\n"))
	r.hidden(text, line, "description")
}

// displayName is the name that people read. Claude Code does not know it.
func (r *reader) displayName(line int, text string) {
	text = strings.TrimSpace(text)
	if strings.ContainsRune(text, '\n') || len(text) > maxDisplayName {
		r.problem(line, "displayName", "it is one line of at most %d bytes", maxDisplayName)
		return
	}
	r.agent.DisplayName = text
	r.hidden(text, line, "displayName")
}

const maxDisplayName = 100

func (r *reader) tools(line int, v yamldoc.Value) {
	list, all := r.toolList(line, "tools", v)
	if !all {
		r.agent.Tools = list
	}
}

func (r *reader) disallowedTools(line int, v yamldoc.Value) {
	list, all := r.toolList(line, "disallowedTools", v)
	if all {
		r.problem(line, "disallowedTools", "an agent without any tool cannot work: name the tools")
	}
	r.agent.DisallowedTools = list
}

// Names of models that mean the newest model of a family.
var families = []string{"inherit", "sonnet", "opus", "haiku", "opusplan", "best", "default", "fable"}

func (r *reader) model(line int, model string) {
	plain, _, _ := strings.Cut(model, "[") // sonnet[1m]
	switch {
	case len(model) > 256 || strings.HasPrefix(model, "-") || strings.ContainsFunc(model, func(c rune) bool {
		return c <= ' ' || c > '~'
	}):
		r.problem(line, "model", "%s is not the name of a model: use sonnet, opus, haiku, inherit or a full id",
			clip(model))
		return
	case !slices.Contains(families, plain) && !strings.ContainsAny(plain, "-.:/"):
		r.warn(line, "model", "%s is not a known model: use sonnet, opus, haiku, inherit or a full id",
			clip(model))
	}
	r.agent.Model = model
}

var efforts = []string{"low", "medium", "high", "xhigh", "max"}

func (r *reader) effort(line int, effort string) {
	if !slices.Contains(efforts, effort) {
		r.problem(line, "effort", "%s is not an effort level: use %s", clip(effort), strings.Join(efforts, ", "))
		return
	}
	r.agent.Effort = effort
}

// makeOf is the make of agent. Whether one of that name is configured shows when it is summoned.
func (r *reader) makeOf(line int, name string) {
	if strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789-_.") != "" ||
		len(name) > maxMake {
		r.problem(line, "make", "%s is not the name of a make: use small letters, digits and . _ -", clip(name))
		return
	}
	r.agent.Make = name
}

const maxMake = 40

func (r *reader) maxTurns(line int, v yamldoc.Value) {
	n, err := strconv.Atoi(scalar(v))
	if err != nil || n < 1 || n > 1_000_000 {
		r.problem(line, "maxTurns", "want a number of turns, 1 or more, not %s", clip(scalar(v)))
		return
	}
	r.agent.Limits.MaxTurns = n
}

func (r *reader) maxCost(line int, v yamldoc.Value) {
	usd, err := strconv.ParseFloat(scalar(v), 64)
	if err != nil || !(usd > 0) || math.IsInf(usd, 0) {
		r.problem(line, "maxCost", "want US dollars, more than 0, such as 2.5, not %s", clip(scalar(v)))
		return
	}
	r.agent.Limits.MaxCostUSD = usd
}

func (r *reader) timeout(line int, v yamldoc.Value) {
	d, err := time.ParseDuration(scalar(v))
	if err != nil || d <= 0 {
		r.problem(line, "timeout", "want a time such as 90s, 45m or 2h, not %s", clip(scalar(v)))
		return
	}
	r.agent.Limits.Timeout = d
}

// scalar is a number or a text as it was written.
func scalar(v yamldoc.Value) string {
	if v.Kind() == yamldoc.Text || v.Kind() == yamldoc.Number {
		if text, ok := v.Scalar(); ok {
			return text
		}
	}
	return string(v.Kind())
}
