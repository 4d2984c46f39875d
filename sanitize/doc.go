// Package sanitize makes text from outside safe for a terminal, a log or a title. Everything that comes from a
// model, a tool or a file name passes through it before it is shown: it removes whole escape sequences, and
// characters that are invisible, reorder their neighbours or pile up on them.
//
// It removes and replaces, never adds markup, and is idempotent. Markup of a widget library (such as "[red]")
// is plain text here; the code that draws must handle it.
//
// The package is a leaf: it has no state, no goroutines, no I/O, and imports only the standard library.
package sanitize
