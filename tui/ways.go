package tui

import (
	"slices"
	"strings"
	"unicode"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// problem is the last error that has recovery options, as long as they are valid.
type problem struct {
	id   string // the agent it is about
	text string
	from []string // the options offered with it
	seen bool     // a person has put it aside
}

// recovery offers the recovery options of an error.
type recovery struct {
	d       *app
	problem problem
}

// wayWords are the labels of options.
var wayWords = map[string]string{
	"retry": "Try again", "skip": "Skip the step", "fallback": "Go on with another agent", "abort": "Give the task up",
	"cancel": "End the run", "trust": "Trust the workspace, as it is now", "without": "Go on without its settings",
	"raise": "Raise the limit, and go on", "finish": "End the run at its limit",
}

// wayLabel is the label of an option; empty: it is for a person, outside of the run.
func wayLabel(option string) string {
	if host, ok := strings.CutPrefix(option, supervisor.RetryOption("")); ok {
		return "Try host " + eventtext.One(host, eventtext.MaxName) + " again"
	}
	return wayWords[option]
}

// showProblem records an error's recovery options.
func (rec *recovery) showProblem(id string, e contract.Error) {
	if len(e.RecoveryOptions) == 0 {
		return
	}
	rec.problem = problem{id: id, text: e.Message, from: e.RecoveryOptions}
}

// clear forgets the problem: it was resolved, or an option was taken.
func (rec *recovery) clear() { rec.problem = problem{} }

// ways returns the current choices, and the actions outside of the run.
func (rec *recovery) ways() (choices, outside []string) {
	if rec.d.session.state == nil || rec.d.session.state.Ending != nil || len(rec.problem.from) == 0 ||
		!slices.Equal(rec.problem.from, rec.d.session.state.Question.Recovery.Options) {
		return nil, nil
	}
	for _, o := range rec.d.session.state.Question.Recovery.Options {
		if wayLabel(o) != "" {
			choices = append(choices, o)
		} else {
			outside = append(outside, o)
		}
	}
	return choices, outside
}

// wayHint returns the hint above the input that there are recovery options; empty: there are none.
func (rec *recovery) wayHint() string {
	choices, outside := rec.ways()
	if rec.problem.seen || len(choices)+len(outside) == 0 {
		return ""
	}
	sep := " " + rec.d.look.Glyphs.Separator + " "
	if len(choices) == 0 {
		return "Something is for you to do: Alt+c"
	}
	return "Alt+c: " + strings.Join(choices, sep)
}

// drawWays draws the problem, and how to recover from it.
func (rec *recovery) drawWays(c render.Canvas, hint string) {
	w, _ := c.Size()
	c.Clear(render.Base)
	mark := rec.d.look.Glyphs.Failed + " "
	space := w - render.Width(mark) - render.Width(hint) - 2
	l := render.Line{{Text: mark, Role: render.Bad}}
	if space >= 12 {
		l = append(l, render.Span{Text: render.Shorten(view.SlashWord(rec.problem.text), space,
			rec.d.look.Glyphs.Ellipsis) + "  ", Role: render.Base})
	}
	l = append(l, render.Span{Text: hint, Role: render.Key})
	c.Line(0, 0, l.Shorten(w, rec.d.look.Glyphs.Ellipsis))
}

// askWay asks which recovery option to take. Only a person opens it.
func (rec *recovery) askWay() {
	choices, outside := rec.ways()
	if len(choices)+len(outside) == 0 {
		rec.d.flash("No way out is offered: nothing is in the way.")
		return
	}
	data := view.AskData{
		Title: "Ways out", Tone: render.Alert,
		Head: []render.Line{{{Text: rec.d.session.name(rec.problem.id), Role: render.Speaker(rec.problem.id)}}},
		Body: func(width int) []render.Line { return rec.problemLines(width, rec.problem.text, outside) },
		Note: "Esc: not now. /choose takes one later.",
	}
	var used []rune
	for _, o := range choices {
		key := rune(0)
		for _, r := range wayLabel(o) + o {
			if r = unicode.ToLower(r); unicode.IsLetter(r) && r != 'j' && r != 'k' && r != 'h' && r != 'l' &&
				!slices.Contains(used, r) {
				key = r
				break
			}
		}
		used = append(used, key)
		data.Choices = append(data.Choices, view.PageChoice{Value: o, Key: key, Label: wayLabel(o),
			Irreversible: o == "cancel" || o == "abort"})
	}
	if len(choices) == 0 {
		data.Choices = []view.PageChoice{{Value: "", Key: 'y', Label: "So be it"}}
	}
	g := rec.d.dialogs.show(data, func(option string) {
		if option == "" {
			rec.problem.seen = true
			return
		}
		rec.take(option)
	})
	closed := g.close
	g.close = func() { closed(); rec.problem.seen = true }
	g.ways = rec.problem.from
}

// problemLines describes the problem, and the actions outside of the run.
func (rec *recovery) problemLines(width int, text string, outside []string) []render.Line {
	lines := render.WrapText(render.Base, sanitize.Text(text), width)
	for i, o := range outside {
		if i == 0 {
			lines = append(lines, nil)
		}
		for j, l := range render.WrapText(render.Strong, sanitize.Line(o, 400), max(width-2, 1)) {
			head := render.Span{Text: "  ", Role: render.Base}
			if j == 0 {
				head = render.Span{Text: rec.d.look.Glyphs.Prompt + " ", Role: render.Dim}
			}
			lines = append(lines, append(render.Line{head}, l...))
		}
	}
	return lines
}

// take takes a recovery option. It asks before ending the run.
func (rec *recovery) take(option string) bool {
	if option == "cancel" || option == "abort" {
		return rec.d.dialogs.askEnd("End the run?", func() { rec.d.session.send(contract.Choose{Option: option}) })
	}
	return rec.d.session.send(contract.Choose{Option: option})
}
