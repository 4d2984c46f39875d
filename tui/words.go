package tui

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/roster"
	"github.com/arbiter-cli/arbiter/tui/editor"
	"github.com/arbiter-cli/arbiter/tui/eventview"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/notify"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/slash"
)

// prompt says at the input whom one speaks to, and what may be said.
func (d *app) prompt() {
	to, role := d.to, render.SpeakerHuman
	label, force := "", d.strength()
	if d.queued.id != "" {
		label, force, role = "changing your word that waits", "", render.SpeakerHuman
	} else if to != "" {
		label, role = "to "+d.name(to), render.Speaker(to)
	}
	d.input.SetTo(label, force, role)
	d.input.SetPlaceholder(d.placeholder())
	if d.writing() {
		d.input.Focus(nil)
	} else {
		d.input.Blur()
	}
}

// placeholder is what stands at an empty input.
func (d *app) placeholder() string {
	switch s := d.state; {
	case d.reading && d.screen().writes():
		return "i: write " + d.look.Glyphs.Separator + " ?: help"
	case d.begun.under:
		return "Patience."
	case d.run == nil:
		return "Say what is to be done."
	case d.leaving:
		return "So it shall be."
	case d.over():
		return "Speak again, or depart."
	case s == nil:
		return ""
	case s.Halted && len(slash.Waiting(s)) == 0:
		return "Everything is halted. /continue"
	case len(slash.Waiting(s)) > 0:
		return waitingHint(s)
	case s.Question != nil:
		return "The Arbiter awaits your answer."
	case s.TrustQuestion != nil:
		return "The workspace has changed. /choose trust, without, or cancel."
	case s.AnyWorks():
		return "Speak; the weaving goes on."
	}
	return "Speak."
}

// waitingHint says that words of the person's can still be changed.
func waitingHint(s *supervisor.State) string {
	text := "A word of yours waits"
	if n := len(slash.Waiting(s)); n > 1 {
		text = fmt.Sprintf("%d words of yours wait", n)
	}
	if s.Halted {
		text = "Halted (/continue). " + text
	}
	return text + ". Up: change it, or take it back."
}

// statusData is the status line.
func (d *app) statusData() pages.StatusData {
	data := pages.StatusData{Word: "The oracle", Tone: render.StatusBarStrong, Hint: "F1 help"}
	if d.state != nil {
		data = status(d.state, now())
		data.Hint = "F1 help"
	}
	if d.state == nil {
		data.Warnings = d.dangers()
	}
	switch {
	case d.begun.under:
		data.Word, data.Awaited = "Beginning", "the threads"
	case d.leaving:
		data.Word = "Ending"
	}
	if d.screen().writes() && d.reading {
		data.Mode = "NORMAL"
	}
	if l, ok := d.screen().(*logbook); ok && l.typing {
		data.Mode = "FILTER"
	}
	data.Flash = d.word.text
	if d.search.typing {
		data.Flash = "/" + d.search.text
	}
	if n := d.waiting(); n > 0 && d.asking() == nil && data.Flash == "" {
		data.Flash = fmt.Sprintf("%d permission requests wait: Alt+p", n)
		if n == 1 {
			data.Flash = "A permission request waits: Alt+p"
		}
	}
	return data
}

// waiting counts the permission requests.
func (d *app) waiting() int {
	if d.state == nil {
		return 0
	}
	return len(d.state.Permission.Open)
}

// helpFor lists what works in a context.
func helpFor(c keys.Context, writes bool) (string, []pages.HelpGroup) {
	var groups []pages.HelpGroup
	group := func(title string, list []keys.Binding) {
		g := pages.HelpGroup{Title: title}
		for _, b := range list {
			g.Rows = append(g.Rows, pages.HelpRow{Keys: strings.Join(b.Keys, "  "), Text: b.Help})
		}
		if len(g.Rows) > 0 {
			groups = append(groups, g)
		}
	}
	own := keys.Own(c)
	if c == keys.Insert {
		own = append(append([]keys.Binding{}, keys.Editing...), own...)
	}
	group("Here", own)
	group("To read", keys.Reading(c))
	if c != keys.Everywhere {
		group("Everywhere", keys.Own(keys.Everywhere))
	}
	if c == keys.Insert {
		group("When reading (Esc)", keys.Own(keys.Normal))
	} else if writes && c == keys.Normal {
		group("When writing (i)", append(append([]keys.Binding{}, keys.Editing...), keys.Own(keys.Insert)...))
	}
	if writes {
		g := pages.HelpGroup{Title: "Commands"}
		for _, s := range editor.Commands {
			g.Rows = append(g.Rows, pages.HelpRow{Keys: s.Usage(), Text: s.Help})
		}
		groups = append(groups, g)
	}
	return string(c), groups
}

// conversation is all that was said, as Markdown.
func (f *Frontend) conversation(ctx context.Context, name func(string) string) string {
	f.indexing.Wait()
	var b strings.Builder
	thread := f.history.Talk()
	for i := range thread.Len() {
		if ctx.Err() != nil {
			break
		}
		if e, ok := thread.Entry(i); ok {
			if text, ok := eventview.Plain(e, name); ok {
				b.WriteString(text)
				b.WriteString("\n\n")
			}
		}
	}
	return b.String()
}

// moment is what the title tells, and what a person may be called for.
func (d *app) moment() notify.Moment {
	m := notify.Moment{Where: filepath.Base(d.found.CWD), ASCII: d.look.Glyphs == render.ASCII}
	s := d.state
	if d.found.CWD == "" || s == nil {
		m.Where = ""
	}
	if s == nil {
		return m
	}
	m.For = neededBy(s)
	m.Human, m.Word = m.For != "", strings.ToLower(phaseWords[s.Task.Phase].word)
	if b := stalled(s); b != nil {
		m.Word = b.Trouble()
	}
	for i := range s.Agents {
		if s.Agents[i].Works() {
			m.Threads++
		}
	}
	if s.Ending != nil && s.Ending.Said {
		m.Ended = s.Ending.Status
	}
	return m
}

// neededBy says what a person is needed for, empty if nothing.
func neededBy(s *supervisor.State) string {
	switch {
	case s.Ending != nil:
		return ""
	case len(s.Permission.Open) > 0:
		return slash.Name(s, s.Permission.Open[0].Params.ID) + " asks leave"
	case s.Question != nil:
		return "The Arbiter asks"
	case s.TrustQuestion != nil:
		return "The workspace needs your trust"
	}
	for i := range s.Agents {
		if s.Agents[i].ID == contract.Arbiter && s.Agents[i].Status == roster.Parked {
			return "The Arbiter is parked"
		}
	}
	return ""
}
