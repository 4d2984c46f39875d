// Package markdown lays out what agents write: Markdown, code and differences become
// lines of roles, no wider than asked for, at any width from one column up.
//
// A text is first cut into pieces ([machine]): a paragraph, an item of a list, a block
// of code. Where it is cut depends on the lines so far alone, and no piece is longer
// than a few kilobytes; so a text that is still arriving ([Stream]) costs what is new,
// [Markdown] of the whole gives the same lines, and parsers that are not linear see
// only bounded input. What is inside of a piece is goldmark's syntax tree.
//
// Three things are not CommonMark, on purpose: link references are shown as they are
// written, since a later line would change earlier ones and hide where a link goes; a
// line break after a short line stays; HTML is text.
//
// Everything is a function of its arguments; a Stream belongs to one goroutine. The
// package's text is sanitised before it comes here, and what it decodes itself
// (character references) it sanitises again.
package markdown
