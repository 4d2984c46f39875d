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
//
// # The walk of a message
//
// stream.go sorts lines (envelope.go tells the kinds apart, by a scan of the members,
// package jsonl): events go straight to codec.go and
// the client's eventqueue.go, all else through sourcegraph/jsonrpc2 to peer.go,
// which is the same at both ends. client.go is the supervisor's end. At the
// bridge's end server.go serves one connection, conversation.go is the methods,
// agents.go, incarnation.go and host.go keep who lives. writer.go is the way out.
// What starts a process and is no agent goes through inquiries.go: what is found out
// about work without asking agents (`check`, `survey`) through collector.go to a
// [EvidenceCollector], of which bridge/evidence is the real one, and single prompts (`query`)
// through querier.go to a [Querier], which a launcher may be.
//
// # Order
//
// Everything one end says is written in the order in which it was said: answers
// and events share one queue. At the client events are handled one at a time, and
// an answer is given to its caller when the events read before it have been
// handled. So `done` is handled before Kill returns, nothing of an incarnation
// comes after its `done`, and whoever has seen `done` may spawn the next one.
//
// # Goroutines
//
// A connection has one that reads and sorts, one that writes, and one of jsonrpc2
// that hands out requests and answers; none of them ever runs a handler. Each
// request is served by one of its own. A client has one more that calls
// Handler.Event, and one that waits for all of these; a child process adds one
// that waits for it and one that drains its stderr. [Client.Close] and
// [Server.Serve] wait for theirs. Agents have none here: their launcher's
// goroutines call [Host.Emit], which blocks while 8 MiB wait for the client, until
// it reads again or is given up.
//
// # Shutdown
//
// The end of the server's input, a write that fails or makes no progress, and the
// end of Serve's context all do the same: no new agent, check or query, TERM for all, KILL and a
// sweep after one second, the last events written, the pipe closed; within two
// seconds in all. A child that [StartProcess] started ends by the end of its
// input, TERM three seconds later, KILL two after that.
package bridge
