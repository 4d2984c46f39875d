package runstore

import (
	"strings"
	"testing"
)

// TestSuccessorBringsAllIntoSharedFiles: work that a predecessor left unmerged reaches the shared files with the
// work of its successor or of a later one. Work that was merged before is not merged again.
func TestSuccessorBringsAllIntoSharedFiles(t *testing.T) {
	p := begin(t, "shared")
	one := p.place("orch-1", "worktree", "")
	one.Write("merged", "1\n")
	p.merge("orch-1")
	p.Write("merged", "2\n") // by another agent, in the shared files
	one.Write("left", "by the first\n")
	two := p.place("orch-2", "worktree", "orch-1")
	two.Write("more", "by the second\n")
	three := p.place("orch-3", "worktree", "orch-2")
	three.Write("rest", "by the third\n")
	p.merge("orch-3")
	files := p.Files()
	for name, want := range map[string]string{
		"left": "by the first\n", "more": "by the second\n", "rest": "by the third\n", "merged": "2\n",
	} {
		if got := files[name]; !strings.HasSuffix(got, " "+want) {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}
