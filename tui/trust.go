package tui

import (
	"context"
	"fmt"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// quit is the answer that leaves the program.
const quit = "quit"

// askTrust asks once, before a run begins, whether files of the workspace may be loaded. A person who is
// writing is not interrupted, and continues without them.
func (ds *dialogs) askTrust() {
	f := ds.d.session.found
	_, idle := ds.d.screen().(*homeScreen)
	if ds.trustAsked || f.Trusted || len(f.Trust.Items) == 0 || f.Rehearsal || ds.d.session.rehearse || !idle ||
		ds.d.session.run != nil || ds.d.session.begun.starting || ds.open != nil || !ds.d.prompt.input.Empty() {
		return
	}
	ds.trustAsked = true
	head := "This workspace brings along what can run code, or redirect an agent. Nothing of it is loaded unless you " +
		"trust it."
	if f.Trust.Changed {
		head = "This workspace is not as you trusted it. Nothing of what it brings along is loaded unless you trust " +
			"it anew."
	}
	items := f.Trust.Items
	// No single key trusts: a task may begin with any letter.
	g := ds.show(view.AskData{
		Title: "Trust this workspace?", Tone: render.Alert,
		Head: []render.Line{render.Of(render.Base, head), render.Of(render.Dim, sanitize.Line(f.CWD, 200))},
		Body: func(width int) []render.Line { return trustLines(items, width) },
		Choices: []view.PageChoice{
			{Value: no, Key: 'w', Label: "Go on without"},
			{Value: yes, Label: "Trust it, as it is now", Irreversible: true},
			{Value: quit, Key: 'q', Label: "Quit"},
		},
		Note: "Any change is asked about again.",
	}, ds.answerTrust)
	g.own = true
	g.ask.Arm(now())
}

func (ds *dialogs) answerTrust(value string) {
	switch value {
	case quit:
		ds.d.f.Leave()
	case yes:
		ds.d.f.work(func(ctx context.Context) {
			err := ds.d.f.options.Host.Trust(ctx)
			ds.d.f.post(func() {
				if err != nil {
					ds.d.flash("Not trusted: " + sanitize.Line(err.Error(), 300))
					return
				}
				ds.d.session.found.Trusted, ds.d.session.found.Trust = true, Trust{}
				ds.d.screen().renew()
				ds.d.flash("Trusted, as it is now. Its configuration file counts from the next start.")
			})
		})
	default:
		ds.d.f.options.Host.Without()
	}
}

// trustLines lays out the items, file by file, with a mark for changed ones.
func trustLines(items []TrustItem, width int) []render.Line {
	var lines []render.Line
	file := ""
	for _, i := range items {
		if i.File != file {
			file = i.File
			lines = append(lines, render.WrapText(render.Strong, sanitize.Line(file, 300), width)...)
		}
		text := view.SlashWord(i.Kind)
		if i.Name != "" {
			text += " " + sanitize.Line(i.Name, 120)
		}
		text += ": " + sanitize.Line(i.What, 300)
		role := render.Base
		if i.How != "" {
			role, text = render.Warn, fmt.Sprintf("%s: %s", view.SlashWord(i.How), text)
		}
		for _, l := range render.WrapText(role, text, max(width-2, 1)) {
			lines = append(lines, append(render.Line{{Text: "  ", Role: render.Base}}, l...))
		}
	}
	return lines
}
