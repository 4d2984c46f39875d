package tui

import (
	"context"
	"fmt"
	"slices"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/changes"
	"github.com/arbiter-cli/arbiter/tui/eventview"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/listview"
	"github.com/arbiter-cli/arbiter/tui/markdown"
	"github.com/arbiter-cli/arbiter/tui/pages"
	"github.com/arbiter-cli/arbiter/tui/render"
)

// changesScreen lists the files that the run has changed, with the agents that changed them.
type changesScreen struct {
	d       *app
	page    *pages.Changes
	list    []ChangedFile
	loaded  string // what the list shows, as version names it; empty: there is no list yet
	busy    bool   // a worker reads
	trouble string // why there is no list
}

func newChangesScreen(d *app) *changesScreen {
	return &changesScreen{d: d, page: pages.NewChanges(d.look)}
}

func (c *changesScreen) context() keys.Context               { return keys.Changes }
func (c *changesScreen) writes() bool                        { return false }
func (c *changesScreen) draw(s tcell.Screen, x, y, w, h int) { paint(c.page, s, x, y, w, h) }

func (c *changesScreen) mouse() mouseHandler {
	return wheel(c.page, func(x, y int) {
		if _, ok := c.page.At(x, y); ok {
			c.open()
		}
	})
}

func (c *changesScreen) act(a keys.Action, _ string) bool {
	if a == keys.Choose {
		c.open()
		return true
	}
	return leaf(c.page, a)
}

// open shows the file at hand.
func (c *changesScreen) open() {
	f, ok := c.page.Chosen()
	if !ok {
		c.d.flash("No file has changed.")
		return
	}
	c.d.open(newDiffScreen(c, f))
}

// version names a state of the files: it is another one after each snapshot.
func version(s *supervisor.State) string {
	return fmt.Sprint(s.Options.Run, s.Changes.Serial, s.Changes.Last)
}

// renew implements screen: it has the files listed again after each snapshot.
func (c *changesScreen) renew() {
	c.page.SetLook(c.d.look)
	s := c.d.session.state
	if s == nil {
		c.page.Set(nil, "There is no run yet, and nothing has changed.")
		return
	}
	c.page.Set(changeRows(c.list, s.Changes.Files), c.note())
	if c.busy || c.loaded == version(s) {
		return
	}
	c.busy = true
	run, now := s.Options.Run, version(s)
	c.d.f.work(func(ctx context.Context) {
		list, err := c.d.f.options.Host.Changes(ctx, run)
		c.d.f.post(func() {
			c.busy, c.loaded, c.list, c.trouble = false, now, list, ""
			if err != nil {
				c.trouble = sanitize.Line(err.Error(), 400)
			}
			c.renew()
		})
	})
}

// note is shown instead of an empty list.
func (c *changesScreen) note() string {
	switch {
	case c.trouble != "":
		return c.trouble
	case c.loaded == "":
		return "Reading …"
	}
	return "No file has changed since the run began."
}

// changeRows joins what Git says of the files with what the run knows of their authors.
func changeRows(list []ChangedFile, authors []changes.File) []pages.Change {
	rows := make([]pages.Change, 0, len(list))
	for _, f := range list {
		row := pages.Change{Path: sanitize.Line(f.Path, 0), Old: sanitize.Line(f.Old, 0), Status: f.Status,
			Added: f.Added, Deleted: f.Deleted, Binary: f.Binary}
		if i := slices.IndexFunc(authors, func(a changes.File) bool { return a.Path == f.Path }); i >= 0 {
			row.Known, row.Maybe, row.Overlap = authors[i].Known, authors[i].Maybe, len(authors[i].Told) > 1
		}
		rows = append(rows, row)
	}
	return rows
}

// diffScreen shows what has changed in one file.
type diffScreen struct {
	d       *app
	list    *changesScreen
	file    pages.Change
	view    *listview.View
	stamp   uint64 // of what is shown
	found   Versions
	trouble string
	loaded  bool
	side    bool // the versions stand beside each other, where there is room
	width   int
}

