// Package acp drives agents of other makes than Claude Code through the Agent Client Protocol, with
// github.com/coder/acp-go-sdk. It implements [bridge.Agent]; a [Launcher] starts one process per agent.
//
// # What differs between makes
//
// Only the data in table.go. Everything else is the same for each make: a verdict is a call of a tool that an MCP
// server of ours offers in the session (tools.go), a request for permission is judged by the client's rules and then
// asked about (permission.go), options are chosen by their kind, and the end of a turn counts by its verdict.
//
// # What no make can do
//
// None proves that it has received a message, none takes a message in mid-turn, and none can pass the reason of a
// denial on to its model. [Launcher.Launch] reports that, and what else a make lacks, in [bridge.SpawnResult]. Nothing
// is imitated: what is not reported is unknown.
//
// # Files and commands
//
// The agent reads, writes and runs by itself: this client offers neither files nor terminals. It would do so outside of
// the agent's sandbox, and in the agent's name.
//
// # Goroutines and shutdown
//
// Per agent: supervise, which waits for the end of the process, ends it when that is requested, and alone emits done;
// one that drains stderr; one per turn; one that accepts the connections of our MCP server, and one per connection. The
// library has its own for the agent's stdout, which end with the pipe. supervise waits for all of them. An interrupted
// turn ends with the processes that it has started; the end of an agent ends its whole tree.
package acp
