// Package roster holds the agents of a run: who they are, and where each of them stands.
//
// An [Agent] is the Arbiter or an Orchestrator in its present generation. Its parts say what the supervisor knows of
// its process, its turn, its context, its work, its documents, its cost, and of a human who has its session. The
// package has no behaviour of its own beyond questions about one agent or all of them: who changes what is decided in
// package supervisor.
package roster
