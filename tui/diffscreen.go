package tui

import (
	"context"
	"fmt"
	"slices"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/markdown"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// diffScreen shows what has changed in one file: a block for each place that differs.
type diffScreen struct {
	d       *app
	list    *changesScreen
	file    ChangedFile
	name    string // of the file, as shown
	view    *view.ListView
	stamp   uint64 // of what is shown
	shown   string // version of the run that is shown
	found   Versions
	compare *markdown.Comparison
	problem string
	loaded  bool
	side    bool // show the versions beside each other, if there is room
	width   int
}

func newDiffScreen(list *changesScreen, f view.PageChange) *diffScreen {
	s := &diffScreen{d: list.d, list: list, view: view.NewListView(list.d.look)}
	s.view.SetSource(s)
	s.view.OnCopy(s.d.copy)
	s.show(f)
	return s
}

// show makes a worker read a file.
func (s *diffScreen) show(f view.PageChange) {
	at := slices.IndexFunc(s.list.list, func(c ChangedFile) bool { return sanitize.Line(c.Path, 0) == f.Path })
	if at < 0 {
		return
	}
	s.file, s.name, s.loaded, s.problem = s.list.list[at], f.Path, false, ""
	s.found, s.compare = Versions{}, markdown.Compare("", "", "", 0)
	s.restart()
	s.read()
}

// around is how many unchanged lines are shown around each change.
const around = 3

// read makes a worker read the file, and shows it if it has changed.
func (s *diffScreen) read() {
	state := s.d.session.state
	if state == nil {
		return
	}
	s.shown = version(state)
	run, file := state.Options.Run, s.file
	s.d.f.work(func(ctx context.Context) {
		found, err := s.d.f.options.Host.Versions(ctx, run, file.Path, file.Old)
		var compared *markdown.Comparison
		if err == nil {
			compared = markdown.Compare(markdown.CleanLines(found.Before, sanitize.Text),
				markdown.CleanLines(found.After, sanitize.Text), view.EventLanguage(file.Path), around)
		}
		s.d.f.post(func() {
			if s.file.Path != file.Path {
				return // another file is shown meanwhile
			}
			if s.loaded && err == nil && found == s.found {
				return
			}
			s.loaded, s.problem, s.found = true, "", found
			if err != nil {
				s.problem, compared = err.Error(), markdown.Compare("", "", "", 0)
			}
			s.compare = compared
			s.restart()
		})
	})
}

// restart shows the file from its beginning.
func (s *diffScreen) restart() {
	s.stamp++
	s.view.SetSource(s)
	s.view.Top()
}

func (s *diffScreen) context() keys.Context { return keys.Diff }
func (s *diffScreen) writes() bool          { return false }
func (s *diffScreen) mouse() mouseHandler   { return s.view.MouseHandler() }

// renew implements screen: it reads the file again after each snapshot.
func (s *diffScreen) renew() {
	s.view.SetLook(s.d.look)
	if state := s.d.session.state; state != nil && s.loaded && s.shown != version(state) {
		s.list.renew()
		s.read()
	}
}

func (s *diffScreen) draw(screen tcell.Screen, x, y, w, h int) {
	c := render.On(screen, x, y, w, h, s.d.look)
	s.width = w
	var right render.Line
	if n := len(s.compare.Hunks); n > 0 {
		right = render.Of(render.Dim, fmt.Sprintf("%d of %d  ", max(s.at(), 0)+1, n))
	}
	right = right.Append(render.DiffAdd, fmt.Sprintf("+%d", s.file.Added)).
		Append(render.DiffRemove, fmt.Sprintf(" -%d", s.file.Deleted))
	c.Line(0, 0, render.Of(render.Title, s.name).Shorten(max(w-right.Width()-2, 1), s.d.look.Glyphs.Ellipsis))
	c.Right(0, right)
	c.Rule(1, render.Frame)
	s.view.SetRect(x, y+2, w, max(h-2, 0))
	s.view.Draw(screen)
}

// at returns the current place: the marked one, or the first; -1: there is none.
func (s *diffScreen) at() int {
	n := len(s.compare.Hunks)
	if n == 0 {
		return -1
	}
	return min(max(s.view.Marked(), 0), n-1)
}

func (s *diffScreen) act(a keys.Action, _ string) bool {
	switch a {
	case keys.SideBySide:
		if s.width < markdown.MinSideBySide {
			s.d.flash(fmt.Sprintf("Side by side needs %d columns.", markdown.MinSideBySide))
			return true
		}
		s.side = !s.side
		s.stamp++
	case keys.NextChoice, keys.PrevChoice:
		by := 1
		if a == keys.PrevChoice {
			by = -1
		}
		if f, ok := s.list.page.Step(by); ok && f.Path != s.name {
			s.show(f)
		}
	case keys.OpenFile:
		line := 1
		if i := s.at(); i >= 0 {
			line = s.compare.Hunks[i].First + 1
		}
		s.d.changes.edit(s.file, line)
	case keys.RevertFile:
		s.d.changes.askRevert(s.file, contract.Revert{Path: s.file.Path, Seen: s.found.Object})
	case keys.RevertHunk:
		s.revertHunk()
	default:
		return s.d.scroll(&reader{ListView: s.view}, a)
	}
	return true
}

// revertHunk asks whether to revert the current place.
func (s *diffScreen) revertHunk() {
	i := s.at()
	switch {
	case i < 0:
		s.d.flash("There is no single place to revert here: X reverts the file.")
	case s.found.Cut:
		s.d.flash("The file is long, and only its beginning is compared: X reverts the whole file.")
	default:
		s.d.changes.askRevert(s.file,
			contract.Revert{Path: s.file.Path, Seen: s.found.Object, Hunk: s.compare.Hunks[i].String()})
	}
}

// Len, Stamp, Block and Tail implement view.BlockSource: one block for each place, or one for a text
// instead.
func (s *diffScreen) Len() int                { return max(len(s.compare.Hunks), 1) }
func (s *diffScreen) Stamp(int) uint64        { return s.stamp }
func (s *diffScreen) Tail(_ int) []view.Block { return nil }

func (s *diffScreen) Block(i, width int, _ bool) view.Block {
	if text := s.instead(); text != "" {
		return view.Block{Gutter: render.Frame, Lines: render.WrapText(render.Dim, text, width)}
	}
	if i >= len(s.compare.Hunks) {
		return view.Block{Gutter: render.Frame}
	}
	h := s.compare.Hunks[i]
	o := markdown.Options{Width: width, Look: s.d.look, Role: render.Base}
	show := s.compare.Unified
	if s.side && s.width >= markdown.MinSideBySide {
		show = s.compare.SideBySide
	}
	b := view.Block{Gutter: render.Frame, Head: render.Of(render.DiffHunk, "@@ "+h.String()+" @@"), Lines: show(h, o)}
	if s.found.Cut && i == len(s.compare.Hunks)-1 {
		b.Lines = append(b.Lines, render.Of(render.Warn, "The file is long: only its beginning is compared."))
	}
	return b
}

// instead returns the text for a change without lines to compare; empty: there are lines.
func (s *diffScreen) instead() string {
	switch {
	case s.problem != "":
		return sanitize.Text(s.problem)
	case !s.loaded:
		return "Reading …"
	case s.file.Binary:
		return "A binary file has changed."
	case len(s.compare.Hunks) == 0:
		return "No line differs: the file is empty, or was renamed or made executable, or only its line ends changed."
	}
	return ""
}
