// Package markdown lays out what agents write: Markdown, code and differences become lines of roles, at any
// width from one column up, and never wider.
//
// A text is first cut into pieces ([machine]): a paragraph, an item of a list, a block of code. Where it is
// cut depends only on the lines so far, and no piece is longer than a few kilobytes; so the cost of a text
// that is still arriving ([Stream]) depends on its new part, [Markdown] of the whole gives the same lines,
// and parsers that are not linear get only bounded input. goldmark's syntax tree is used within a piece.
//
// Three things intentionally differ from CommonMark: link references are shown as they are written, since a
// later line would change earlier ones and hide where a link goes; a line break after a short line is kept;
// HTML is text.
//
// Everything is a function of its arguments; a Stream belongs to one goroutine. Callers pass sanitised
// text, and the package sanitises again what it decodes itself (character references).
package markdown
