package tui

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/gdamore/tcell/v2"

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
	version string // of the run when it was read; empty: it has to be read
	found   Versions
	differs render.Comparison
	instead string // the text for a change without lines to compare; empty: there are lines
}

func newChangesScreen(d *app) *changesScreen {
	c := &changesScreen{listScreen: newListScreen(d, keys.Changes, "CHANGES", view.ListColumn{Most: 1},
		view.ListColumn{Head: "FILE", Wide: true, Tail: true}, view.ListColumn{Head: "LINES", Right: true, Falls: true},
		view.ListColumn{Head: "AGENTS", Most: 28}, view.ListColumn{Head: "AGE", Right: true, Falls: true})}
	c.Preview, c.click, c.chose = c.preview, c.open, c.compare
	return c
}

func (c *changesScreen) act(a keys.Action) bool {
	switch f, ok := chosen[ChangedFile](c.List); a {
	case keys.Choose, keys.OpenFile, keys.RevertFile:
		switch {
		case !ok:
			c.d.flash("No file has changed.")
		case a == keys.Choose:
			c.open()
		case a == keys.OpenFile:
			c.d.editFile(f, 1)
		default:
			c.d.askRevert(f, contract.Revert{Path: f.Path})
		}
	case keys.LandWork:
		c.d.askLand(c.list)
	default:
		return c.listScreen.act(a)
	}
	return true
}

func (c *changesScreen) open() {
	if f, ok := chosen[ChangedFile](c.List); ok {
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
			c.busy, c.loaded, c.list = false, now, list
			c.Empty = "No file has changed since the run began. What a turn changes is listed when it ends."
			if err != nil {
				c.Empty = sanitize.Line(err.Error(), 400)
			}
			c.renew()
			if err == nil {
				c.openWanted()
			}
		})
}

// show lists the files: Git's list, with the run's record of their authors.
func (c *changesScreen) show(s *supervisor.State) {
	if c.loaded == "" {
		c.Empty = "Reading …"
	}
	rows := make([]view.ListRow, 0, len(c.list))
	for _, f := range c.list {
		rows = append(rows, c.row(f, authors(s, f)))
	}
	c.Set(rows)
	c.Note = append(render.Of(render.Dim, words.Count(len(c.list), "file")+"  "), changedLines(sum(c.list))...)
	c.compare()
}

// sum returns the number of lines that were changed in some files.
func sum(files []ChangedFile) (all ChangedFile) {
	for _, f := range files {
		all.Added, all.Deleted = all.Added+f.Added, all.Deleted+f.Deleted
	}
	return all
}

func changedLines(f ChangedFile) render.Line {
	return render.Of(render.DiffAdd, fmt.Sprintf("+%d", f.Added)).
		Append(render.DiffRemove, fmt.Sprintf(" -%d", f.Deleted))
}

// changeMarks are the letters for the changes of a file.
var changeMarks = map[string]render.Span{
	"added": {Text: "A", Role: render.DiffAdd}, "modified": {Text: "M", Role: render.Base},
	"deleted": {Text: "D", Role: render.DiffRemove}, "renamed": {Text: "R", Role: render.Active},
	"retyped": {Text: "T", Role: render.Warn},
}

