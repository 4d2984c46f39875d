// Package transcript reads the files in which the Claude Code CLI keeps its sessions:
// <configuration>/projects/<directory>/<session>.jsonl. They are only evidence, not the record of what
// happened: the format is undocumented and can change at any time, so unknown content is skipped.
//
// # The format (observed with CLI 2.1.329)
//
// Usually there is one JSON object per line. After a crash, a line may be cut off and joined to the next one, a
// newline may be missing, or a run of NULs may precede a record (users have reported all three). Lines of 10 MB
// and more occur, and entries of other sessions have been found.
//
// Lines with a uuid and a parentUuid form a tree. It has several branches if two processes wrote the same
// session, and small forks where tools of one message ran in parallel. A resumed session remembers the branch
// that ends in the leaf with the latest timestamp; a gap in it is bridged to the line before.
//
// # Layout
//
// locate.go finds files, open.go opens them safely, decode.go decodes lines to records (record.go), history.go
// builds a tree of records, branch.go finds the remembered part of it, delivery.go reports what happened to a
// message, digest.go and since.go what a session did. newest.go reads backwards to the last reading of the
// context; meter.go tracks readings of any source.
//
// # Following
//
// A Follower (follow.go) delivers the lines of one growing file. It uses one goroutine, the caller's, while Run
// runs. It looks at the file when its Bell rings: in tests one of its own, otherwise one of a shared Watcher
// (watch.go), which rings when the kernel reports a change, and at an interval. Its goroutines end with Close; no
// bell rings after that.
//
// Nothing else here has a goroutine or its own state, and nothing writes.
package transcript
