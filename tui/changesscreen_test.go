package tui

import (
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// changed makes the run's directory differ in some files.
func changed(_ *Options, h *fakeHost) {
	h.changed = []ChangedFile{
		{Path: "docs/of the loom/very deep in the tree of the weavers/header.md", Status: "added", Added: 120},
		{Path: "header.go", Status: "modified", Added: 3, Deleted: 2},
		{Path: "loom.png", Status: "modified", Binary: true},
		{Path: "warp.go", Old: "weft.go", Status: "renamed", Added: 1},
		{Path: "old\x1b[31m.go", Status: "deleted", Deleted: 40},
	}
	h.versions = map[string]Versions{"header.go": {
		Before: "package loom\n\n// Header is what a cloth begins with.\n" +
			"type Header struct {\n\tName string\n}\n\nfunc (h Header) Len() int {\n\treturn len(h.Name)\n}\n",
		After: "package loom\n\n// Header is what a cloth begins with.\n" +
			"type Header struct {\n\tName  string\n\tThreads int\n}\n\n" +
			"func (h Header) Len() int {\n\treturn len(h.Name) + h.Threads\n}\n",
	}}
}

// authored opens the list of files; the run knows the authors of some.
func authored(s *scene) {
	s.startWork()
	s.present(func(st *supervisor.State) {
		st.Changes.Files = []input.ChangeFile{
			{Path: "header.go", Authors: []input.ChangeAuthor{{Agent: "orch-1", Known: 1}, {Agent: "orch-2", Known: 1}},
				Reported: []string{"orch-1", "orch-2"}},
			{Path: "warp.go", Authors: []input.ChangeAuthor{{Agent: "orch-1", Maybe: 1}, {Agent: "orch-2", Maybe: 1}}},
			{Path: "loom.png", Authors: []input.ChangeAuthor{{Agent: "orch-2", Known: 1}}},
		}
	})
	s.Press("F5")
}

// TestChangesAreListedAnew: the list follows the snapshots of the run, and keeps the selection.
func TestChangesAreListedAnew(t *testing.T) {
	play(t, 120, 40, changed, func(s *scene) {
		authored(s)
		s.Press("Down")
		s.host.mu.Lock()
		s.host.changed = append([]ChangedFile{{Path: "a.go", Status: "added", Added: 7}}, s.host.changed...)
		s.host.mu.Unlock()
		s.present(func(st *supervisor.State) { st.Changes.Serial++ })
		s.Expect("a.go", "6 files")
		s.Press("Enter")
		s.Expect("Threads int")
		s.Press("]")
		s.Expect("binary file")
		s.Press("Esc")
		s.Expect("CHANGES")
	})
}

// TestChangeIsCommented: the list shows the difference of the current file, sorts and searches; a comment on a place
// goes to the agent that changed the file.
func TestChangeIsCommented(t *testing.T) {
	play(t, 120, 40, changed, func(s *scene) {
		authored(s)
		s.Expect("FILE", "LINES", "AGENTS")
		s.Press("Down")
		s.Expect("Threads int", "@@ -")
		s.Press("/")
		s.Type("orch-2 binary\n")
		s.ExpectNot("header.go")
		s.Press("Ctrl+U", "Esc", "s", "s", "s", "g")
		s.Expect("Sorted by lines.", "header.md")
		s.Press("Down", "Down", "Enter")
		s.Expect("Threads int")
		s.Press("c")
		s.Type("why?\n")
		s.expectTook(contract.Say{To: "orch-2", Text: "header.go:5: why?"})
	})
}
