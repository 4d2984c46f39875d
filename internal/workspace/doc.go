// Package workspace records the files that a run works on as Git commits, and lists what differs between
// two of them.
//
// A [Repo] is the work tree that a run works in, seen by that run. All that it writes has the run in its
// name:
//
//	refs/arbiter/RUN8/base, …/end, …/NAME  snapshots
//	refs/arbiter/RUN8/orch-N/…             work saved from the worktree of Orchestrator N
//	refs/heads/arbiter/RUN8/orch-N.G       branch of the worktree that generation G of Orchestrator N created
//	refs/heads/arbiter/RUN8/main           run branch
//
// A snapshot holds tracked and untracked files, not ignored ones, as a commit on top of HEAD. It is built
// in a copy of the index: the user's index, branch, stash, reflog, hooks and configuration stay unchanged.
// Contents go through the user's filters and line-end conversion, as with git add. A snapshot lacks what
// Git does not store: empty directories, permissions other than the executable bit, files inside submodules
// and nested repositories (they appear as one commit), and changes of files that the user marked
// assume-unchanged.
//
// The packages below work on a Repo: apply replaces files of one tree by those of another, undo reverts
// what a run changed, worktree gives Orchestrators directories of their own, merge joins commits without a
// checkout, land brings the run branch into the user's branch.
//
// A supervisor uses them in this order:
//
//	r, err := Open(ctx, …)          // ErrNoGit, ErrNoCommit: say once that there are no diffs
//	base, err := r.Once(ctx, Base)  // the same after a resume
//	end, err := r.Again(ctx, End)   // after each turn in the user's files; not if all agents are isolated
//	changes, err := r.Changes(ctx, base.Commit.ID, end.Commit.ID)
//
//	w, err := m.Create(ctx, WorktreeSpec{…}) // m is of OpenWorktrees; From is the run branch
//	head, err := m.Head(ctx, w)               // when the agent is done
//	result, err := MergeInto(ctx, r, r.Branch(Main), head, message)
//	saved, err := m.Remove(ctx, w, false)     // when its process has ended
//
// # Crashes
//
// Every operation may be killed at any point and called again: it then has the same result. References move
// by compare-and-swap ([ErrMoved]), files by rename. Options.Step is called after each change, so that
// tests can kill there. Git processes inherit the lock of [Repo.Lock]: a caller that takes over from a
// killed one waits for them.
//
// # Goroutines and ownership
//
// The packages start no goroutine that outlives a call, and have no state besides the repository. A Repo is
// immutable and safe for concurrent use. Slices that they return belong to the caller.
package workspace
