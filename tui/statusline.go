package tui

import (
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// statusData returns the content of the status line.
func (d *app) statusData() view.StatusData {
	data := view.StatusData{Word: "The oracle", Tone: render.StatusBarStrong, Hint: "F1 help"}
	if d.session.state != nil {
		data = view.SnapshotStatus(d.session.state, d.now())
		data.Hint = "F1 help"
	}
	if d.session.state == nil {
		data.Warnings = d.session.dangers()
	}
	switch since := d.session.silent(); {
	case !since.IsZero():
		data.Word, data.Tone = "Does not answer, "+eventtext.Span(now().Sub(since).Truncate(time.Second)), render.Bad
		data.Awaited, data.Human = "", false
	case d.session.begun.starting:
		data.Word, data.Awaited = "Beginning", "the threads"
	case d.session.leaving:
		data.Word = "Ending"
	}
	if p := d.playback(); p != nil {
		data.Warnings = append([]string{playbackWord(p.Status(), d.look)}, data.Warnings...)
		data.Awaited, data.Hint = "", "F1 help"
	} else if mode := d.permissions.mode(); mode != runconfig.ModeAllowAll { // allow-all is shown as a warning
		data.Grants = string(mode)
	}
	if d.screen().writes() && d.prompt.reading {
		data.Mode = "NORMAL"
	}
	if l, ok := d.screen().(*logbook); ok && l.typing {
		data.Mode = "FILTER"
	}
	data.Flash = d.word.text
	if s, ok := d.screen().(filtered); ok {
		l := s.filter()
		if l.Typing {
			data.Mode = "FILTER"
		}
		if l.Typing || l.Filter() != "" && data.Flash == "" {
			data.Flash = "/" + l.Filter()
		}
	}
	if d.search.typing {
		data.Flash = "/" + d.search.text
	}
	if text := d.f.unsent(); text != "" {
		data.Flash = "Not taken yet: " + sanitize.Line(text, 200)
	}
	if n := len(d.permissions.requests()); n > 0 && d.dialogs.asking() == nil && data.Flash == "" {
		data.Flash = fmt.Sprintf("Alt+p: %d permission requests wait", n)
		if n == 1 {
			data.Flash = "Alt+p: a permission request waits"
		}
		data.FlashShort = "Alt+p"
	}
	return data
}

// moment returns the state that the title and notifications show.
func (d *app) moment() render.NotifyMoment {
	m := render.NotifyMoment{Where: filepath.Base(d.session.found.CWD), ASCII: d.look.Glyphs == render.ASCII}
	s := d.session.state
	if d.session.found.CWD == "" || s == nil {
		m.Where = ""
	}
	if s == nil {
		return m
	}
	for _, i := range view.Inbox(s) {
		w := render.NotifyWait{Call: i.ID, For: eventtext.Asks(i, view.SlashName(s, i.Agent))}
		if i.Kind == supervisor.InboxPermission {
			w.Call = "permission " + i.Agent
		}
		m.Awaited = append(m.Awaited, w)
	}
	m.Word = strings.ToLower(eventtext.Phase(s.Task.Phase))
	if b := view.Stalled(s); b != nil {
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
