// Package prompts holds the prompts of agents and of deciders: text templates embedded in the binary.
// Users can override those of deciders ([Set]); such a template can neither hang nor read anything.
// The package is pure.
package prompts

import (
	"embed"
	"strings"
	"sync"
	"text/template"
)

//go:embed text/*.md
var files embed.FS

// templates are the agents' roles. They cannot be overridden, because they contain the protocol. They are
// parsed when the first one is needed.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(files, "text/arbiter.md",
		"text/orchestrator.md", "text/reminder.md"))
})

// Mode is a line of the list of modes.
type Mode struct{ Name, Description string }

// Arbiter fills in the Arbiter's system prompt.
type Arbiter struct {
	CWD              string
	Delimiter        string // marks the envelopes of this run
	Modes            []Mode
	MaxOrchestrators int
	Decider          string // who decides in its place, in words; empty: the Arbiter itself
	Isolated         bool   // Orchestrators have their own directories, and CWD contains the merged files
	Rehearsal        bool
}

// Orchestrator fills in what is appended to Claude Code's own system prompt.
type Orchestrator struct {
	ID, Name   string
	CWD        string
	Delimiter  string
	Mode       string // its name, empty for none
	ModePrompt string
	Isolated   bool // CWD is its own
	Rehearsal  bool
}

// Reminder fills in what an agent reads again after a compaction.
type Reminder struct {
	Arbiter   bool
	ID, Name  string
	Delimiter string
	Task      string // the Arbiter's
	Roll      string // the living agents, for the Arbiter
	Brief     string // an Orchestrator's
	Plan      string
}

// Text renders the reminder.
func (r Reminder) Text() string { return render("reminder.md", r) }

// Text renders the prompt.
func (a Arbiter) Text() string { return render("arbiter.md", a) }

// Text renders the prompt.
func (o Orchestrator) Text() string { return render("orchestrator.md", o) }

func render(name string, data any) string {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // embedded templates over our own types; a test renders them all
	}
	return strings.TrimSpace(b.String()) + "\n"
}
