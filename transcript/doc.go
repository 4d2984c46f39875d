// Package transcript reads the files in which the Claude Code CLI keeps its
// sessions: <configuration>/projects/<directory>/<session>.jsonl. They are
// evidence, never the record: the format is undocumented and can change any day,
// so whatever is not understood is counted and passed over.
//
// # What such a file is (observed with CLI 2.1.329)
//
// One JSON object per line, nearly. A crash leaves a cut line which the next one
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
// locate.go finds files, open.go opens them safely, lines.go and record.go make
// records of bytes, history.go makes a tree of records, branch.go finds what of
// it is remembered, fate.go says what became of a message.
//
// Nothing here has a goroutine or state of its own, and nothing writes.
package transcript
