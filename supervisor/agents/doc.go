// Package agents reads the modes under which an Orchestrator can be started: Markdown files with YAML front
// matter, in the form of Claude Code's own agent files, and four built-in ones.
//
// Parsing a file returns an [Agent] and a list of all its problems. [Discover] finds the files and resolves names
// that occur more than once, in this order: the workspace's .arbiter/agents, then its .claude/agents, each from the
// working directory upwards to the repository's root, then the user's own, then the built-in ones. Files of a
// workspace count only if it is trusted. A [Guard] restricts an agent to the tools that its file names.
//
// The package has no state and no goroutines. Only Discover reads the file system.
//
// # Where this is stricter than Claude Code
//
// CLI 2.1.329 silently ignores a file that it does not understand, and uses the parts of other files that it
// does understand (observed):
//
//   - A name consists of letters, digits and . _ - with single spaces between them, 64 bytes at most, because
//     names occur in lists, prompts and commands. The CLI also accepts commas, parentheses, line breaks and
//     invisible characters, up to 256.
//   - Files are limited to 64 KiB, in the CLI to about 1 MB.
//   - A field given twice, an anchor or an alias, invalid UTF-8, a value of another type than the field's, a
//     tool's name in the wrong case: here these are problems, while the CLI uses the last, expands it, replaces
//     it, or ignores it.
//   - Front matter that is not YAML is read by the CLI line by line, which also finds a description that
//     contains ": ". Here such lines are read as quoted text; if that is not YAML either, it is a problem.
//   - Outside of a repository the CLI searches up to the file system's root; here only the working directory
//     counts, since any user may own /tmp/.claude.
//   - A link in a workspace that leads out of it is not followed.
//   - Of two files of one directory tree with the same name, both take the first; here
//     the second is a problem.
package agents
