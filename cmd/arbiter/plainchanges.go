package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/clients"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/subcommands"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/view"
)

// Commands of the plain frontend for the files that a run has changed.

// plainDiff is the maximum size, in bytes, of a diff in plain lines.
const plainDiff = 32 << 10

const noRunYet = "There is no run yet. Say what is to be done, and one begins."

// plainChanges lists the changed files with their authors, or shows the changes of one file.
func plainChanges(p plainHost, l *clients.ScreenSession, s *supervisor.State, c view.EditorCommand) string {
	if l == nil {
		return noRunYet
	}
	r, _, changed, err := p.ChangedFiles(p.Context(), l.ID())
	if err != nil {
		return sanitize.Line(err.Error(), 500)
	}
	path := c.Arg(0)
	if path == "" {
		return changesText(changed, s)
	}
	span, err := r.Work(p.Context())
	if err != nil {
		return sanitize.Line(err.Error(), 500)
	}
	text, cut, err := r.Diff(p.Context(), span.From, span.To,
		workspaces.DiffOptions{Paths: []string{path}, Max: plainDiff})
	switch {
	case err != nil:
		return sanitize.Line(err.Error(), 500)
	case len(text) == 0:
		return "The run has not changed " + subcommands.FileName(path) + "."
	}
	report := strings.TrimRight(sanitize.Text(string(text)), "\n")
	if cut {
		report += "\nThe rest is left out: arbiter diff prints all of it."
	}
	return report + "\n/revert " + subcommands.FileName(
		path,
	) + " takes all of it back; with the numbers behind @@, such as " +
		"-12,3 +12,5, one place."
}

// changesText lists changed files: the kind of change, the numbers of lines, and who changed the file.
func changesText(changed []workspaces.Change, s *supervisor.State) string {
	if len(changed) == 0 {
		return "No file has changed since the run began."
	}
	var b strings.Builder
	added, deleted := 0, 0
	for _, c := range changed {
		added, deleted = added+c.Added, deleted+c.Deleted
		fmt.Fprintf(&b, "%s %s", subcommands.FileName(c.Path), c.Status)
		if c.Old != "" {
			fmt.Fprintf(&b, " from %s", subcommands.FileName(c.Old))
		}
		if c.Binary {
			b.WriteString(", binary")
		} else {
			fmt.Fprintf(&b, ", +%d -%d", c.Added, c.Deleted)
		}
		if s != nil {
			if f, ok := s.Changes.File(c.Path); ok {
				who := f.Known()
				for _, id := range f.Maybe() {
					who = append(who, "perhaps "+id)
				}
				if len(who) > 0 {
					b.WriteString(", by " + strings.Join(who, ", "))
				}
				if len(f.Reported) > 1 {
					b.WriteString(", overlap")
				}
			}
		}
		b.WriteString("\n")
	}
	fmt.Fprintf(&b, "%s, +%d -%d. /changes PATH shows what has changed in one.", words.Count(len(changed), "file"), added,
		deleted)
	return b.String()
}

// plainRevert reverts a file, or one hunk of it.
func plainRevert(p plainHost, l *clients.ScreenSession, _ *supervisor.State, c view.EditorCommand) string {
	if l == nil {
		return noRunYet
	}
	revert := contract.Revert{Path: c.Arg(0), Hunk: c.Arg(1)}
	if revert.Hunk != "" {
		_, _, changed, err := p.ChangedFiles(p.Context(), l.ID())
		if err != nil {
			return sanitize.Line(err.Error(), 500)
		}
		i := slices.IndexFunc(changed, func(c workspaces.Change) bool { return c.Path == revert.Path })
		if i < 0 {
			return "The run has not changed " + subcommands.FileName(revert.Path) + "."
		}
		revert.Seen = changed[i].To.ID
	}
	if l.Put(contract.Command{Ref: "plain", Body: revert}) {
		return ""
	}
	if err := p.Revert(p.Context(), l.ID(), revert); err != nil {
		return sanitize.Line(err.Error(), 500)
	}
	return "reverted " + subcommands.FileName(revert.Path)
}

// plainLand merges the work of the run.
func plainLand(p plainHost, l *clients.ScreenSession, _ *supervisor.State, _ view.EditorCommand) string {
	if l == nil {
		return noRunYet
	}
	report, err := p.Land(p.Context(), l.ID())
	if err != nil {
		return sanitize.Line(err.Error(), 500)
	}
	return sanitize.Line(report, 500)
}
