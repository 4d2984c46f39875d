package decider

// This part of the package holds the prompts of agents and of deciders: text templates embedded in the
// binary. Users can override those of deciders ([PromptSet]); such a template can neither hang nor read
// anything. The package is pure.

import (
	"embed"
	"strings"
	"sync"
	"text/template"
)

//go:embed text/*.md
var promptFiles embed.FS

// templates are the agents' roles. They cannot be overridden, because they contain the protocol. They are
// parsed when the first one is needed.
var templates = sync.OnceValue(func() *template.Template {
	return template.Must(template.New("").Option("missingkey=error").ParseFS(promptFiles, "text/arbiter.md",
		"text/orchestrator.md", "text/reminder.md"))
})

// PromptMode is a line of the list of modes.
type PromptMode struct{ Name, Description string }

// ArbiterPrompt fills in the Arbiter's system prompt.
type ArbiterPrompt struct {
	CWD              string
	Delimiter        string // marks the envelopes of this run
	Modes            []PromptMode
	MaxOrchestrators int
	Decider          string // who decides in its place, in words; empty: the Arbiter itself
	Isolated         bool   // Orchestrators have their own directories, and CWD contains the merged files
	Rehearsal        bool
}

// OrchestratorPrompt fills in what is appended to Claude Code's own system prompt.
type OrchestratorPrompt struct {
	ID, Name   string
	CWD        string
	Delimiter  string
	Mode       string // its name, empty for none
	ModePrompt string
	Isolated   bool // CWD is its own
	Rehearsal  bool
}

// ReminderPrompt fills in what an agent reads again after a compaction.
type ReminderPrompt struct {
	Arbiter   bool
	ID, Name  string
	Delimiter string
	Task      string // the Arbiter's
	Roll      string // the living agents, for the Arbiter
	Brief     string // an Orchestrator's
	Plan      string
}

// Text renders the reminder.
func (r ReminderPrompt) Text() string { return render("reminder.md", r) }

// Text renders the prompt.
func (a ArbiterPrompt) Text() string { return render("arbiter.md", a) }

// Text renders the prompt.
func (o OrchestratorPrompt) Text() string { return render("orchestrator.md", o) }

func render(name string, data any) string {
	var b strings.Builder
	if err := templates().ExecuteTemplate(&b, name, data); err != nil {
		panic(err) // embedded templates over our own types; a test renders them all
	}
	return strings.TrimSpace(b.String()) + "\n"
}
