package agents

import (
	"errors"
	"strings"
	"testing"
)

func TestBuiltin(t *testing.T) {
	list := List()
	if got := strings.Join(Names(list), " "); got != "developer planner reviewer tester" {
		t.Errorf("names: %s", got)
	}
	for _, a := range list {
		src, err := files.ReadFile("builtin/" + a.Name + ".md")
		if err != nil {
			t.Fatal(err)
		}
		if _, problems := read(a.Name+".md", src); len(problems) > 0 {
			t.Errorf("%v", problems)
		}
		// What every agent needs to know: how it ends, and what to do when it cannot continue.
		for _, part := range []string{"\nEnd ", "(`kind: question`) with", "exact error"} {
			if !strings.Contains(a.Prompt, part) {
				t.Errorf("%s does not say %q", a.Name, part)
			}
		}
		writes := a.Name == "developer" || a.Name == "tester"
		for _, tool := range []string{"Edit", "Write", "NotebookEdit", "MultiEdit"} {
			call, input := use(t, tool+" /w/a")
			if ok, _, why := a.Allows("/w", "", call, input); ok != writes {
				t.Errorf("%s may %s: %v %s", a.Name, tool, ok, why)
			}
		}
		if a.Source != BuiltinSource {
			t.Errorf("%s is from %q", a.Name, a.Source)
		}
	}
}

func TestLookup(t *testing.T) {
	list := []Agent{{Name: "b", Source: "1"}, {Name: "a"}, {Name: "b", Source: "2"}}
	if got := strings.Join(Names(list), " "); got != "b a b" {
		t.Errorf("names: %s", got)
	}
	if a, ok := Lookup(list, "b"); !ok || a.Source != "1" {
		t.Errorf("%+v, %v", a, ok)
	}
	if a, ok := Lookup(nil, "b"); ok {
		t.Errorf("%+v", a)
	}
}

func TestParse(t *testing.T) {
	a, err := parse("x.md", []byte("---\nname: x\ndescription: d\ncolor: red\n---\nDo it.\n"))
	if err != nil || a.Name != "x" || a.Source != "x.md" {
		t.Errorf("a warning is not an error: %+v, %v", a, err)
	}
	a, err = parse("x.md", []byte("---\nname: x\nmaxTurns: 0\n---\nDo it.\n"))
	var p Problem
	if !errors.As(err, &p) || p.Field != "description" || a.Name != "" {
		t.Errorf("%+v, %v", a, err)
	}
	if lines := strings.Split(err.Error(), "\n"); len(lines) != 2 ||
		!strings.HasPrefix(lines[1], "x.md:3: maxTurns: ") {
		t.Errorf("%v", err)
	}
}