func (c *changesScreen) row(f ChangedFile, by input.ChangeFile) view.ListRow {
	path := sanitize.Line(f.Path, 0)
	if f.Old != "" {
		path = sanitize.Line(f.Old, 0) + " " + c.d.look.Glyphs.Arrow + " " + path
	}
	lines := render.Of(render.Dim, "binary")
	if !f.Binary {
		lines = changedLines(f)
	}
	var agents render.Line
	add := func(ids []string, sure string) {
		for _, id := range ids {
			agents = agents.Append(render.Speaker(id), view.ShortName(c.d.session.name(id))+sure+"  ")
		}
	}
	add(by.Known(), "")
	add(by.Maybe(), "?")
	if len(by.Reported) > 1 {
		agents = agents.Append(render.Warn, "overlap")
	}
	return view.ListRow{
		Key: f.Path, Value: f,
		Find: strings.Join(slices.Concat([]string{path, f.Status, agents.Text()}, by.Known(), by.Maybe()), "\n"),
		Cells: []render.Line{{changeMarks[f.Status]}, render.Of(render.Strong, path), lines, agents,
			render.Of(render.Dim, view.Age(by.At, c.d.now()))},
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

func (c *changesScreen) compare() {
	if f, ok := chosen[ChangedFile](c.List); ok {
		c.shown.look(c.d, f, func() {})
	}
}

func (c *changesScreen) preview(_ view.ListRow, width int) []render.Line {
	if c.shown.instead != "" {
		return render.WrapText(render.Dim, c.shown.instead, width)
	}
	var lines []render.Line
	for _, h := range c.shown.differs.Hunks {
		lines = append(lines, render.Of(render.DiffHunk, "@@ "+h.String()+" @@"))
		lines = append(lines, c.shown.differs.Unified(h, render.MarkdownOptions{Width: width, Look: c.d.look})...)
	}
	return lines
}

// look makes a worker read both versions of a file, unless they are known. If they are not those that are shown, it
// calls changed.
func (c *comparison) look(d *app, f ChangedFile, changed func()) {
	state := d.session.state
	if state == nil || c.file == f && c.version == version(state) {
		return
	}
	if c.file.Path != f.Path {
		*c = comparison{instead: "Reading …"}
	}
	c.file, c.version = f, version(state)
	run, was := state.Options.Run, *c
	ask(d.f, func(ctx context.Context) (is comparison, err error) {
		is = was
		is.found, err = d.f.options.Host.Versions(ctx, run, f.Path, f.Old)
		is.differs = *render.Compare(render.CleanLines(is.found.Before, sanitize.Text),
			render.CleanLines(is.found.After, sanitize.Text), view.EventLanguage(f.Path))
		switch is.instead = ""; {
		case err != nil:
			is.instead = sanitize.Text(err.Error())
		case f.Binary:
			is.instead = "A binary file has changed."
		case len(is.differs.Hunks) == 0:
			is.instead = "No line differs: the file is empty, or was renamed or made executable, or only its line ends changed."
		}
		return is, nil
	}, func(is comparison, _ error) {
		if c.file == f && c.version == was.version && (is.found != c.found || is.instead != c.instead) {
			*c = is
			changed()
		}
	})
}

// authors returns who has changed a file, according to the run.
func authors(s *supervisor.State, f ChangedFile) (by input.ChangeFile) {
	if i := slices.IndexFunc(s.Changes.Files, func(a input.ChangeFile) bool { return a.Path == f.Path }); i >= 0 {
		by = s.Changes.Files[i]
	}
	return by
}

// about begins a message about a place in a file, to the agent that changed it.
func (c *changesScreen) about(f ChangedFile, line int, quoted string) {
	if c.d.session.replayed() {
		return
	}
	text := fmt.Sprintf("%s:%d: ", sanitize.Line(f.Path, 0), line)
	if quoted != "" {
		text = fmt.Sprintf("%s:%d:\n> %s\n", sanitize.Line(f.Path, 0), line, strings.ReplaceAll(quoted, "\n", "\n> "))
	}
	c.d.base(c.d.runScreen)
	c.d.prompt.to = ""
	if s := c.d.session.state; s != nil {
		for _, id := range authors(s, f).Known() { // the last one that can still read it
			if a := view.AgentOf(s, id); a != nil && a.Alive() {
				c.d.prompt.to = id
			}
		}
	}
	c.d.prompt.input.Begin(text)
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

// diffScreen shows what has changed in one file: a block for each place that differs.
type diffScreen struct {
	blockScreen
	comparison
	list  *changesScreen
	stamp uint64 // of what is shown
	side  bool   // show the versions beside each other, if there is room
	width int
}

func newDiffScreen(list *changesScreen, f ChangedFile) *diffScreen {
	s := &diffScreen{blockScreen: list.d.blocks(keys.Diff), list: list}
	s.show(f)
	return s
}

func (s *diffScreen) show(f ChangedFile) {
	s.look(s.d, f, s.restart)
	s.restart()
}

func (s *diffScreen) restart() {
	s.stamp++
	s.SetSource(s)
	s.Top()
}

// renew implements screen: it reads the file again after each snapshot, and what the list says of it.
func (s *diffScreen) renew() {
	s.list.renew()
	f := s.file
	if i := slices.IndexFunc(s.list.list, func(l ChangedFile) bool { return l.Path == f.Path }); i >= 0 {
		f = s.list.list[i]
	}
	s.look(s.d, f, s.restart)
}

func (s *diffScreen) draw(screen tcell.Screen, x, y, w, h int) {
	c := render.On(screen, x, y, w, h, s.d.look)
	s.width = w
	var right render.Line
	if n := len(s.differs.Hunks); n > 0 {
		right = render.Of(render.Dim, fmt.Sprintf("%d of %d  ", max(s.at(), 0)+1, n))
	}
	right = append(right, changedLines(s.file)...)
	c.Text(0, 0, render.Shorten(sanitize.Line(s.file.Path, 0), max(w-right.Width()-2, 1), s.d.look.Glyphs.Ellipsis),
		render.Title)
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

func (s *diffScreen) act(a keys.Action) bool {
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
		s.list.Down(by)
		if f, ok := chosen[ChangedFile](s.list.List); ok && f != s.file {
			s.show(f)
		}
	case keys.Comment:
		s.list.about(s.file, s.firstLine(), s.Copy())
	case keys.OpenFile:
		s.d.editFile(s.file, s.firstLine())
	case keys.RevertFile:
		s.d.askRevert(s.file, contract.Revert{Path: s.file.Path, Seen: s.found.Object})
	case keys.RevertHunk:
		i := s.at()
		switch {
		case i < 0:
			s.d.flash("There is no single place to revert here: X reverts the file.")
		case s.found.Cut:
			s.d.flash("The file is long, and only its beginning is compared: X reverts the whole file.")
		default:
			s.d.askRevert(s.file,
				contract.Revert{Path: s.file.Path, Seen: s.found.Object, Hunk: s.differs.Hunks[i].String()})
		}
	default:
		return s.blockScreen.act(a)
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

// Len, Stamp, Block and Tail implement view.BlockSource: one block for each place, or one for a text
// instead.
func (s *diffScreen) Len() int                { return max(len(s.differs.Hunks), 1) }
func (s *diffScreen) Stamp(int) uint64        { return s.stamp }
func (s *diffScreen) Tail(_ int) []view.Block { return nil }

func (s *diffScreen) Block(i, width int, _ bool) view.Block {
	if s.instead != "" {
		return view.Block{Gutter: render.Frame, Lines: render.WrapText(render.Dim, s.instead, width)}
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

// edit opens a file in the person's editor, at a line that is counted from 1.
func (d *app) editFile(f ChangedFile, line int) {
	run := d.runID()
	if run == "" {
		return
	}
	if f.Status == "deleted" {
		d.flash("The run has deleted this file: there is nothing to open.")
		return
	}
	d.outside(func(h Host) error { return h.Open(run, f.Path, line) })
}

func (d *app) askRevert(f ChangedFile, r contract.Revert) {
	run := d.runID()
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
	d.dialogs.sure("Revert?", "Keep it", "Revert", func() { d.revert(run, r) }, render.Of(render.Base, becomes),
		render.Of(render.Dim, "It stays as it is if somebody has modified it since. The agents are notified."))
}

// revert makes the run revert a change, or the host if the run is not active.
func (d *app) revert(run string, r contract.Revert) {
	if d.session.runs() {
		d.session.send(r)
		return
	}
	ask(d.f, func(ctx context.Context) (string, error) { return r.Path, d.f.options.Host.Revert(ctx, run, r) },
		func(path string, err error) {
			if err != nil {
				d.flash("Refused: " + err.Error())
				return
			}
			d.flash("reverted " + path)
			d.listAgain()
		})
}

// again makes the screens read the list of files again.
func (d *app) listAgain() {
	for _, s := range d.screens {
		switch s := s.(type) {
		case *changesScreen:
			s.loaded = ""
			s.renew()
		case *diffScreen:
			s.list.loaded, s.version = "", ""
			s.renew()
		}
	}
}

// askLand asks whether to commit the work of the run on the branch that is checked out. files are the
// known changes; nil: unknown.
func (d *app) askLand(files []ChangedFile) {
	run := d.runID()
	if run == "" {
		d.flash("There is no run, and nothing to land.")
		return
	}
	head := []render.Line{render.Of(render.Base,
		"The work of the run becomes one commit on your branch. Uncommitted changes are never overwritten.")}
	if len(files) > 0 {
		head = append(head, render.Of(render.Dim, words.Count(len(files), "file")+", "+changedLines(sum(files)).Text()))
	}
	d.dialogs.sure("Land the work?", "Not now", "Land it", func() {
		d.flash("Landing …")
		land := func(ctx context.Context) (string, error) { return d.f.options.Host.Land(ctx, run) }
		ask(d.f, land, func(report string, err error) {
			d.dialogs.showReport("Landed", report, err)
			if err == nil {
				d.listAgain()
			}
		})
	}, head...)
}

// revertCommand is /revert with a path, and optionally a place in the file.
func (d *app) revertCommand(o view.EditorCommand) bool {
	run, path := d.runID(), o.Arg(0)
	if run == "" {
		d.flash("There is no run, and nothing to revert.")
		return false
	}
	d.f.work(func(ctx context.Context) {
		h := d.f.options.Host
		list, err := h.Changes(ctx, run)
		i := slices.IndexFunc(list, func(f ChangedFile) bool { return f.Path == path })
		var found Versions
		if err == nil && i >= 0 {
			found, err = h.Versions(ctx, run, path, list[i].Old)
		}
		d.f.post(func() {
			switch {
			case err != nil:
				d.flash(err.Error())
			case i < 0:
				d.flash("The run has not changed " + path + ".")
			default:
				d.askRevert(list[i], contract.Revert{Path: path, Seen: found.Object, Hunk: o.Arg(1)})
			}
		})
	})
	return true
}
