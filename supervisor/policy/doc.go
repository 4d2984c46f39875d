// Package policy decides whether a tool may run: by rules in Claude Code's syntax,
// then by the mode. Deny rules come first, then ask rules, then allow rules.
//
// The two sides differ on purpose. An allow rule must cover everything that a request would do. A deny or ask
// rule matches if any part of the request might be what it names: inside substitutions, behind sudo or xargs,
// under another name of the same file. What a command line does beyond what its text shows is a doubt: only a
// rule for Bash as a whole allows it, and if there is any deny or ask rule for commands or files, the request
// must be asked about. Rules judge the text of a request. They are not a sandbox: a program that is allowed to
// run can do anything. SECURITY.md lists the guarantees.
//
// If no rule decides, the mode does; an unknown tool ([Known]) is then asked about or denied, unless everything
// is allowed. [Policy.Harmless] recognises exact forms of commands that only read, for modes that do not ask;
// [Suggest] proposes rules that a person may keep.
//
// Package shell reads command lines. wrappers.go, builtins.go, interpreters.go and programs.go describe what
// commands do with their words; texts.go builds the texts that rules are compared with.
//
// A [Policy] is a stateless value. The only I/O of a decision is to resolve symbolic links,
// through [Policy].Resolve, and to find the repository that git would use. [Policy.Compile]
// resolves the links of the rules in advance.
package policy
