package report

import (
	"encoding/json"
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/sanitize"
)

// work adds an event about workspaces or acceptance, by the names of its fields.
func (c *Collector) work(name string, line []byte) error {
	switch name {
	case "acceptance":
		return c.takeAcceptance(line)
	case "changes":
		return c.takeChanges(line)
	case "merge":
		return c.takeMerge(line)
	}
	return nil
}

// takeAcceptance keeps the last result of each criterion.
func (c *Collector) takeAcceptance(line []byte) error {
	var x Criterion
	if err := json.Unmarshal(line, &x); err != nil {
		return err
	}
	x.Text, x.Command = c.cut(x.Text, maxReason*2), c.text(x.Command)
	x.By, x.Status, x.SHA256, x.Tree = c.line(x.By), c.line(x.Status), c.line(x.SHA256), c.line(x.Tree)
	for i, o := range c.r.Acceptance {
		if o.Text == x.Text && o.Command == x.Command {
			c.r.Acceptance[i] = x
			return nil
		}
	}
	c.r.Acceptance = bounded(c, "acceptance criteria", c.r.Acceptance, x, maxList)
	return nil
}

// changedFile is a file of an event of changes.
type changedFile struct {
	File
	Unsure bool // not each of its agents is known to have changed it
}

// authors adds the agents that changed a file, with a mark if they are not known to have done so.
func (c *Collector) authors(list []string, f changedFile) []string {
	for _, id := range f.Agents {
		id = c.line(id)
		sure, maybe := slices.Contains(list, id), slices.Index(list, id+"?")
		switch {
		case sure || f.Unsure && maybe >= 0:
		case f.Unsure:
			list = append(list, id+"?")
		case maybe >= 0:
			list[maybe] = id
		default:
			list = append(list, id)
		}
	}
	return list
}

// takeChanges adds the files that a turn changed. Lines that were changed twice count twice: if there are
// snapshots, [Report.SetChanges] replaces these figures.
func (c *Collector) takeChanges(line []byte) error {
	var x struct{ Files []changedFile }
	if err := json.Unmarshal(line, &x); err != nil {
		return err
	}
	for _, f := range x.Files {
		path := sanitize.Line(c.mask(f.Path), maxReason)
		c.r.Changes.Added += f.Added
		c.r.Changes.Deleted += f.Deleted
		known := c.files[path]
		switch {
		case known != nil:
			known.Added, known.Deleted, known.Status = known.Added+f.Added, known.Deleted+f.Deleted, c.line(f.Status)
			known.Agents = c.authors(known.Agents, f)
		case len(c.moves) < maxFiles:
			c.files[path], c.moves = &File{Path: path, Old: c.line(f.Old), Status: c.line(f.Status), Added: f.Added,
				Deleted: f.Deleted, Binary: f.Binary, Agents: c.authors(nil, f)}, append(c.moves, path)
			c.r.Changes.Count++
		default:
			c.r.Changes.Count++
		}
	}
	return nil
}

// takeMerge keeps conflicts until the same work was merged.
func (c *Collector) takeMerge(line []byte) error {
	var x struct {
		ID, Status, Head string
		Files            []string
	}
	if err := json.Unmarshal(line, &x); err != nil {
		return err
	}
	id := c.line(x.ID)
	delete(c.merges, id)
	if x.Status == "conflict" {
		names := ""
		for i, f := range x.Files {
			if i == 10 {
				names += fmt.Sprintf(" and %d more", len(x.Files)-i)
				break
			}
			names += " " + c.line(f)
		}
		c.merges[id] = "the work of " + id + " could not be merged:" + names
	} else if x.Head != "" {
		c.r.Changes.Head = c.line(x.Head)
	}
	return nil
}

// SetChanges sets the changes between the snapshots of the run. It replaces those from events, except
// who made them. mask is that
// of [NewCollector].
func (r *Report) SetChanges(changes []workspace.Change, mask func(string) string) {
	if mask == nil {
		mask = sanitize.Redact
	}
	name := func(path string) string { return sanitize.Line(mask(path), maxReason) }
	by := map[string][]string{}
	for _, f := range r.Changes.Files {
		by[f.Path] = f.Agents
	}
	r.Changes = Changes{Files: []File{}, Count: len(changes), Branch: r.Changes.Branch, Head: r.Changes.Head}
	for _, x := range changes {
		r.Changes.Added += x.Added
		r.Changes.Deleted += x.Deleted
		if len(r.Changes.Files) < maxFiles {
			r.Changes.Files = append(r.Changes.Files, File{
				Path: name(x.Path), Old: name(x.Old), Status: string(x.Status), Added: x.Added, Deleted: x.Deleted,
				Binary: x.Binary, Agents: by[name(x.Path)],
			})
		}
	}
}

// NoChanges sets why changes are unknown, unless events have reported some.
func (r *Report) NoChanges(why string) {
	if r.Changes.Count == 0 {
		r.Changes.Missing = why
	}
}
