// Package bridge is the JSON-RPC 2.0 façade between a supervisor and the Claude sessions of one host:
// protocol types, a [Client] and a [Server].
//
// The protocol is one JSON object per line over any pipe (stdin and stdout of `arbiter bridge`), with
// string request ids. The client sends requests (spawn, message, interrupt, kill …); the server sends
// notifications (`event`) and requests of its own (`tool_call`, `permission`). `arbiter schema bridge`
// prints the schemas of every message.
//
// The package does not depend on Claude Code: a [Launcher] starts agents, and bridge/claude is the launcher
// that starts real ones. So tests can serve the protocol over scripted agents, and changes of the CLI's
// wire format do not affect clients.
//
// # The path of a message
//
// stream.go sorts lines (codec.go tells the kinds apart, by a scan of the members, package jsonl):
// events go straight to codec.go and the client's eventqueue.go, all other messages through
// sourcegraph/jsonrpc2 to peer.go, which is the same at both ends. client.go is the supervisor's end. At
// the bridge's end server.go serves one connection, conversation.go implements the methods, and agents.go,
// incarnation.go and host.go keep the running agents. writer.go writes output. Processes that are not
// agents are started through inquiries.go: evidence about work (`check`, `survey`) through evidence.go by
// an [EvidenceCollector], which bridge/evidence implements, and single prompts (`query`) through query.go.
//
// # Order
//
// Each end writes its messages in the order in which they were sent: answers and events share one queue.
// The client handles events one at a time, and returns an answer to its caller only when the events read
// before it have been handled. So `done` is handled before Kill returns, no event of an incarnation comes
// after its `done`, and a client that has seen `done` may spawn the next one.
//
// # Goroutines
//
// A connection has one goroutine that reads and sorts, one that writes, and one of jsonrpc2 that dispatches
// requests and answers; none of them ever runs a handler. Each request is served by a goroutine of its own.
// A client has one more that calls Handler.Event, and one that waits for all of these; a child process adds
// one that waits for it and one that drains its stderr. [Client.Close] and [Server.Serve] wait for theirs.
// Agents have no goroutines in this package: their launcher's goroutines call [Host.Emit], which blocks
// while 8 MiB wait for the client, until the client reads again or the server gives it up.
//
// # Shutdown
//
// The end of the server's input, a write that fails or makes no progress, and the end of Serve's context
// all have the same effect: no new agent, check or query, TERM for all, KILL and a sweep after one second,
// the last events written, the pipe closed; within two seconds in all. A child that [StartProcess] started
// is ended by the end of its input, by TERM three seconds later, and by KILL two seconds after that.
//
// # On another host
//
// `initialize` with `remote` makes a bridge of a [Server] with a [Machine] a remote one. Its name is unique
// among the bridges of its run, and marks its processes. It passes variables on to agents, and serves
// requests about its file system (`resolve`, `inventory`) and the directories of agents (`work_…`). Package
// keeper is the process above it.
//
// It has a lease (lease.go). Four times in each lease it sends a `tick`. If no tick that it sent within the
// lease was answered, it ends in the same way as at the end of its input. An answer renews the lease from
// the time at which the tick was sent, so that a slow network shortens the renewal and never lengthens it.
// The clock includes the time in which the machine slept, and it is read before any work continues: each
// request, and each answer of the client, such as to a `judge`, is refused when the lease is over. The
// client gives the bridge up when no tick has come for half of the lease (contact.go); from then on it
// answers none. [Client.Stopped] returns the time from which on no process of the bridge runs: the last
// answer, plus the lease, plus [LeaseGrace]. The work must not continue elsewhere before that time, unless
// the host was fenced.
//
// A client trusts a remote bridge only with the agents of that bridge (violation.go). It ends the
// connection with a [ViolationError] if an event does not have a greater number than the last one, a
// request comes again, a message is about an agent that this client did not start there, a line does not
// end, or the answer to `initialize` cannot be true. Events have numbers on all connections.
package bridge
