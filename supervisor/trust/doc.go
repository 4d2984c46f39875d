// Package trust tells what a workspace brings along that can run code or redirect an
// agent – settings, hooks, MCP servers, agents, skills, commands, and the scripts they
// name – and keeps what a person has trusted of it, by hash.
//
// [Inventory] reads; it starts nothing, follows no instruction of what it reads, waits for
// nothing, and is bounded in all it does. What cannot be read is an item that says so and
// counts in the hash. Texts for a model (CLAUDE.md, AGENTS.md, rules) are listed and do
// not count: agents are meant to write them.
//
// What is looked at is what CLI 2.1.329 was observed to load: settings of the working
// directory, settings.local.json of the repository's root, too; agents, skills, commands,
// output styles and workflows from the working directory up to the repository's root, or
// to that of the file system where there is no repository; .mcp.json up to the latter
// always; and, in a linked worktree, what lies at the root of the repository that it
// belongs to.
//
// A [Store] is a directory of one file for each workspace. All values are safe to share;
// nothing here has a goroutine.
package trust
