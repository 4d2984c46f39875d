// Package sanitize makes text from outside fit for a terminal, a log or a title.
// Everything a model, a tool or a file name says goes through it before it is
// shown: escape sequences are removed whole, and so is what is invisible, reorders
// its neighbours or piles up on them.
//
// It removes and replaces, it never adds markup, and it is idempotent. Markup of a
// widget library (such as "[red]") is plain text here and the drawer's business.
//
// The package is a leaf: no state, no goroutines, no I/O, no imports but the
// standard library.
package sanitize
