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
// # The path of a message
//
// stream.go sorts lines (envelope.go tells the kinds apart, by a scan of the members,
// package jsonl): events go straight to codec.go and
// the client's eventqueue.go, all else through sourcegraph/jsonrpc2 to peer.go,
// which is the same at both ends. client.go is the supervisor's end. At the
// bridge's end server.go serves one connection, conversation.go is the methods,
// agents.go, incarnation.go and host.go keep the live agents. writer.go writes output.
// Processes that are not agents are started through inquiries.go: evidence about work
// (`check`, `survey`) through collector.go by an
// [EvidenceCollector], of which bridge/evidence is the real one, and single prompts (`query`)
// through querier.go to a [Querier], which a launcher may be.
//
// # Order
//
// Each end writes its messages in the order in which they were sent: answers
// and events share one queue. At the client events are handled one at a time, and
// an answer is given to its caller when the events read before it have been
// handled. So `done` is handled before Kill returns, nothing of an incarnation
// comes after its `done`, and a client that has seen `done` may spawn the next one.
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
//
// # On another host
//
// `initialize` with `remote` makes a bridge a remote one, of a [Server] with a [Machine]. It has a name among the
// bridges of its run, which marks its processes. It passes variables on to agents, and answers for its file system
// (`resolve`, `inventory`) and the directories of agents (`work_…`). Package keeper is the process above it.
//
// It has a lease (lease.go). Four times in each lease it sends a `tick`. If no tick that it sent within the lease was
// answered, it ends as it does at the end of its input. An answer renews the lease from the time at which the tick
// was sent, so that a slow network renews less and never more. The clock counts the time in which the machine slept,
// and it is read before anything continues: each request, and each answer of the client, such as to a `judge`, is
// refused when the lease is over. The client gives the bridge up when no tick has come for half of the lease
// (contact.go); from then on it answers none. [Client.Stopped] returns the time from which on nothing of the bridge
// runs: the last answer, plus the lease, plus [LeaseGrace]. That work must not continue elsewhere before, unless the
// host was fenced.
//
// A client trusts a remote bridge with its agents and no further (violation.go). It ends the connection with a
// [ViolationError] when an event does not have a greater number than the last one, a request comes again, something is
// about an agent that this client did not start there, a line does not end, or `initialize` is answered by what cannot
// be true. Events have numbers on all connections.
package bridge
