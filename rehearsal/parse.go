package rehearsal

import (
	"path/filepath"
	"slices"
	"strings"

	"github.com/goccy/go-yaml/ast"
)

// Parse reads a scenario. It is strict: every unknown field, wrong type, bad
// regular expression, bad template and unknown template name is reported, each
// as `file:line: field: what`, all of them joined in one error.
func Parse(name string, src []byte) (*Scenario, error) {
	doc, root, err := parseYAML(name, src)
	if err != nil {
		return nil, err
	}
	sc := &Scenario{file: name, vars: map[string]string{}}
	sc.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	for _, f := range root.fields("a scenario (a mapping)") {
		switch f.key {
		case "name":
			sc.Name = f.text()
		case "title":
			sc.Title = f.text()
		case "description":
			sc.Description = f.text()
		case "allow":
			sc.allow = f.texts()
		case "vars":
			for _, v := range f.fields("a mapping of texts") {
				sc.vars[v.key] = v.text()
			}
		case "actors":
			for _, it := range f.items("a list of actors") {
				sc.actors = append(sc.actors, it.actor())
			}
		default:
			f.unknown()
		}
	}
	if len(sc.actors) == 0 && doc.err() == nil {
		root.errorf("a scenario needs actors")
	}
	if doc.err() == nil {
		sc.checkNames(doc)
	}
	if err := doc.err(); err != nil {
		return nil, err
	}
	return sc, nil
}

func (c cursor) actor() *actor {
	a := &actor{line: c.line(), match: match{role: RoleAny}}
	for _, f := range c.fields("an actor (a mapping)") {
		switch f.key {
		case "name":
			a.name = f.text()
		case "match":
			a.match = f.match()
		case "steps":
			for _, it := range f.items("a list of steps") {
				a.steps = append(a.steps, it.step())
			}
		case "otherwise":
			a.otherwise = f.otherwise()
		default:
			f.unknown()
		}
	}
	if a.name == "" {
		c.errorf("an actor needs a name")
	}
	if len(a.steps) == 0 && len(a.otherwise) == 0 {
		c.errorf("an actor needs steps")
	}
	return a
}

// otherwise is one step, or a list of them.
func (c cursor) otherwise() []*step {
	cursors := []cursor{c}
	if _, ok := c.value().(*ast.SequenceNode); ok {
		cursors = c.items("a list of steps")
	}
	var steps []*step
	for _, it := range cursors {
		st := it.step()
		if st.repeat != 1 {
			it.errorf("repeat has no meaning here: it is played as often as needed")
		}
		steps = append(steps, st)
	}
	return steps
}

func (c cursor) match() match {
	m := match{role: RoleAny}
	for _, f := range c.fields("a mapping") {
		switch f.key {
		case "role":
			m.role = Role(f.text())
			if !slices.Contains(roles, m.role) {
				f.errorf("want one of %v, found %q", roles, m.role)
			}
		case "contains":
			m.contains = f.pattern()
		case "model":
			m.model = f.pattern()
		case "nth":
			m.nth = f.integer(1)
		default:
			f.unknown()
		}
	}
	return m
}

func (c cursor) step() *step {
	st := &step{line: c.line(), repeat: 1}
	for _, f := range c.fields("a step (a mapping)") {
		switch f.key {
		case "expect":
			st.expect = f.pattern()
		case "think":
			st.think = f.template()
		case "say":
			st.say = f.template()
		case "use":
			for _, it := range f.items("a list of tool calls") {
				st.use = append(st.use, it.toolUse())
			}
		case "verdict":
			// Last, whatever the order in the file: StructuredOutput ends the turn.
			defer func() {
				st.use = append(st.use, toolUse{tool: structuredOutput, input: f.object()})
			}()
		case "usage":
			st.usage = f.usage()
		case "stop_reason":
			st.stopReason = f.text()
		case "delay":
			st.delay = f.duration()
		case "chunk_delay":
			st.chunkDelay = f.duration()
		case "repeat":
			st.repeat = f.count()
		case "fault":
			st.fault = f.fault()
		default:
			f.unknown()
		}
	}
	return st
}

func (c cursor) toolUse() toolUse {
	u := toolUse{input: map[string]tree{}}
	for _, f := range c.fields("a tool call (a mapping)") {
		switch f.key {
		case "tool":
			u.tool = f.text()
		case "input":
			u.input = f.object()
		default:
			f.unknown()
		}
	}
	if u.tool == "" {
		c.errorf("a tool call needs a tool")
	}
	return u
}

func (c cursor) usage() usage {
	var u usage
	for _, f := range c.fields("a mapping") {
		switch f.key {
		case "context":
			u.context = f.amount()
		case "input":
			u.input = f.amount()
		case "cache_read":
			u.cacheRead = f.amount()
		case "cache_creation":
			u.cacheCreation = f.amount()
		case "output":
			u.output = f.amount()
		default:
			f.unknown()
		}
	}
	if u.context != nil && (u.input != nil || u.cacheRead != nil || u.cacheCreation != nil) {
		c.errorf("context is the sum of input, cache_read and cache_creation: give the one or the others")
	}
	return u
}

func (c cursor) fault() *fault {
	ft := &fault{}
	kinds := 0
	for _, f := range c.fields("a fault (a mapping)") {
		kinds++
		switch f.key {
		case "status":
			if ft.status = f.integer(400); ft.status > 599 {
				f.errorf("want an HTTP status from 400 to 599, found %d", ft.status)
			}
		case "error_type":
			kinds--
			ft.errorType = f.text()
		case "message":
			kinds--
			ft.message = f.template()
		case "headers":
			kinds--
			ft.headers = map[string]string{}
			for _, h := range f.fields("a mapping of texts") {
				ft.headers[h.key] = h.text()
			}
		case "stall":
			ft.stall = f.duration()
		case "stall_mid":
			ft.stallMid = f.duration()
		case "cut_after":
			ft.cutAfter = f.integer(1)
		case "garbage":
			ft.garbage = f.truth()
		case "error_event":
			ft.errorEvent = f.text()
		default:
			f.unknown()
		}
	}
	if kinds != 1 {
		c.errorf("a fault is one of status, stall, stall_mid, cut_after, garbage, error_event")
	}
	return ft
}
