package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/keys"
	"github.com/arbiter-cli/arbiter/tui/render"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// changesScreen lists the files that the run has changed, with the agents that changed them.
type changesScreen struct {
	listScreen
	list   []ChangedFile
	loaded string // state of the shown list, as returned by version; empty: there is no list yet
	busy   bool   // a worker is reading
	wanted string // path of a file to compare once there is a list

	shown comparison // of the current file
}

// comparison is a file as it was before the run, and as it is.
type comparison struct {
	file    ChangedFile
	version string // of the run when it was read
	found   Versions
	differs *render.Comparison
	problem string
	loaded  bool
}

// around is how many unchanged lines are shown around each change.
const around = 3

func newChangesScreen(d *app) *changesScreen {
	c := &changesScreen{listScreen: newListScreen(d, keys.Changes, "CHANGES", view.ListColumn{Most: 1},
		view.ListColumn{Head: "FILE", Wide: true, Tail: true}, view.ListColumn{Head: "LINES", Right: true, Falls: true},
		view.ListColumn{Head: "AGENTS", Most: 28}, view.ListColumn{Head: "AGE", Right: true, Falls: true})}
	c.Preview, c.click = c.preview, c.open
	return c
}

func (c *changesScreen) act(a keys.Action, key string) bool {
	switch f, ok := c.chosen(); a {
	case keys.Choose, keys.OpenFile, keys.RevertFile:
		switch {
		case !ok:
			c.d.flash("No file has changed.")
		case a == keys.Choose:
			c.open()
		case a == keys.OpenFile:
			c.d.changes.edit(f, 1)
		default:
			c.d.changes.askRevert(f, contract.Revert{Path: f.Path})
		}
	case keys.LandWork:
		c.d.changes.askLand(c.list)
	default:
		defer c.look()
		return c.listScreen.act(a, key)
	}
	return true
}

// chosen returns the current file.
func (c *changesScreen) chosen() (f ChangedFile, ok bool) {
	row, ok := c.Chosen()
	if ok {
		f = row.Value.(ChangedFile)
	}
	return f, ok
}

// open shows the current file.
func (c *changesScreen) open() {
	if f, ok := c.chosen(); ok {
		c.d.open(newDiffScreen(c, f))
	}
}

// version identifies a state of the files: it changes with each snapshot.
func version(s *supervisor.State) string {
	return fmt.Sprint(s.Options.Run, s.Changes.Serial, s.Changes.Last, s.Changes.RevertsDone)
}

// renew implements screen: it lists the files again after each snapshot.
func (c *changesScreen) renew() {
	s := c.d.session.state
	if s == nil {
		c.Empty = "There is no run yet, and nothing has changed."
		return
	}
	c.show(s)
	if c.busy || c.loaded == version(s) {
		return
	}
	c.busy = true
	run, now := s.Options.Run, version(s)
	ask(c.d.f, func(ctx context.Context) ([]ChangedFile, error) { return c.d.f.options.Host.Changes(ctx, run) },
		func(list []ChangedFile, err error) {
			c.busy, c.loaded, c.list, c.Empty = false, now, list, "No file has changed since the run began."
			if err != nil {
				c.Empty = sanitize.Line(err.Error(), 400)
			}
			c.renew()
			c.openWanted()
		})
}

// show lists the files: Git's list, with the run's record of their authors.
func (c *changesScreen) show(s *supervisor.State) {
	if c.loaded == "" {
		c.Empty = "Reading …"
	}
	rows, added, deleted := make([]view.ListRow, 0, len(c.list)), 0, 0
	for _, f := range c.list {
		var by input.ChangeFile
		if i := slices.IndexFunc(s.Changes.Files, func(a input.ChangeFile) bool { return a.Path == f.Path }); i >= 0 {
			by = s.Changes.Files[i]
		}
		rows = append(rows, changeRow(f, by, c.d.look, c.d.now()))
		added, deleted = added+f.Added, deleted+f.Deleted
	}
	c.Set(rows)
	c.Note = render.Of(render.Dim, words.Count(len(c.list), "file")+"  ").
		Append(render.DiffAdd, fmt.Sprintf("+%d", added)).Append(render.DiffRemove, fmt.Sprintf(" -%d", deleted))
	c.look()
}

// changeMarks are the letters for the changes of a file.
var changeMarks = map[string]render.Span{
	"added": {Text: "A", Role: render.DiffAdd}, "modified": {Text: "M", Role: render.Base},
	"deleted": {Text: "D", Role: render.DiffRemove}, "renamed": {Text: "R", Role: render.Active},
	"retyped": {Text: "T", Role: render.Warn},
}

