package agents

import (
	"strings"
	"testing"
)

func TestBuiltin(t *testing.T) {
	if got := strings.Join(Names(), " "); got != "developer planner reviewer tester" {
		t.Errorf("names: %s", got)
	}
	for _, a := range List() {
		if a.Prompt == "" {
			t.Errorf("%s has no prompt", a.Name)
		}
	}
	for _, name := range []string{"planner", "reviewer"} {
		a, ok := Find(name)
		if !ok || !strings.Contains(strings.Join(a.DisallowedTools, " "), "Write") {
			t.Errorf("%s may write: %v", name, a.DisallowedTools)
		}
	}
}

func TestParse(t *testing.T) {
	a, err := Parse("x.md", []byte("---\r\nname: x\r\ndescription: d\r\ntools: [Read, Bash]\r\ncolor: red\r\n---\r\nDo it.\r\n"))
	if err != nil || strings.Join(a.Tools, " ") != "Read Bash" || a.Prompt != "Do it." {
		t.Errorf("%+v, %v", a, err)
	}
	for src, want := range map[string]string{
		"name: x":             "front matter",
		"---\nname: x\n":      "not closed",
		"---\nname: [\n---\n": "x.md",
		"---\nname: x\n---\n": "description",
		"---\nname: x\ndescription: d\ntools: 3\n---\n":   "tools",
		"---\nname: x\ndescription: d\ntools: [3]\n---\n": "tools",
	} {
		if _, err := Parse("x.md", []byte(src)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", src, err, want)
		}
	}
}
