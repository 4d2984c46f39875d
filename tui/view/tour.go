package view

// This file is a one-minute introduction to the screen: some steps, each with a title and a few sentences,
// with keys from the table of keys.

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/keys"
)

// TourStep is one card of the tour.
type TourStep struct{ Title, Text string }

// place is an action and the context in which its key is pressed.
type place struct {
	context keys.Context
	action  keys.Action
}

// named maps the words in the texts to their keys.
var named = map[string]place{
	"EDITOR": {keys.Insert, keys.Editor}, "PALETTE": {keys.Everywhere, keys.OpenPalette},
	"HELP": {keys.Everywhere, keys.OpenHelp}, "INBOX": {keys.Everywhere, keys.OpenInbox},
	"MODE": {keys.Everywhere, keys.CycleGrants}, "STRENGTH": {keys.Everywhere, keys.Strength},
	"READ": {keys.Insert, keys.Read}, "WRITE": {keys.Normal, keys.Write}, "DOWN": {keys.Normal, keys.Down},
	"UP": {keys.Normal, keys.Up}, "SEARCH": {keys.Normal, keys.Search}, "FOLD": {keys.Normal, keys.Fold},
	"LOGBOOK": {keys.Everywhere, keys.OpenLogbook}, "PLAN": {keys.Everywhere, keys.OpenPlan},
	"CHANGES": {keys.Everywhere, keys.OpenChanges}, "DETACH": {keys.Insert, keys.Detach},
	"LEAVE": {keys.Everywhere, keys.Leave}, "HALT": {keys.Everywhere, keys.Halt}, "LOOK": {keys.Everywhere,
		keys.OpenFocus},
}

// tourTexts are the steps; a word in braces stands for a key.
var tourTexts = []TourStep{
	{"Begin",
		`Write what is to be done, and press Enter. The Arbiter plans it, and summons Orchestrators that do the work.

Alt+Enter begins a new line, @ completes a file, {EDITOR} opens your editor. A line that begins with ! runs
in your shell.`},

	{"Watch",
		`The screen shows the agents, the plan and the conversation. {LOOK} shows the Arbiter in detail, Alt+1 to
Alt+9 an Orchestrator.

{LOGBOOK} lists all events, {PLAN} shows the whole plan, {CHANGES} the files that the run has changed.`},

	{"Answer", `When the run needs you, the status line says so, and the bell rings. {INBOX} lists what waits:
questions, permission requests, choices. Digits answer.

{MODE} changes what is asked for. {HALT} stops every agent at once.`},

	{"Speak", `You can write at any time. A message waits until its reader has finished a turn; {STRENGTH}
delivers it at once, or stops the turn.

@orch-1 at the beginning addresses one Orchestrator.`},

	{"Read", `{READ} gives the keyboard to the conversation, {WRITE} gives it back. {DOWN} and {UP} scroll, {SEARCH}
searches, {FOLD} folds.

Each page names its keys in its last row. {HELP} lists all of them, and {PALETTE} finds a command by a few letters.`},

	{"Leave", `{DETACH} on an empty input leaves, and the run continues; arbiter in the same directory shows it again.
{LEAVE} asks whether to stop it.

arbiter --resume continues a run that was stopped. /tour shows this again.`},
}

// TourSteps returns the steps of the tour.
func TourSteps() []TourStep {
	var pairs []string
	for word, p := range named {
		pairs = append(pairs, "{"+word+"}", keys.KeyOf(p.context, p.action))
	}
	fill := strings.NewReplacer(pairs...)
	steps := make([]TourStep, 0, len(tourTexts))
	for _, s := range tourTexts {
		paragraphs := strings.Split(fill.Replace(s.Text), "\n\n")
		for i, p := range paragraphs {
			paragraphs[i] = strings.ReplaceAll(p, "\n", " ") // the screen wraps it
		}
		steps = append(steps, TourStep{s.Title, strings.Join(paragraphs, "\n\n")})
	}
	return steps
}