func changeRow(f ChangedFile, by input.ChangeFile, look *render.Look, now time.Time) view.ListRow {
	path := sanitize.Line(f.Path, 0)
	if f.Old != "" {
		path = sanitize.Line(f.Old, 0) + " " + look.Glyphs.Arrow + " " + path
	}
	lines := render.Of(render.Dim, "binary")
	if !f.Binary {
		lines = render.Of(render.DiffAdd, fmt.Sprintf("+%d", f.Added)).
			Append(render.DiffRemove, fmt.Sprintf(" -%d", f.Deleted))
	}
	var agents render.Line
	for _, id := range by.Known() {
		agents = agents.Append(render.Speaker(id), id+" ")
	}
	for _, id := range by.Maybe() {
		agents = agents.Append(render.Speaker(id), id+"? ")
	}
	if len(by.Reported) > 1 {
		agents = agents.Append(render.Warn, "overlap")
	}
	return view.ListRow{
		Key: path, Value: f, Find: path + "\n" + f.Status + "\n" + agents.Text(),
		Cells: []render.Line{{changeMarks[f.Status]}, render.Of(render.Strong, path), lines, agents,
			render.Of(render.Dim, view.Age(by.At, now))},
		Sort: []string{f.Status, path, fmt.Sprintf("%012d", f.Added+f.Deleted), agents.Text(),
			by.At.UTC().Format(time.RFC3339)},
	}
}

// openWanted opens the comparison of the file that was requested by its path.
func (c *changesScreen) openWanted() {
	if c.wanted == "" || c.d.screen() != screen(c) {
		return
	}
	wanted := c.wanted
	c.wanted = ""
	if !c.Choose(wanted) {
		c.d.flash("The run has not changed " + wanted + ".")
		return
	}
	c.open()
}

// look makes the preview show the current file as it is now.
func (c *changesScreen) look() {
	f, ok := c.chosen()
	if !ok || c.shown.file == f && c.d.session.state != nil && c.shown.version == version(c.d.session.state) {
		return
	}
	c.d.compare(f, func(found comparison) {
		if now, ok := c.chosen(); ok && now == f {
			c.shown = found
		}
	})
	if c.shown.file != f {
		c.shown = comparison{file: f}
	}
	if c.d.session.state != nil {
		c.shown.version = version(c.d.session.state)
	}
}

// preview shows the difference of a file.
func (c *changesScreen) preview(_ view.ListRow, width int) []render.Line {
	if text := c.shown.instead(); text != "" {
		return render.WrapText(render.Dim, text, width)
	}
	var lines []render.Line
	for _, h := range c.shown.differs.Hunks {
		lines = append(lines, render.Of(render.DiffHunk, "@@ "+h.String()+" @@"))
		lines = append(lines, c.shown.differs.Unified(h, render.MarkdownOptions{Width: width, Look: c.d.look})...)
	}
	return lines
}

// compare makes a worker read both versions of a file, and then calls show.
func (d *app) compare(f ChangedFile, show func(comparison)) {
	state := d.session.state
	if state == nil {
		return
	}
	run, c := state.Options.Run, comparison{file: f, version: version(state), loaded: true}
	d.f.work(func(ctx context.Context) {
		found, err := d.f.options.Host.Versions(ctx, run, f.Path, f.Old)
		c.found, c.differs = found, render.Compare("", "", "", 0)
		if err != nil {
			c.problem = sanitize.Text(err.Error())
		} else {
			c.differs = render.Compare(render.CleanLines(found.Before, sanitize.Text),
				render.CleanLines(found.After, sanitize.Text), view.EventLanguage(f.Path), around)
		}
		d.f.post(func() { show(c) })
	})
}

// instead returns the text for a change without lines to compare; empty: there are lines.
func (c *comparison) instead() string {
	switch {
	case c.problem != "":
		return c.problem
	case !c.loaded:
		return "Reading …"
	case c.file.Binary:
		return "A binary file has changed."
	case len(c.differs.Hunks) == 0:
		return "No line differs: the file is empty, or was renamed or made executable, or only its line ends changed."
	}
	return ""
}

// authors returns the agents that are known to have changed a file.
func (c *changesScreen) authors(f ChangedFile) []string {
	if s := c.d.session.state; s != nil {
		for _, a := range s.Changes.Files {
			if a.Path == f.Path {
				return a.Known()
			}
		}
	}
	return nil
}

// about begins a message about a place in a file, to the agent that changed it.
func (c *changesScreen) about(f ChangedFile, line int, quoted string) {
	if c.d.session.replayed() {
		return
	}
	to := ""
	if by := c.authors(f); len(by) > 0 {
		to = by[len(by)-1]
	}
	text := fmt.Sprintf("%s:%d: ", sanitize.Line(f.Path, 0), line)
	if quoted != "" {
		text = fmt.Sprintf("%s:%d:\n> %s\n", sanitize.Line(f.Path, 0), line, strings.ReplaceAll(quoted, "\n", "\n> "))
	}
	c.d.base(c.d.runScreen)
	c.d.prompt.to = to
	c.d.prompt.input.SetText(text)
	c.d.prompt.write()
}

// ChangedFile is a file that a run has changed. Its names are those of the file system.
type ChangedFile struct {
	Path    string
	Old     string // previous path of a renamed file
	Status  string // added, modified, deleted, renamed, retyped
	Added   int    // lines
	Deleted int
	Binary  bool
}

// Versions are the contents of a changed file before the run and now.
type Versions struct {
	Before, After string
	Cut           bool   // they are longer
	Object        string // of the contents now, as Git names it; empty: the file was deleted
}
