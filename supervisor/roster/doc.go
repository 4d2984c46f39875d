// Package roster holds the agents of a run and their state.
//
// An [Agent] is the Arbiter or an Orchestrator in its current generation. Its parts describe its process, turn,
// context, work, documents and cost, and the human who has taken over its session. The package only answers questions
// about agents; package supervisor changes them.
package roster
