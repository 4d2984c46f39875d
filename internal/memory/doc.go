// Package memory keeps what earlier runs in a workspace have learned, and the results of their agents.
//
// A [Store] is one file of the state directory, named after the workspace. It is bounded: it keeps the
// newest [MaxLessons] lessons and [MaxOutcomes] outcomes. All texts were written by agents: they are
// masked, have one line of visible characters each, and reach a model only in [Brief], which marks them as
// reports.
//
// Several runs and commands may change a store at once. Each change takes a lock, reads the file again, and
// replaces it as a whole; a reader sees the file before or after a change. A file of another version, or a
// damaged one, is left unchanged and reported.
//
// The package starts no goroutine.
package memory
