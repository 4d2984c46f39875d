// Package policy decides whether a tool may run: by rules in Claude Code's syntax,
// then by the mode. Deny rules are asked first, then ask rules, then allow rules.
//
// The two sides are deliberately unlike. An allow rule must cover all that a
// request would do, and where that cannot be known (a command substitution, a
// redirection, a path that does not resolve) it covers nothing: doubt is never an
// allow. A deny or ask rule matches where any part of the request might be what it
// names: inside substitutions, behind sudo or xargs, under another name of the
// same file. Rules read what a request says; they are no sandbox, and a program
// that is allowed to run does what it likes.
//
// A [Policy] is a value without state. Decide does no I/O but following symbolic
// links, through [Policy].Resolve.
package policy
