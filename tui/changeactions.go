package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// changeActions performs a person's actions on the files that a run has changed.
type changeActions struct{ d *app }

// runID returns the run that is shown; empty: there is none.
func (c changeActions) runID() string {
	if s := c.d.session.state; s != nil && !c.d.session.replayed() {
		return s.Options.Run
	}
	return ""
}

// edit opens a file in the person's editor, at a line that is counted from 1.
func (c changeActions) edit(f ChangedFile, line int) {
	run := c.runID()
	if run == "" {
		return
	}
	if f.Status == "deleted" {
		c.d.flash("The run has deleted this file: there is nothing to open.")
		return
	}
	c.d.outside(func(h Host) error { return h.Open(run, f.Path, line) })
}

func (c changeActions) askRevert(f ChangedFile, r contract.Revert) {
	run := c.runID()
	if run == "" {
		return
	}
	name := sanitize.Line(f.Path, 0)
	becomes := name + " becomes what it was when the run began."
	switch {
	case r.Hunk != "":
		becomes = "The lines " + r.Hunk + " of " + name + " become what they were when the run began."
	case f.Status == "added":
		becomes = name + " is removed: the run has added it."
	case f.Old != "":
		becomes = name + " is removed, and " + sanitize.Line(f.Old, 0) + " is there again as it was when the run began."
	}
	c.d.dialogs.sure("Revert?", "Keep it", "Revert", func() { c.revert(run, r) }, render.Of(render.Base, becomes),
		render.Of(render.Dim, "It stays as it is if somebody has modified it since. The agents are notified."))
}

// revert makes the run revert a change, or the host if the run is not active.
func (c changeActions) revert(run string, r contract.Revert) {
	if c.d.session.run != nil && !c.d.session.over() {
		c.d.session.send(r)
		return
	}
	c.d.f.work(func(ctx context.Context) {
		err := c.d.f.options.Host.Revert(ctx, run, r)
		c.d.f.post(func() {
			if err != nil {
				c.d.flash("Refused: " + err.Error())
				return
			}
			c.d.flash("reverted " + r.Path)
			c.again()
		})
	})
}

// again makes the screens read the list of files again.
func (c changeActions) again() {
	for _, s := range c.d.screens {
		switch s := s.(type) {
		case *changesScreen:
			s.loaded = ""
			s.renew()
		case *diffScreen:
			s.list.loaded, s.shown = "", ""
			s.renew()
		}
	}
}

// askLand asks whether to commit the work of the run on the branch that is checked out. files are the
// known changes; nil: unknown.
func (c changeActions) askLand(files []ChangedFile) {
	run := c.runID()
	if run == "" {
		c.d.flash("There is no run, and nothing to land.")
		return
	}
	head := []render.Line{render.Of(render.Base,
		"The work of the run becomes one commit on your branch. Uncommitted changes are never overwritten.")}
	if len(files) > 0 {
		added, deleted := 0, 0
		for _, f := range files {
			added, deleted = added+f.Added, deleted+f.Deleted
		}
		head = append(head, render.Of(render.Dim,
			fmt.Sprintf("%s, +%d -%d", words.Count(len(files), "file"), added, deleted)))
	}
	c.d.dialogs.sure("Land the work?", "Not now", "Land it", func() { c.land(run) }, head...)
}

func (c changeActions) land(run string) {
	c.d.flash("Landing …")
	land := func(ctx context.Context) (string, error) { return c.d.f.options.Host.Land(ctx, run) }
	ask(c.d.f, land, func(report string, err error) {
		c.d.dialogs.showReport("Landed", report, err)
		if err == nil {
			c.again()
		}
	})
}

// command is /changes, which may name a file.
func (c changeActions) command(o view.EditorCommand) bool {
	list := newChangesScreen(c.d)
	list.wanted = strings.TrimSpace(o.Arg(0))
	c.d.open(list)
	return true
}

// revertCommand is /revert with a path, and optionally a place in the file.
func (c changeActions) revertCommand(o view.EditorCommand) bool {
	run, path := c.runID(), o.Arg(0)
	if run == "" {
		c.d.flash("There is no run, and nothing to revert.")
		return false
	}
	c.d.f.work(func(ctx context.Context) {
		h := c.d.f.options.Host
		list, err := h.Changes(ctx, run)
		i := slices.IndexFunc(list, func(f ChangedFile) bool { return f.Path == path })
		var found Versions
		if err == nil && i >= 0 {
			found, err = h.Versions(ctx, run, path, list[i].Old)
		}
		c.d.f.post(func() {
			switch {
			case err != nil:
				c.d.flash(err.Error())
			case i < 0:
				c.d.flash("The run has not changed " + path + ".")
			default:
				c.askRevert(list[i], contract.Revert{Path: path, Seen: found.Object, Hunk: o.Arg(1)})
			}
		})
	})
	return true
}
