package tui

import (
	"context"
	"fmt"
	"slices"

	"github.com/gdamore/tcell/v2"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// changesScreen lists the files that the run has changed, with the agents that changed them.
type changesScreen struct {
	d       *app
	page    *view.PageChanges
	list    []ChangedFile
	loaded  string // state of the shown list, as returned by version; empty: there is no list yet
	busy    bool   // a worker is reading
	problem string // why there is no list
	wanted  string // path of a file to compare once there is a list
}

func newChangesScreen(d *app) *changesScreen {
	return &changesScreen{d: d, page: view.NewChanges(d.look)}
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
	switch a {
	case keys.Choose:
		c.open()
	case keys.OpenFile:
		if f, ok := c.chosen(); ok {
			c.d.changes.edit(f, 1)
		}
	case keys.RevertFile:
		if f, ok := c.chosen(); ok {
			c.d.changes.askRevert(f, contract.Revert{Path: f.Path})
		}
	case keys.LandWork:
		c.d.changes.askLand(c.list)
	default:
		return leaf(c.page, a)
	}
	return true
}

// chosen returns the current file.
func (c *changesScreen) chosen() (ChangedFile, bool) {
	f, ok := c.page.Chosen()
	at := slices.IndexFunc(c.list, func(l ChangedFile) bool { return sanitize.Line(l.Path, 0) == f.Path })
	if !ok || at < 0 {
		c.d.flash("No file has changed.")
		return ChangedFile{}, false
	}
	return c.list[at], true
}

// again makes the list be read again.
func (c *changesScreen) again() { c.loaded = "" }

// open shows the current file.
func (c *changesScreen) open() {
	f, ok := c.page.Chosen()
	if !ok {
		c.d.flash("No file has changed.")
		return
	}
	c.d.open(newDiffScreen(c, f))
}

// version identifies a state of the files: it changes with each snapshot.
func version(s *supervisor.State) string {
	return fmt.Sprint(s.Options.Run, s.Changes.Serial, s.Changes.Last, s.Changes.RevertsDone)
}

// renew implements screen: it lists the files again after each snapshot.
func (c *changesScreen) renew() {
	c.page.SetLook(c.d.look)
	s := c.d.session.state
	if s == nil {
		c.page.Set(nil, "There is no run yet, and nothing has changed.", c.d.now())
		return
	}
	c.page.Set(changeRows(c.list, s.Changes.Files), c.note(), c.d.now())
	if c.busy || c.loaded == version(s) {
		return
	}
	c.busy = true
	run, now := s.Options.Run, version(s)
	c.d.f.work(func(ctx context.Context) {
		list, err := c.d.f.options.Host.Changes(ctx, run)
		c.d.f.post(func() {
			c.busy, c.loaded, c.list, c.problem = false, now, list, ""
			if err != nil {
				c.problem = sanitize.Line(err.Error(), 400)
			}
			c.renew()
			c.openWanted()
		})
	})
}

// openWanted opens the comparison of the file that was requested by its path.
func (c *changesScreen) openWanted() {
	if c.wanted == "" || c.d.screen() != screen(c) {
		return
	}
	wanted := c.wanted
	c.wanted = ""
	if !c.page.Choose(wanted) {
		c.d.flash("The run has not changed " + wanted + ".")
		return
	}
	c.open()
}

// note returns the text that replaces an empty list.
func (c *changesScreen) note() string {
	switch {
	case c.problem != "":
		return c.problem
	case c.loaded == "":
		return "Reading …"
	}
	return "No file has changed since the run began."
}

// changeRows combines Git's list of files with the run's record of their authors.
func changeRows(list []ChangedFile, authors []input.ChangeFile) []view.PageChange {
	rows := make([]view.PageChange, 0, len(list))
	for _, f := range list {
		row := view.PageChange{Path: sanitize.Line(f.Path, 0), Old: sanitize.Line(f.Old, 0), Status: f.Status,
			Added: f.Added, Deleted: f.Deleted, Binary: f.Binary}
		if i := slices.IndexFunc(authors, func(a input.ChangeFile) bool { return a.Path == f.Path }); i >= 0 {
			row.Known, row.Maybe, row.Overlap = authors[i].Known, authors[i].Maybe, len(authors[i].Reported) > 1
			row.At = authors[i].At
		}
		rows = append(rows, row)
	}
	return rows
}
