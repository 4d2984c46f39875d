// Package worktree gives each Orchestrator a directory of its own, outside of the user's work tree.
//
// A [Manager] keeps them in one directory, which belongs to the run: orch-N with the files, orch-N.json
// with the record that makes it valid. A directory without a record was never finished or used, and the
// next Create removes it. There are two kinds:
//
//   - [Linked]: a Git worktree on branch arbiter/RUN8/orch-N.G. Objects and references are those of the
//     user's repository.
//   - [Clone]: a repository of its own that borrows objects from the user's (like git clone --shared) and has no
//     remote. A sandbox need not let it write to the user's Git directory. [Manager.Head] fetches its work: from a
//     view of it, so that nothing runs that the clone configures, with every object checked, and only into
//     references of this run.
//
// Branches are created by update-ref, before the worktree: they track nothing. No filter of the repository's own
// configuration runs. One directory is created or removed at a time
// ([workspace.Repo.Lock]).
//
// Before a directory is removed, its uncommitted files, and commits that no branch has, are saved in
// refs/arbiter/RUN8/orch-N/wip. Ignored files are not saved.
package worktree
