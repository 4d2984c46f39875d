package tui

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

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
		if _, sent := s.host.present().took().(contract.Revert); sent {
			t.Error("what was to be kept is reverted")
		}
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
		if want := []string{"header.go:1", "header.go:5"}; !slices.Equal(s.host.opened[:2], want) {
			t.Errorf("opened %q, want %q", s.host.opened, want)
		}
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
		if s.host.landed != 0 {
			t.Fatal("it is not asked")
		}
		s.Press("y")
		s.Expect("main is now 0123abcd")
		s.host.barred = errors.New("uncommitted changes would be overwritten in \"a.go\"")
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
		if want := []contract.Revert{{Path: "header.go"}}; !slices.Equal(s.host.reverted, want) {
			t.Errorf("the host was asked for %+v", s.host.reverted)
		}
	})
}

// TestTheDiffFollowsTheRun: after a snapshot the file is compared again.
func TestTheDiffFollowsTheRun(t *testing.T) {
	play(t, 120, 40, inGit, func(s *scene) {
		authored(s)
		s.Press("Down", "Enter")
		s.host.mu.Lock()
		s.host.versions = map[string]Versions{"header.go": {Before: "a\n", After: "quite another text\n"}}
		s.host.mu.Unlock()
		s.present(func(st *supervisor.State) { st.Changes.RevertsDone++ })
		s.Settle()
		s.Expect("quite another text")
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
