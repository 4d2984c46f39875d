// Package markdown lays out what agents write: Markdown, code and differences become lines of roles, at any
// width from one column up, and never wider.
//
// goldmark parses a text, with its extensions for tables, tasks, struck-out text and addresses. A text that is
// still arriving ([Stream]) is parsed again from the last block that may change. What goldmark does in quadratic
// time, or what takes much more room than the text, is bounded in parsers.go.
//
// Three things intentionally differ from CommonMark: link references are shown as they are written, since a
// later line would change earlier ones and hide where a link goes; a line break after a short line is kept;
// HTML is text.
//
// Everything is a function of its arguments; a Stream belongs to one goroutine. Callers pass sanitised
// text, and the package sanitises again what it decodes itself (character references).
package markdown
