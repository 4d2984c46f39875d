// Package bridge is the JSON-RPC 2.0 façade between a supervisor and the
// Claude sessions of one host: protocol types, a [Client] and a [Server].
//
// The protocol is one JSON object per line over any pipe (stdin and stdout of
// `arbiter bridge`), with string request ids. The client asks (spawn, message,
// interrupt, kill …), the server notifies (`event`) and asks back (`tool_call`,
// `permission`). `arbiter schema bridge` prints the schemas of every message.
//
// The package knows no Claude Code: a [Launcher] starts agents, and bridge/claude
// is the one that starts real ones. So the protocol can be served over scripted
// agents in tests, and the CLI's wire can drift without touching a client.
package bridge
