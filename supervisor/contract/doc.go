// Package contract is the interface that scripts rely on: the events of `arbiter --json`
// (NDJSON on stdout), its commands (NDJSON on stdin) and the exit codes, as
// types, codecs and JSON Schemas. It has no goroutines and does no I/O. Fields and
// events may be added, but never renamed.
package contract
