// Package rehearsal is a scripted model: an Anthropic Messages API on loopback whose answers come from a
// scenario, a YAML file. It also answers single questions by Chat Completions. The real Claude Code CLI
// does whole jobs against it, with real tools and real files, and without a network, a credential or a
// cost. SCENARIOS.md describes the format; the built-in scenarios are embedded from scenarios/.
//
//	sc, err := rehearsal.Builtin("small-job")
//	srv, err := rehearsal.Start(sc, rehearsal.Options{Vars: map[string]string{"task": task}})
//	defer srv.Close()
//	// run the CLI with ANTHROPIC_BASE_URL=srv.URL(), ANTHROPIC_API_KEY=srv.Key()
//	// and the permission rules of sc.Allow
//	for _, p := range srv.Problems() { … }
//
// # The path of a request
//
// request.go parses the request, with its sender, what was answered in it and what must be answered; stage.go casts an
// actor for its conversation, finds its place in the history and chooses the actor's next step; answer.go
// renders and writes it, or the step's fault; server.go keeps a record. scenario.go reads scenarios.
//
// # The sender of a request
//
// metadata.user_id identifies a session: JSON text that contains its id. A subagent's request carries the
// header X-Claude-Code-Agent-Id and a mark in its system prompt (observed with CLI 2.1.329); a client
// without either is recognized too, in a session that was seen to be the Arbiter's or an Orchestrator's.
// Requests outside the history – titles, side questions, the summary for a compaction – consume no step.
//
// A conversation keeps its place over interrupts, compaction and a resume, even against a new server, which
// plays the history through first. If a killed CLI did not keep an answer, kept a part of it, or kept it
// without the outcome of its calls, the answer is removed from the history, and its step is played again:
// see request.go, and "What survives" in SCENARIOS.md.
//
// # Goroutines, order, shutdown
//
// The server owns one goroutine that accepts, and those of net/http, one per connection. All state of the
// play is in one struct under one mutex, which is never held during I/O: requests are handled in the order
// of their arrival, answers are written concurrently. Every wait of a script (delay, stall) ends with its
// request or with the server. Close cuts the answers in progress, so that no half answer looks complete,
// and returns when the last handler has.
//
// Only keys that begin with "sk-ant-rehearsal-" are accepted, so that a real credential that is sent here
// by mistake is refused, reported in Problems, and not kept.
package rehearsal
