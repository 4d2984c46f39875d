// Package agents knows the modes an Orchestrator can be summoned under: Markdown
// files with YAML front matter, in the form of Claude Code's own agent files. It
// holds no state; the built-in ones are read once.
package agents

import (
	"embed"
	"fmt"
	"sort"
	"strings"
	"sync"

	"github.com/goccy/go-yaml"
)

// Agent is one mode.
type Agent struct {
	Name            string
	Description     string // when to use it
	Tools           []string
	DisallowedTools []string
	Model           string
	Prompt          string // the Markdown body
}

//go:embed builtin/*.md
var files embed.FS

var builtin = sync.OnceValue(func() []Agent {
	entries, err := files.ReadDir("builtin")
	if err != nil {
		panic(err) // embedded: cannot fail
	}
	var list []Agent
	for _, e := range entries {
		src, err := files.ReadFile("builtin/" + e.Name())
		if err != nil {
			panic(err)
		}
		a, err := Parse(e.Name(), src)
		if err != nil {
			panic(err) // a test reads them all
		}
		list = append(list, a)
	}
	sort.Slice(list, func(i, j int) bool { return list[i].Name < list[j].Name })
	return list
})

// List returns the modes, sorted by name.
func List() []Agent { return builtin() }

// Names returns their names, sorted.
func Names() []string {
	var names []string
	for _, a := range builtin() {
		names = append(names, a.Name)
	}
	return names
}

// Find returns the mode of that name.
func Find(name string) (Agent, bool) {
	for _, a := range builtin() {
		if a.Name == name {
			return a, true
		}
	}
	return Agent{}, false
}

// Parse reads one agent file. Errors name the file and, where the YAML reader
// knows them, line and field. Unknown fields are left alone: Claude Code adds some
// with each release.
func Parse(file string, src []byte) (Agent, error) {
	text := strings.ReplaceAll(string(src), "\r\n", "\n")
	rest, ok := strings.CutPrefix(text, "---\n")
	if !ok {
		return Agent{}, fmt.Errorf("%s:1: no front matter: the file must begin with ---", file)
	}
	front, body, ok := strings.Cut(rest, "\n---\n")
	if !ok {
		return Agent{}, fmt.Errorf("%s: front matter is not closed by ---", file)
	}
	var head struct {
		Name            string `yaml:"name"`
		Description     string `yaml:"description"`
		Tools           any    `yaml:"tools"`
		DisallowedTools any    `yaml:"disallowedTools"`
		Model           string `yaml:"model"`
	}
	if err := yaml.Unmarshal([]byte(front), &head); err != nil {
		return Agent{}, fmt.Errorf("%s: %w", file, err)
	}
	a := Agent{Name: head.Name, Description: head.Description, Model: head.Model, Prompt: strings.TrimSpace(body)}
	if a.Name == "" || a.Description == "" {
		return Agent{}, fmt.Errorf("%s: name and description are required", file)
	}
	var err error
	if a.Tools, err = toolList(head.Tools); err != nil {
		return Agent{}, fmt.Errorf("%s: tools: %w", file, err)
	}
	if a.DisallowedTools, err = toolList(head.DisallowedTools); err != nil {
		return Agent{}, fmt.Errorf("%s: disallowedTools: %w", file, err)
	}
	return a, nil
}

// toolList accepts both spellings Claude Code does: a list, or names with commas.
func toolList(v any) ([]string, error) {
	switch v := v.(type) {
	case nil:
		return nil, nil
	case string:
		var list []string
		for _, name := range strings.Split(v, ",") {
			if name = strings.TrimSpace(name); name != "" {
				list = append(list, name)
			}
		}
		return list, nil
	case []any:
		var list []string
		for _, x := range v {
			name, ok := x.(string)
			if !ok {
				return nil, fmt.Errorf("want tool names, have %T", x)
			}
			list = append(list, name)
		}
		return list, nil
	}
	return nil, fmt.Errorf("want a list of tool names, have %T", v)
}
