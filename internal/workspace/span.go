package workspace

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// Names of snapshots and branches that a run has.
const (
	Base = "base" // snapshot of the user's work tree when the run began
	End  = "end"  // snapshot of it after the last turn of an agent that worked there
	Main = "main" // run branch, for agents with a directory of their own
)

// ErrNoSnapshot reports a run without a snapshot: it worked without Git, in another repository, or before
// snapshots existed.
var ErrNoSnapshot = errors.New("the run has no snapshot in this repository")

// Span is work: the difference between two commits or trees.
type Span struct{ From, To string }

// Work returns what the run changed: in the user's work tree if its agents worked there (there is a
// snapshot [End]), otherwise on the run branch. If there is neither, the run has just begun, and the
// current files are used.
func (r *Repo) Work(ctx context.Context) (Span, error) {
	found, err := r.Commits(ctx, r.Ref(Base), r.Ref(End), r.Branch(Main))
	if err != nil {
		return Span{}, err
	}
	base, end, branch := found[0].ID, found[1].ID, found[2].ID
	switch {
	case base == "":
		return Span{}, ErrNoSnapshot
	case end != "":
		return Span{base, end}, nil
	case branch != "":
		from, err := r.Git.Text(ctx, "merge-base", base, branch)
		return Span{from, branch}, err
	}
	tree, _, err := r.Tree(ctx)
	return Span{base, tree}, err
}

// WorkOf returns what an Orchestrator changed in a directory of its own: from the commit at which its last
// branch began, to the head of that branch, with the uncommitted work that was saved on top of it. ok is
// false if it had no such directory.
func (r *Repo) WorkOf(ctx context.Context, orchestrator int) (s Span, ok bool, err error) {
	name := fmt.Sprintf("orch-%d", orchestrator)
	out, err := r.Git.Text(ctx, "for-each-ref", "--format=%(refname)", strings.TrimSuffix(r.Branch(""), "/"))
	if err != nil {
		return Span{}, false, err
	}
	last, branch := -1, ""
	for line := range strings.Lines(out) {
		ref := strings.TrimSpace(line)
		generation, ours := strings.CutPrefix(ref, r.Branch(name+"."))
		if n, err := strconv.Atoi(generation); ours && err == nil && n > last {
			last, branch = n, ref
		}
	}
	if branch == "" {
		return Span{}, false, nil
	}
	found, err := r.Commits(ctx, r.Ref(name+"/base"), branch, r.Ref(name+"/wip"), r.Ref(name+"/wip")+"^1")
	if err != nil {
		return Span{}, false, err
	}
	s = Span{found[0].ID, found[1].ID}
	if wip, on := found[2].ID, found[3].ID; wip != "" && on == s.To {
		s.To = wip
	}
	return s, s.From != "", nil
}
