package view

// This file is a one-minute introduction to the screen: some steps, each with a title and a few sentences,
// with keys from the table of keys.

import (
	"cmp"
	"regexp"
	"slices"
	"sync"

	"github.com/arbiter-cli/arbiter/tui/keys"
)

// TourStep is one card of the tour.
type TourStep struct{ Title, Text string }

// tourTexts are the steps; braces hold an action whose key is meant, with its context if that is not everywhere.
var tourTexts = []TourStep{
	{"Begin",
		`Write what is to be done, and press Enter. The Arbiter plans it, and summons Orchestrators that do the work.

Alt+Enter begins a new line, @ completes a file, {writing: editor} opens your editor. A line that begins with ! runs
in your shell.`},

	{"Watch",
		`The screen shows the agents, the plan and the conversation. {focus} shows the Arbiter in detail, Alt+1 to
Alt+9 an Orchestrator.

{logbook} lists all events, {plan} shows the whole plan, {changes} the files that the run has changed.`},

	{"Answer", `When the run needs you, the status line says so, and the bell rings. {inbox} lists what waits:
questions, permission requests, choices. Digits answer.

{permission mode} changes what is asked for. {halt} stops every agent at once.`},

	{"Speak", `You can write at any time. A message waits until its reader has finished a turn; {strength}
delivers it at once, or stops the turn.

@orch-1 at the beginning addresses one Orchestrator.`},

	{"Read", `{writing: read} gives the keyboard to the conversation, {reading: write} gives it back. {reading: down}
and {reading: up} scroll, {reading: search} searches, {reading: fold} folds.

Each page names its keys in its last row. {help} lists all of them, and {palette} finds a command by a few letters.`},

	{"Leave", `{writing: detach} on an empty input leaves, and the run continues; arbiter in the same directory shows
it again. {leave} asks whether to stop it.

arbiter --resume continues a run that was stopped. /tour shows this again.`},
}

var (
	keyMeant = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\{(?:(\w+): )?([^}]+)\}`) })
	oneLine  = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`(\S)\n(\S)`) })
)

// TourSteps returns the steps of the tour. The screen wraps their lines.
func TourSteps() []TourStep {
	steps := slices.Clone(tourTexts)
	for i := range steps {
		text := keyMeant().ReplaceAllStringFunc(steps[i].Text, func(braces string) string {
			found := keyMeant().FindStringSubmatch(braces)
			return keys.KeyOf(cmp.Or(keys.Context(found[1]), keys.Everywhere), keys.Action(found[2]))
		})
		steps[i].Text = oneLine().ReplaceAllString(text, "$1 $2")
	}
	return steps
}
