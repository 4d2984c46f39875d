package tui

import (
	"fmt"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// diffScreen shows what has changed in one file: a block for each place that differs.
type diffScreen struct {
	blockScreen
	comparison
	list  *changesScreen
	name  string // of the file, as shown
	stamp uint64 // of what is shown
	shown string // version of the run that is shown
	side  bool   // show the versions beside each other, if there is room
	width int
}

func newDiffScreen(list *changesScreen, f ChangedFile) *diffScreen {
	s := &diffScreen{blockScreen: list.d.blocks(keys.Diff), list: list}
	s.SetSource(s)
	s.show(f)
	return s
}

// show makes a worker read a file.
func (s *diffScreen) show(f ChangedFile) {
	s.comparison = comparison{file: f, differs: render.Compare("", "", "", 0)}
	s.name = sanitize.Line(f.Path, 0)
	s.restart()
	s.read()
}

// read makes a worker read the file, and shows it if it has changed.
func (s *diffScreen) read() {
	if s.d.session.state == nil {
		return
	}
	s.shown = version(s.d.session.state)
	file := s.file
	s.d.compare(file, func(c comparison) {
		if s.file.Path != file.Path || s.loaded && c.problem == "" && c.found == s.found {
			return // another file is shown meanwhile, or nothing has changed
		}
		s.comparison = c
		s.restart()
	})
}

// restart shows the file from its beginning.
func (s *diffScreen) restart() {
	s.stamp++
	s.SetSource(s)
	s.Top()
}

// renew implements screen: it reads the file again after each snapshot.
func (s *diffScreen) renew() {
	s.blockScreen.renew()
	if state := s.d.session.state; state != nil && s.loaded && s.shown != version(state) {
		s.list.renew()
		s.read()
	}
}

func (s *diffScreen) draw(screen tcell.Screen, x, y, w, h int) {
	c := render.On(screen, x, y, w, h, s.d.look)
	s.width = w
	var right render.Line
	if n := len(s.differs.Hunks); n > 0 {
		right = render.Of(render.Dim, fmt.Sprintf("%d of %d  ", max(s.at(), 0)+1, n))
	}
	right = right.Append(render.DiffAdd, fmt.Sprintf("+%d", s.file.Added)).
		Append(render.DiffRemove, fmt.Sprintf(" -%d", s.file.Deleted))
	c.Line(0, 0, render.Of(render.Title, s.name).Shorten(max(w-right.Width()-2, 1), s.d.look.Glyphs.Ellipsis))
	c.Right(0, right)
	s.drawBlocks(screen, c, 1)
}

// at returns the current place: the marked one, or the first; -1: there is none.
func (s *diffScreen) at() int {
	n := len(s.differs.Hunks)
	if n == 0 {
		return -1
	}
	return min(max(s.Marked(), 0), n-1)
}

func (s *diffScreen) act(a keys.Action, key string) bool {
	switch a {
	case keys.SideBySide:
		if s.width < render.MinSideBySide {
			s.d.flash(fmt.Sprintf("Side by side needs %d columns.", render.MinSideBySide))
			return true
		}
		s.side = !s.side
		s.stamp++
	case keys.NextChoice, keys.PrevChoice:
		by := 1
		if a == keys.PrevChoice {
			by = -1
		}
		s.list.Step(by)
		if f, ok := s.list.chosen(); ok && f != s.file {
			s.show(f)
		}
	case keys.Comment:
		s.list.about(s.file, s.firstLine(), s.Copy())
	case keys.OpenFile:
		s.d.changes.edit(s.file, s.firstLine())
	case keys.RevertFile:
		s.d.changes.askRevert(s.file, contract.Revert{Path: s.file.Path, Seen: s.found.Object})
	case keys.RevertHunk:
		s.revertHunk()
	default:
		return s.blockScreen.act(a, key)
	}
	return true
}

// firstLine returns the first line of the current place, from 1.
func (s *diffScreen) firstLine() int {
	if i := s.at(); i >= 0 {
		return s.differs.Hunks[i].First + 1
	}
	return 1
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
			contract.Revert{Path: s.file.Path, Seen: s.found.Object, Hunk: s.differs.Hunks[i].String()})
	}
}

// Len, Stamp, Block and Tail implement view.BlockSource: one block for each place, or one for a text
// instead.
func (s *diffScreen) Len() int                { return max(len(s.differs.Hunks), 1) }
func (s *diffScreen) Stamp(int) uint64        { return s.stamp }
func (s *diffScreen) Tail(_ int) []view.Block { return nil }

func (s *diffScreen) Block(i, width int, _ bool) view.Block {
	if text := s.instead(); text != "" {
		return view.Block{Gutter: render.Frame, Lines: render.WrapText(render.Dim, text, width)}
	}
	if i >= len(s.differs.Hunks) {
		return view.Block{Gutter: render.Frame}
	}
	h := s.differs.Hunks[i]
	o := render.MarkdownOptions{Width: width, Look: s.d.look, Role: render.Base}
	show := s.differs.Unified
	if s.side && s.width >= render.MinSideBySide {
		show = s.differs.SideBySide
	}
	b := view.Block{Gutter: render.Frame, Head: render.Of(render.DiffHunk, "@@ "+h.String()+" @@"), Lines: show(h, o)}
	if s.found.Cut && i == len(s.differs.Hunks)-1 {
		b.Lines = append(b.Lines, render.Of(render.Warn, "The file is long: only its beginning is compared."))
	}
	return b
}
