package agents

import (
	"embed"
	"slices"
	"strings"
	"sync"
	"time"
)

// Agent is one mode. It is a plain value that is stored with the run.
type Agent struct {
	Name            string
	DisplayName     string   `json:",omitempty"` // empty: the name
	Description     string   // when to use it
	Tools           []string `json:",omitempty"` // names and rules; nil: all
	DisallowedTools []string `json:",omitempty"`
	Model           string   `json:",omitempty"` // empty or inherit: the run's
	Effort          string   `json:",omitempty"`
	Make            string   `json:",omitempty"` // of agent; empty: Claude
	Prompt          string   // the Markdown body
	Limits          Limits   `json:",omitzero"`
	Source          string   `json:",omitempty"` // built-in, or the file's path
}

// Limits bound one agent of a mode; zero: no limits of its own.
type Limits struct {
	MaxTurns   int           `json:",omitempty"` // messages it answers before it has to hand off
	MaxCostUSD float64       `json:",omitempty"`
	Timeout    time.Duration `json:",omitempty"` // from its summon until it has to hand off
}

// BuiltinSource is the Source of the built-in agents.
const BuiltinSource = "built-in"

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
		a, problems := read(e.Name(), src)
		if Broken(problems) {
			panic(problems) // a test reads them all
		}
		a.Source = BuiltinSource
		list = append(list, a)
	}
	sortByName(list)
	return list
})

// List returns the built-in agents, sorted by name.
func List() []Agent { return slices.Clone(builtin()) }

// Lookup returns the agent of that name from a list.
func Lookup(list []Agent, name string) (Agent, bool) {
	i := slices.IndexFunc(list, func(a Agent) bool { return a.Name == name })
	if i < 0 {
		return Agent{}, false
	}
	return list[i], true
}

func sortByName(list []Agent) {
	slices.SortFunc(list, func(a, b Agent) int { return strings.Compare(a.Name, b.Name) })
}

// Names are the names of a list of agents, in its order.
func Names(list []Agent) []string {
	var names []string
	for _, a := range list {
		names = append(names, a.Name)
	}
	return names
}
