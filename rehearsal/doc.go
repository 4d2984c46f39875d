// Package rehearsal is a scripted model: an Anthropic Messages API on loopback
// whose answers come from a scenario, a YAML file. It answers single questions by
// Chat Completions, too. The real Claude Code CLI works
// whole jobs against it, with real tools and real files, and without a network, a
// credential or a cost. SCENARIOS.md describes the format; the built-in scenarios
// are embedded from scenarios/.
//
//	sc, err := rehearsal.Builtin("small-job")
//	srv, err := rehearsal.Start(sc, rehearsal.Options{Vars: map[string]string{"task": task}})
//	defer srv.Close()
//	// run the CLI with ANTHROPIC_BASE_URL=srv.URL(), ANTHROPIC_API_KEY=srv.Key()
//	// and the permission rules of sc.Allow()
//	for _, p := range srv.Problems() { … }
//
// # The walk of a request
//
// wire.go and chat.go understand the request (whose it is), history.go what was answered in it
// and what is to be answered, stage.go casts an actor for its conversation, part.go
// chooses the actor's next step, place.go finds its place in the history,
// reply.go renders it, answer.go and sse.go write it or the step's fault, record.go
// keeps a record. parse.go and yaml.go read scenarios; names.go finds names in
// templates that nothing fills.
//
// # Whose request it is
//
// metadata.user_id identifies a session: JSON text that holds its id. A subagent's
// request carries the header X-Claude-Code-Agent-Id and a mark in its system prompt
// (observed with CLI 2.1.329); a client without either is understood too, in a
// session that was seen to be the Arbiter's or an Orchestrator's. Requests beside the
// history – titles, side questions, the summary for a compaction – consume no step.
//
// A conversation keeps its place over interrupts, compaction and a resume, also
// against a new server, which plays the history through first. An answer that a
// killed CLI never kept, kept in part, or kept without the outcome of its calls is
// taken back out of the history, and its step is played again: see history.go, and
// "What survives" in SCENARIOS.md.
//
// # Goroutines, order, shutdown
//
// The server owns one goroutine that accepts, and those of net/http, one a
// connection. All state of the play is in one struct under one mutex, which is never
// held over I/O: requests are ordered by who comes first, answers are written
// concurrently. Every wait of a script (delay, stall) ends with its request or with
// the server. Close cuts the answers in progress, so that no half answer looks whole,
// and returns when the last handler has.
//
// Only keys that begin with "sk-ant-rehearsal-" are taken, so that a real credential
// that comes here by mistake is refused, reported in Problems, and not kept.
package rehearsal
