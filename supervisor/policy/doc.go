// Package policy decides whether a tool may run: by rules in Claude Code's syntax,
// then by the mode. Deny rules are asked first, then ask rules, then allow rules.
//
// The two sides are deliberately unlike. An allow rule must cover all that a request would do.
// A deny or ask rule matches where any part of the request might be what it names: inside
// substitutions, behind sudo or xargs, under another name of the same file. What a command line
// does beyond what its text shows is a doubt: only a rule for Bash as a whole allows it, and any
// deny or ask rule for commands or files makes a question of it. Rules read what a request says;
// they are no sandbox, and a program that is allowed to run does what it likes. SECURITY.md says
// what holds.
//
// Where no rule decides, the mode does; a tool that is not known ([Known]) is then asked for or
// denied like any other, unless everything is allowed. [Policy.Harmless] knows exact forms of
// commands that only read, for where nobody is asked; [Suggest] names rules that a person may
// want to keep.
//
// Package shell reads command lines. wrappers.go, builtins.go, interpreters.go and programs.go
// know what commands do with their words; texts.go makes the texts that rules are held against.
//
// A [Policy] is a value without state. A decision does no I/O but following symbolic links,
// through [Policy].Resolve, and a look for the repository that git would find. [Policy.Compile]
// follows the links of the rules beforehand.
package policy