func newDiffScreen(list *changesScreen, f pages.Change) *diffScreen {
	s := &diffScreen{d: list.d, list: list, view: listview.New(list.d.look)}
	s.view.SetSource(s)
	s.view.OnCopy(s.d.copy)
	s.show(f)
	return s
}

// show has a worker read a file.
func (s *diffScreen) show(f pages.Change) {
	at := slices.IndexFunc(s.list.list, func(c ChangedFile) bool { return sanitize.Line(c.Path, 0) == f.Path })
	if at < 0 {
		return
	}
	s.file, s.loaded, s.trouble, s.found = f, false, "", Versions{}
	s.stamp++
	s.view.Top()
	run, file := s.d.session.state.Options.Run, s.list.list[at]
	s.d.f.work(func(ctx context.Context) {
		found, err := s.d.f.options.Host.Versions(ctx, run, file.Path, file.Old)
		s.d.f.post(func() {
			if s.file.Path != f.Path {
				return // another one is shown meanwhile
			}
			s.loaded, s.found = true, found
			if err != nil {
				s.trouble = err.Error()
			}
			s.stamp++
			s.view.Top()
		})
	})
}

func (s *diffScreen) context() keys.Context { return keys.Diff }
func (s *diffScreen) writes() bool          { return false }
func (s *diffScreen) renew()                { s.view.SetLook(s.d.look) }
func (s *diffScreen) mouse() mouseHandler   { return s.view.MouseHandler() }

func (s *diffScreen) draw(screen tcell.Screen, x, y, w, h int) {
	c := render.On(screen, x, y, w, h, s.d.look)
	s.width = w
	right := render.Of(render.DiffAdd, fmt.Sprintf("+%d", s.file.Added)).
		Append(render.DiffRemove, fmt.Sprintf(" -%d", s.file.Deleted))
	c.Line(0, 0, render.Of(render.Title, s.file.Path).Shorten(max(w-right.Width()-2, 1), s.d.look.Glyphs.Ellipsis))
	c.Right(0, right)
	c.Rule(1, render.Frame)
	s.view.SetRect(x, y+2, w, max(h-2, 0))
	s.view.Draw(screen)
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
		return true
	case keys.NextChoice, keys.PrevChoice:
		by := 1
		if a == keys.PrevChoice {
			by = -1
		}
		if f, ok := s.list.page.Step(by); ok && f.Path != s.file.Path {
			s.show(f)
		}
		return true
	}
	return s.d.scroll(&reader{View: s.view}, a)
}

// Len, Stamp, Block and Tail implement listview.Source: one block.
func (s *diffScreen) Len() int                    { return 1 }
func (s *diffScreen) Stamp(int) uint64            { return s.stamp }
func (s *diffScreen) Tail(_ int) []listview.Block { return nil }

func (s *diffScreen) Block(_, width int, _ bool) listview.Block {
	text := ""
	switch {
	case s.trouble != "":
		text = sanitize.Text(s.trouble)
	case !s.loaded:
		text = "Reading …"
	case s.file.Binary:
		text = "A binary file has changed."
	}
	if text != "" {
		return listview.Block{Gutter: render.Frame, Lines: render.WrapText(render.Dim, text, width)}
	}
	const around = 3
	o := markdown.Options{Width: width, Look: s.d.look, Role: render.Base}
	before, after := sanitize.Text(s.found.Before), sanitize.Text(s.found.After)
	compare := markdown.Diff
	if s.side && s.width >= markdown.MinSideBySide {
		compare = markdown.SideBySide
	}
	b := listview.Block{Gutter: render.Frame, Lines: compare(before, after, eventview.Language(s.file.Path), o, around)}
	if s.found.Cut {
		b.Lines = append(b.Lines, render.Of(render.Warn, "The file is long: only its beginning is compared."))
	}
	return b
}
