// Package agents knows the modes an Orchestrator can be summoned under: Markdown
// files with YAML front matter, in the form of Claude Code's own agent files, and the
// four that are built in.
//
// A file becomes an [Agent] and the list of all that is wrong with it.
// [Discover] finds the files, and says which agent is in force where several have one
// name: the workspace's .arbiter/agents, then its .claude/agents, each from the working
// directory upwards to the repository's root, then the user's own, then the built-in
// ones. What belongs to a workspace counts only if that is trusted. A [Guard] holds the
// tools of an agent to what its file names.
//
// Nothing here keeps state or starts a goroutine; Discover reads the file system and
// nothing else does. The built-in agents are read once.
//
// # Where this is stricter than Claude Code
//
// Observed with CLI 2.1.329, which leaves a file that it does not understand out without
// a word, and takes what it does understand of the others:
//
//   - A name is made of letters, digits and . _ - with single blanks between them, 64
//     bytes at most, because names stand in lists, prompts and orders. The CLI takes
//     commas, parentheses, line breaks and invisible characters, too, up to 256.
//   - Files end at 64 KiB, there at about 1 MB.
//   - A field given twice, an anchor or an alias, invalid UTF-8, a value of another type
//     than the field's, a tool's name in the wrong case: a problem here, while the CLI
//     takes the last, expands it, replaces it, or ignores it.
//   - Front matter that is no YAML at all is read by the CLI line by line, and a
//     description with ": " in it is found that way. Here such lines are read as quoted
//     text; what is no YAML even then is a problem.
//   - Outside of a repository the CLI goes up to the file system's root; here only the
//     working directory counts, since /tmp/.claude may be anybody's.
//   - A link in a workspace that leads out of it is not followed.
//   - Of two files of one directory tree with the same name, both take the first; here
//     the second is a problem.
package agents
