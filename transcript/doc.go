// Package transcript reads the files in which the Claude Code CLI keeps its
// sessions: <configuration>/projects/<directory>/<session>.jsonl. They are
// evidence, never the record: the format is undocumented and can change at any time,
// so unknown content is skipped.
//
// # What such a file is (observed with CLI 2.1.329)
//
// Usually one JSON object per line. A crash leaves a cut line that the next one
// joins, a newline is missing, a run of NULs stands before a record
// (all three have been reported by users), lines of 10 MB and more occur, and
// entries of other sessions have been found.
//
// Lines with a uuid and a parentUuid are a tree. It has several branches when two
// processes wrote the same session, and small forks where tools of one message
// ran side by side. What a resumed session remembers is the branch that ends in
// the leaf with the latest timestamp; a gap in it is bridged to the line before.
//
// # Layout
//
// locate.go finds files, open.go opens them safely, decode.go makes records (record.go) of lines, history.go makes a
// tree of records, branch.go finds what of it is remembered, delivery.go reports what happened to a message,
// digest.go what a session did. newest.go reads backwards, to the last reading of the context; meter.go keeps the
// account of readings, whatever they come from.
//
// Most of a transcript is of no interest to its readers, so a line is scanned, not
// parsed (package jsonl): decode_fields.go finds the few fields that records have,
// decode_values.go reads them. What decides something (a verdict) is
// checked to be JSON by who uses it.
//
// # Following
//
// A Follower (follow.go) delivers the lines of one growing file; it is one goroutine, the caller's,
// for as long as Run runs. It looks when its Waker (wake.go) says so: in tests a Bell, otherwise a shared
// Watcher (watch.go). That has two goroutines: one
// receives the kernel's notifications and does nothing else (watch_notify.go), one
// sees to what is watched (watch_lookout.go); Close waits for both. Close followers first:
// their bells stay silent afterwards.
//
// Nothing else here has a goroutine or state of its own, and nothing writes.
package transcript
