package subcommands

import (
	"encoding/json"
	"fmt"
	"text/tabwriter"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// listChanges prints the files of a diff: their names, or the number of changed lines of each.
func (e workEnv) listChanges(c *cli.Context, r *workspaces.Repo, span workspaces.Span) error {
	changes, err := r.Changes(c.Context, span.From, span.To)
	if err != nil {
		return command.Environmentf("list changes: %v", err)
	}
	if c.Bool("json") {
		return e.changesJSON(changes)
	}
	if c.Bool("name-only") {
		for _, change := range changes {
			fmt.Fprintln(e.Stdout, FileName(change.Path))
		}
		return nil
	}
	w := tabwriter.NewWriter(e.Stdout, 0, 0, 1, ' ', 0)
	added, deleted := 0, 0
	for _, change := range changes {
		added, deleted = added+change.Added, deleted+change.Deleted
		lines := fmt.Sprintf("+%d\t-%d", change.Added, change.Deleted)
		if change.Binary {
			lines = "binary\t"
		}
		name := FileName(change.Path)
		if change.Old != "" {
			name = FileName(change.Old) + " → " + name
		}
		fmt.Fprintf(w, "%s\t%s\t%s\n", change.Status, lines, name)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	_, err = fmt.Fprintf(e.Stdout, "%s, +%d -%d\n", words.Count(len(changes), "file"), added, deleted)
	return err
}

// changesJSON prints the files of a diff as one JSON array. A deleted file has no object.
func (e workEnv) changesJSON(changes []workspaces.Change) error {
	type file struct {
		workspaces.Change
		Object string `json:"object,omitempty"` // of the contents at the end of the run
	}
	list := make([]file, 0, len(changes))
	for _, c := range changes {
		list = append(list, file{c, c.To.ID})
	}
	return json.NewEncoder(e.Stdout).Encode(list)
}
