package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
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

// TestChangesAreListedAnew: the list follows the snapshots of the run, and keeps the selection. A double click opens a
// file.
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
		s.ClickOn("header.go")
		s.Expect("CHANGES", "Threads int")
		s.ClickOn("header.go")
		s.ExpectNot("CHANGES")
		s.Expect("side by side", "Threads int")
	})
}

// TestComparisonCountsAnew: after a snapshot or a revert the file is compared again, and the head of the comparison
// counts the lines of what is shown.
func TestComparisonCountsAnew(t *testing.T) {
	play(t, 120, 40, changed, func(s *scene) {
		authored(s)
		s.Press("Down", "Enter")
		s.Expect("header.go", "+3 -2")
		s.host.mu.Lock()
		s.host.changed[1].Added, s.host.versions["header.go"] = 4, Versions{After: "package loom\n\n// More\n"}
		s.host.mu.Unlock()
		s.present(func(st *supervisor.State) { st.Changes.Serial++ })
		s.Expect("// More", "+4 -2")
		s.host.mu.Lock()
		s.host.versions = map[string]Versions{"header.go": {Before: "a\n", After: "quite another text\n"}}
		s.host.mu.Unlock()
		s.present(func(st *supervisor.State) { st.Changes.RevertsDone++ })
		s.Expect("quite another text")
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
		s.Press("Ctrl+U", "Esc", "s")
		s.Expect("Sorted by mark.")
		s.Press("s", "s", "g")
		s.Expect("Sorted by lines.", "header.md")
		s.Press("Down", "Down", "Enter")
		s.Expect("Threads int")
		s.Press("c")
		s.Type("why?\n")
		s.expectTook(contract.Say{To: "orch-2", Text: "header.go:5: why?"})
		s.present(func(st *supervisor.State) {
			gone := *st.Agents[2]
			gone.Status = supervisor.AgentEnded
			st.Agents = []*supervisor.Agent{st.Agents[0], st.Agents[1], &gone}
		})
		s.Press("F5", "Down", "Enter")
		s.Expect("Threads int")
		s.Press("c") // to the one that can read it
		s.Type("and now?\n")
		s.expectTook(contract.Say{To: "orch-1", Text: "header.go:5: and now?"})
	})
}

// inGit makes the run work in a repository.
func inGit(o *Options, h *fakeHost) {
	changed(o, h)
	v := h.versions["header.go"]
	v.Object = "0f0f"
	h.versions["header.go"] = v
	h.options = func(o *runconfig.Options) {
		o.Workspace = runconfig.Workspace{Root: "/home/weaver/loom", Base: "base"}
	}
}

// TestRevertOnTheScreen: x asks, and makes the run revert the file or the current place; n keeps it.
func TestRevertOnTheScreen(t *testing.T) {
	play(t, 120, 40, inGit, func(s *scene) {
		authored(s)
		s.Press("Down", "x")
		s.Expect("header.go becomes what it was when the run began")
		s.Press("n")
		_, sent := s.host.present().took().(contract.Revert)
		testkit.Check(t, !sent, "what was to be kept is reverted")
		s.Press("x", "y")
		s.expectTook(contract.Revert{Path: "header.go"})
		s.Press("Enter")
		s.Expect("@@ -2,9 +2,10 @@")
		s.Press("x", "y")
		want := contract.Revert{Path: "header.go", Seen: "0f0f", Hunk: "-2,9 +2,10"}
		s.expectTook(want)
		s.Press("X", "y")
		s.expectTook(contract.Revert{Path: "header.go", Seen: "0f0f"})
	})
}

// TestOpenInTheEditor: e opens the file at the current place, but not a deleted file.
func TestOpenInTheEditor(t *testing.T) {
	play(t, 120, 40, inGit, func(s *scene) {
		authored(s)
		s.Press("Down", "e", "Enter")
		s.Press("e", "Esc", "Down", "Down", "e")
		testkit.Same(t, fmt.Sprintf("opened %q", s.host.opened), s.host.opened[:2],
			[]string{"header.go:1", "header.go:5"})
		for range s.host.changed {
			if s.Shows("deleted this file") {
				break
			}
			s.Press("Down", "e")
		}
		s.Expect("deleted this file")
	})
}

// TestLandOnTheScreen: M asks, lands, and shows the result, or the reason why nothing was done.
func TestLandOnTheScreen(t *testing.T) {
	play(t, 120, 40, inGit, func(s *scene) {
		authored(s)
		s.Press("M", "n", "M")
		s.Expect("Uncommitted changes are never")
		testkit.Need(t, s.host.landed == 0, "it is not asked")
		s.Press("y")
		s.Expect("main is now 0123abcd")
		s.host.barred = errors.New("uncommitted changes would be overwritten in \"a.go\"")
		s.Advance(time.Second)
		s.Press("y", "M", "y")
		s.Expect("uncommitted changes would be overwritten", "Not landed")
	})
}

// TestChangesByCommand: the slash commands do the same.
func TestChangesByCommand(t *testing.T) {
	play(t, 120, 40, inGit, func(s *scene) {
		authored(s)
		s.Press("Esc")
		s.Type("/changes header.go\n")
		s.Expect("Threads int")
		s.Press("Esc", "Esc")
		s.Type("/changes warp.go\n") // it was renamed
		s.Expect("No line differs")
		s.Press("Esc", "Esc")
		s.host.unreadable = errors.New("the run has no snapshot")
		s.Type("/changes header.go\n")
		s.Expect("the run has no snapshot")
		s.ExpectNot("has not changed")
		s.host.unreadable = nil
		s.Press("Esc")
		s.Type("/revert header.go -1,2 +1,3\n")
		s.Press("y")
		want := contract.Revert{Path: "header.go", Seen: "0f0f", Hunk: "-1,2 +1,3"}
		s.expectTook(want)
		s.Press("Ctrl+U")
		s.Type("/revert nothing.go\n")
		s.Expect("has not changed nothing.go")
	})
}

// TestRevertAfterTheEnd: after the run's end the host reverts, and the screen reloads the list.
func TestRevertAfterTheEnd(t *testing.T) {
	play(t, 120, 40, changed, func(s *scene) {
		authored(s)
		s.host.present().Stop()
		s.Settle()
		s.Press("F5")
		s.Press("Down", "x", "y")
		want := []contract.Revert{{Path: "header.go"}}
		testkit.Check(t, slices.Equal(s.host.reverted, want), "the host was asked for %+v", s.host.reverted)
	})
}

func (h *fakeHost) Changes(context.Context, string) ([]ChangedFile, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.changed, h.unreadable
}

func (h *fakeHost) Versions(_ context.Context, _, path, _ string) (Versions, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.versions[path], h.unreadable
}

func (h *fakeHost) Revert(_ context.Context, run string, r contract.Revert) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.reverted = append(h.reverted, r)
	return h.barred
}

func (h *fakeHost) Fork(_ context.Context, run string, at int) (string, error) {
	return fmt.Sprintf("%s is forked before decision %d", run, at), nil
}

func (h *fakeHost) Land(context.Context, string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.landed++
	return "main is now 0123abcd", h.barred
}

func (h *fakeHost) Open(_, path string, line int) error {
	h.opened = append(h.opened, fmt.Sprintf("%s:%d", path, line))
	return h.barred
}
