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
// Where nothing is said, the mode decides; a tool that nobody knows ([Known]) is then
// asked for or denied like any other, unless everything is allowed. [Policy.Harmless]
// tells apart what Claude's default mode would not ask for, [Suggest] what a person may
// want to allow for good.
//
// A [Policy] is a value without state, and no decision does any I/O but following
// symbolic links, through [Policy].Resolve, and a look whether the working directory poses
// as a repository of git's. [Policy.Compile] makes it ready for many
// rules: an index finds those that a request may be about, and the same predicates as
// without one decide whether they match.
package policy
