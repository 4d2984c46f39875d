package tui

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/editor"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// trouble is the last error that has ways out, as long as they can be taken.
type trouble struct {
	id   string // whom it is about
	text string
	from []string // what was offered with it
	seen bool     // a person has put it aside
}

// wayWords say what an option does; one that is not among them is for a person to do,
// outside of the run.
var wayWords = map[string]string{
	"retry": "Try again", "skip": "Skip the step", "fallback": "Go on with another agent", "abort": "Give the task up", "cancel": "End the run",
	"trust": "Trust the workspace, as it is now", "without": "Go on without its settings",
}

// troubled takes an error's ways out over.
func (d *app) troubled(id string, e contract.Error) {
	if len(e.RecoveryOptions) == 0 {
		return
	}
	d.trouble = trouble{id: id, text: e.Message, from: e.RecoveryOptions}
}

// relieved forgets the trouble: it was got over, or a way was taken.
func (d *app) relieved() { d.trouble = trouble{} }

// ways are what can be chosen now, and what a person can do outside of the run.
func (d *app) ways() (choices, outside []string) {
	if d.state == nil || d.state.Ending != nil || len(d.trouble.from) == 0 || !slices.Equal(d.trouble.from, d.state.RecoveryOptions) {
		return nil, nil
	}
	for _, o := range d.state.RecoveryOptions {
		if wayWords[o] != "" {
			choices = append(choices, o)
		} else {
			outside = append(outside, o)
		}
	}
	return choices, outside
}

// wayHint is the word above the input that there are ways out; empty: there are none.
func (d *app) wayHint() string {
	choices, outside := d.ways()
	if d.trouble.seen || len(choices)+len(outside) == 0 {
		return ""
	}
	sep := " " + d.look.Glyphs.Separator + " "
	if len(choices) == 0 {
		return "Something is for you to do: Alt+c"
	}
	return "Alt+c: " + strings.Join(choices, sep)
}

// drawWays draws what is in the way, and how to get out of it.
func (d *app) drawWays(c render.Canvas, hint string) {
	w, _ := c.Size()
	c.Clear(render.Base)
	mark := d.look.Glyphs.Failed + " "
	room := w - render.Width(mark) - render.Width(hint) - 2
	l := render.Line{{Text: mark, Role: render.Bad}}
	if room >= 12 {
		l = append(l, render.Span{Text: render.Shorten(slash.Word(d.trouble.text), room, d.look.Glyphs.Ellipsis) + "  ", Role: render.Base})
	}
	l = append(l, render.Span{Text: hint, Role: render.Key})
	c.Line(0, 0, l.Shorten(w, d.look.Glyphs.Ellipsis))
}

// askWay asks which way out to take. It is opened by a person, never by itself.
func (d *app) askWay() {
	choices, outside := d.ways()
	if len(choices)+len(outside) == 0 {
		d.flash("No way out is offered: nothing is in the way.")
		return
	}
	data := pages.AskData{
		Title: "Ways out", Tone: render.Alert, Head: []render.Line{{{Text: d.name(d.trouble.id), Role: render.Speaker(d.trouble.id)}}},
		Body: func(width int) []render.Line { return d.troubleLines(width, d.trouble.text, outside) },
		Note: "Esc: not now. /choose takes one later.",
	}
	var used []rune
	for _, o := range choices {
		key := rune(0)
		for _, r := range wayWords[o] + o {
			if r = unicode.ToLower(r); unicode.IsLetter(r) && r != 'j' && r != 'k' && r != 'h' && r != 'l' && !slices.Contains(used, r) {
				key = r
				break
			}
		}
		used = append(used, key)
		data.Choices = append(data.Choices, pages.Choice{Value: o, Key: key, Label: wayWords[o], Grave: o == "cancel" || o == "abort"})
	}
	if len(choices) == 0 {
		data.Choices = []pages.Choice{{Value: "", Key: 'y', Label: "So be it"}}
	}
	g := d.show(data, func(option string) {
		if option == "" {
			d.trouble.seen = true
			return
		}
		d.take(option)
	})
	closed := g.close
	g.close = func() { closed(); d.trouble.seen = true }
	g.ways = d.trouble.from
}

// troubleLines are what went wrong, and what a person can do outside of the run.
func (d *app) troubleLines(width int, text string, outside []string) []render.Line {
	lines := render.WrapText(render.Base, sanitize.Text(text), width)
	for i, o := range outside {
		if i == 0 {
			lines = append(lines, nil)
		}
		for j, l := range render.WrapText(render.Strong, sanitize.Line(o, 400), max(width-2, 1)) {
			head := render.Span{Text: "  ", Role: render.Base}
			if j == 0 {
				head = render.Span{Text: d.look.Glyphs.Prompt + " ", Role: render.Dim}
			}
			lines = append(lines, append(render.Line{head}, l...))
		}
	}
	return lines
}

// take takes a way out. Ending the run is asked about.
func (d *app) take(option string) bool {
	if option == "cancel" || option == "abort" {
		return d.askEnd("End the run?", func() { d.send(contract.Choose{Option: option}) })
	}
	return d.send(contract.Choose{Option: option})
}

// wayCandidates complete /choose.
func (d *app) wayCandidates() []editor.Candidate {
	if d.state == nil {
		return nil
	}
	var list []editor.Candidate
	for _, o := range d.state.RecoveryOptions {
		list = append(list, editor.Candidate{Text: slash.Word(o), Note: wayWords[o]})
	}
	return list
}

// askEnd asks before the run is ended.
func (d *app) askEnd(title string, do func()) bool {
	return d.grave(title, "Every agent is stopped in the midst of what it does, with all that its tools have started. What is in the files stays; what was left half-done is said at the end.", "End it", do)
}

// askReset asks before the task is dropped.
func (d *app) askReset() bool {
	return d.grave("Reset?", "Every Orchestrator is released, and the task and the plan are dropped. The Arbiter stays, and asks what is wanted. Files stay as they are.", "Reset", func() { d.send(contract.Reset{}) })
}

// grave asks before something is done that cannot be taken back.
func (d *app) grave(title, text, label string, do func()) bool {
	if d.run == nil || d.over() {
		d.flash("There is no run.")
		return false
	}
	d.show(pages.AskData{
		Title: title, Tone: render.Danger, Head: []render.Line{render.Of(render.Base, text)},
		Choices: []pages.Choice{{Value: no, Key: 'n', Label: "No"}, {Value: yes, Key: 'y', Label: label, Grave: true}},
	}, func(value string) {
		if value == yes {
			do()
		}
	})
	return true
}

// chooseSummon has the mode chosen that another Orchestrator is summoned under.
func (d *app) chooseSummon() {
	if d.run == nil || d.over() {
		d.flash("There is no run. Speak, and one begins.")
		return
	}
	d.choose("Summon", "This run knows no modes.", modeItems(d.state), func(v any) { d.send(contract.ForceAgent{Mode: v.(string)}) })
}

// modeCommand summons, if the run knows the mode.
func (d *app) modeCommand(mode string) bool {
	if !slash.HasMode(d.state, mode) {
		d.flash(fmt.Sprintf("There is no mode %q: /agents lists them.", slash.Word(mode)))
		return false
	}
	return d.send(contract.ForceAgent{Mode: mode})
}
