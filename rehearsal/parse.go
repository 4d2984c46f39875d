package rehearsal

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/internal/yamldoc"
)

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
	sc := &Scenario{file: name, vars: map[string]string{}, files: map[string]string{}, groups: map[string]bool{}}
	sc.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	readFields(root, "a scenario (a mapping)", readers{
		"name": to(&sc.Name, yamldoc.Value.Text), "title": to(&sc.Title, yamldoc.Value.Text),
		"description": to(&sc.Description, yamldoc.Value.Text), "allow": to(&sc.allow, yamldoc.Value.Texts),
		"vars": to(&sc.vars, func(v yamldoc.Value) map[string]string { return readTexts(v, "a mapping of texts") }),
		"files": func(v yamldoc.Value) {
			for _, f := range v.Fields("a mapping of paths to texts") {
				if !filepath.IsLocal(f.Key) || f.Key == "." {
					f.Errorf("%q is not a path inside the workspace", f.Key)
				}
				sc.files[f.Key] = f.Text()
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

func readTexts(v yamldoc.Value, what string) map[string]string {
	texts := map[string]string{}
	for _, f := range v.Fields(what) {
		texts[f.Key] = f.Text()
	}
	return texts
}

func readHeaders(v yamldoc.Value) map[string]string { return readTexts(v, "a mapping of texts") }

func (s *Scenario) readSteps(v yamldoc.Value) []*step {
	return readList(v, "a list of steps", s.readStep)
}

func (s *Scenario) readActor(v yamldoc.Value) *actor {
	a := &actor{line: v.Line(), match: match{role: RoleAny}}
	readFields(v, "an actor (a mapping)", readers{
		"name": to(&a.name, yamldoc.Value.Text), "match": to(&a.match, s.readMatch), "steps": to(&a.steps, s.readSteps),
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
		"expect": to(&st.expect, s.readExpectation), "think": to(&st.think, s.readTemplate), "say": to(&st.say, s.readTemplate),
		"use": to(&st.use, func(v yamldoc.Value) []toolUse { return readList(v, "a list of tool calls", s.readToolUse) }),
		"verdict": func(v yamldoc.Value) {
			verdict = []toolUse{{tool: structuredOutput, input: s.readObject(v)}}
		},
		"usage": to(&st.usage, s.readUsage), "stop_reason": to(&st.stopReason, yamldoc.Value.Text),
		"delay": to(&st.delay, yamldoc.Value.Duration), "pause": to(&st.pause, yamldoc.Value.Duration),
		"chunk_delay": to(&st.chunkDelay, yamldoc.Value.Duration), "repeat": to(&st.repeat, readCount),
		"headers": to(&st.headers, readHeaders), "fault": to(&st.fault, s.readFault),
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
	var u usage
	readFields(v, "a mapping", readers{"context": to(&u.context, s.readAmount), "input": to(&u.input, s.readAmount),
		"cache_read": to(&u.cacheRead, s.readAmount), "cache_creation": to(&u.cacheCreation, s.readAmount),
		"output": to(&u.output, s.readAmount)})
	if u.context != nil && (u.input != nil || u.cacheRead != nil || u.cacheCreation != nil) {
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
		"headers": to(&ft.headers, readHeaders), "stall": to(&ft.stall, yamldoc.Value.Duration),
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
