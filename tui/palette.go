package tui

import (
	"strings"

	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// palette lists all actions and screens, filtered by a few letters.
type palette struct{ d *app }

// pageKeys are the actions that open pages for which there is no command.
var pageKeys = []keys.Action{keys.WayOut, keys.Judge, keys.CycleGrants, keys.Strength}

// open shows the list.
func (p palette) open() {
	p.d.choose("What shall be done?", "", p.items(), func(v any) { v.(func())() })
}

// items returns the agents, the commands, and actions that only keys have. The value of each is called when
// the user chooses it.
func (p palette) items() []choice {
	var list []choice
	for _, a := range p.d.session.agents() {
		if view.SlashOver(a) {
			continue
		}
		note := a.Mode
		if a.Alive() {
			note = strings.TrimSpace(note + "  look at it")
		}
		list = append(list, choice{p.d.session.name(a.ID) + "  " + a.ID, view.SlashWord(note), render.Speaker(a.ID),
			func() { p.d.focusOn(a.ID) }})
	}
	for _, s := range view.EditorCommands {
		list = append(list, choice{text: "/" + s.Name + "  " + s.Help, note: s.Args,
			value: func() { p.command(s) }})
	}
	for _, b := range keys.Own(keys.Everywhere) {
		for _, a := range pageKeys {
			if a == b.Action {
				list = append(list, choice{text: b.Help, note: b.Keys[0], value: func() { p.d.act(a) }})
			}
		}
	}
	return list
}

// command runs a command, or writes it into the input if it needs an argument. A command that acts on
// waiting requests or running work is also only written: a few letters and Enter must not run it.
func (p palette) command(s view.EditorSpec) {
	_, answers := view.SlashAnswers[s.Name]
	if s.Args == "" || answers || s.Name == "plan" {
		p.d.commands.slash(view.EditorCommand{Name: s.Name})
		return
	}
	p.d.toInput()
	p.d.prompt.input.SetText("/" + s.Name + " ")
	p.d.prompt.write()
}
