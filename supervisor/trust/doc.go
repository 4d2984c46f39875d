// Package trust lists the files of a workspace that can run code or redirect an agent – settings, hooks, MCP
// servers, agents, skills, commands, and the scripts that they name – and stores, by hash, which of them a
// person has trusted.
//
// [Inventory] only reads: it starts nothing, interprets nothing, never blocks, and is bounded. A file that
// cannot be read becomes an item that says so and counts in the hash. Texts for a model (CLAUDE.md, AGENTS.md,
// rules) are listed but do not count: agents are meant to write them.
//
// It lists what CLI 2.1.329 was observed to load: settings of the working directory, and settings.local.json of
// the repository's root; agents, skills, commands, output styles and workflows from the working directory up to
// the repository's root, or up to the root of the file system if there is no repository; .mcp.json always up to
// the root of the file system; and, in a linked worktree, what is at the root of the repository that it belongs
// to.
//
// A [Store] is a directory with one file for each workspace. All values are safe for concurrent
// use; the package has no goroutines.
package trust
