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
	sc := &Scenario{file: name, vars: map[string]string{}, files: map[string]string{}}
	sc.Name = strings.TrimSuffix(filepath.Base(name), filepath.Ext(name))
	for _, f := range root.Fields("a scenario (a mapping)") {
		switch f.Key {
		case "name":
			sc.Name = f.Text()
		case "title":
			sc.Title = f.Text()
		case "description":
			sc.Description = f.Text()
		case "allow":
			sc.allow = f.Texts()
		case "vars":
			for _, v := range f.Fields("a mapping of texts") {
				sc.vars[v.Key] = v.Text()
			}
		case "files":
			for _, v := range f.Fields("a mapping of paths to texts") {
				if !filepath.IsLocal(v.Key) || v.Key == "." {
					v.Errorf("%q is not a path inside the workspace", v.Key)
				}
				sc.files[v.Key] = v.Text()
			}
		case "actors":
			for _, it := range f.Items("a list of actors") {
				sc.actors = append(sc.actors, readActor(it))
			}
		default:
			f.Unknown()
		}
	}
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

func readActor(v yamldoc.Value) *actor {
	a := &actor{line: v.Line(), match: match{role: RoleAny}}
	for _, f := range v.Fields("an actor (a mapping)") {
		switch f.Key {
		case "name":
			a.name = f.Text()
		case "match":
			a.match = readMatch(f.Value)
		case "steps":
			for _, it := range f.Items("a list of steps") {
				a.steps = append(a.steps, readStep(it))
			}
		case "otherwise":
			a.otherwise = readOtherwise(f.Value)
		default:
			f.Unknown()
		}
	}
	if a.name == "" {
		v.Errorf("an actor needs a name")
	}
	if len(a.steps) == 0 && len(a.otherwise) == 0 {
		v.Errorf("an actor needs steps")
	}
	return a
}

func readOtherwise(v yamldoc.Value) []*step {
	cursors := []yamldoc.Value{v}
	if v.Kind() == yamldoc.List {
		cursors = v.Items("a list of steps")
	}
	var steps []*step
	for _, it := range cursors {
		st := readStep(it)
		if st.repeat != 1 {
			it.Errorf("repeat has no meaning here: it is played as often as needed")
		}
		steps = append(steps, st)
	}
	return steps
}

func readMatch(v yamldoc.Value) match {
	m := match{role: RoleAny}
	for _, f := range v.Fields("a mapping") {
		switch f.Key {
		case "role":
			m.role = Role(f.Text())
			if !slices.Contains(roles, m.role) {
				f.Errorf("want one of %v, found %q", roles, m.role)
			}
		case "contains":
			m.contains = readPattern(f.Value)
		case "model":
			m.model = readPattern(f.Value)
		case "nth":
			m.nth = f.Integer(1)
		default:
			f.Unknown()
		}
	}
	return m
}

func readStep(v yamldoc.Value) *step {
	st := &step{line: v.Line(), repeat: 1}
	for _, f := range v.Fields("a step (a mapping)") {
		switch f.Key {
		case "expect":
			st.expect = readPattern(f.Value)
		case "think":
			st.think = readTemplate(f.Value)
		case "say":
			st.say = readTemplate(f.Value)
		case "use":
			for _, it := range f.Items("a list of tool calls") {
				st.use = append(st.use, readToolUse(it))
			}
		case "verdict":
			// This must be last, in any order of the file: StructuredOutput ends the turn.
			defer func() {
				st.use = append(st.use, toolUse{tool: structuredOutput, input: readObject(f.Value)})
			}()
		case "usage":
			st.usage = readUsage(f.Value)
		case "stop_reason":
			st.stopReason = f.Text()
		case "delay":
			st.delay = f.Duration()
		case "pause":
			st.pause = f.Duration()
		case "chunk_delay":
			st.chunkDelay = f.Duration()
		case "repeat":
			st.repeat = readCount(f.Value)
		case "headers":
			st.headers = readHeaders(f)
		case "fault":
			st.fault = readFault(f.Value)
		default:
			f.Unknown()
		}
	}
	return st
}

func readHeaders(v yamldoc.Field) map[string]string {
	headers := map[string]string{}
	for _, h := range v.Fields("a mapping of texts") {
		headers[h.Key] = h.Text()
	}
	return headers
}

func readToolUse(v yamldoc.Value) toolUse {
	u := toolUse{input: map[string]tree{}}
	for _, f := range v.Fields("a tool call (a mapping)") {
		switch f.Key {
		case "tool":
			u.tool = f.Text()
		case "input":
			u.input = readObject(f.Value)
		default:
			f.Unknown()
		}
	}
	if u.tool == "" {
		v.Errorf("a tool call needs a tool")
	}
	return u
}

func readUsage(v yamldoc.Value) usage {
	var u usage
	for _, f := range v.Fields("a mapping") {
		switch f.Key {
		case "context":
			u.context = readAmount(f.Value)
		case "input":
			u.input = readAmount(f.Value)
		case "cache_read":
			u.cacheRead = readAmount(f.Value)
		case "cache_creation":
			u.cacheCreation = readAmount(f.Value)
		case "output":
			u.output = readAmount(f.Value)
		default:
			f.Unknown()
		}
	}
	if u.context != nil && (u.input != nil || u.cacheRead != nil || u.cacheCreation != nil) {
		v.Errorf("context is the sum of input, cache_read and cache_creation: give the one or the others")
	}
	return u
}

func readFault(v yamldoc.Value) *fault {
	ft := &fault{}
	kinds := 0
	for _, f := range v.Fields("a fault (a mapping)") {
		kinds++
		switch f.Key {
		case "status":
			if ft.status = f.Integer(400); ft.status > 599 {
				f.Errorf("want an HTTP status from 400 to 599, found %d", ft.status)
			}
		case "error_type":
			kinds--
			ft.errorType = f.Text()
		case "message":
			kinds--
			ft.message = readTemplate(f.Value)
		case "headers":
			kinds--
			ft.headers = readHeaders(f)
		case "stall":
			ft.stall = f.Duration()
		case "stall_mid":
			ft.stallMid = f.Duration()
		case "cut_after":
			ft.cutAfter = f.Integer(1)
		case "garbage":
			ft.garbage = f.Bool()
		case "error_event":
			ft.errorEvent = f.Text()
		default:
			f.Unknown()
		}
	}
	if kinds != 1 {
		v.Errorf("a fault is one of status, stall, stall_mid, cut_after, garbage, error_event")
	}
	return ft
}
