// Package task holds the task of a run: its plan, its executions, and the counts of failures.
//
// An execution is one period of an Orchestrator's work, from a brief or an instruction to its `done`, `handoff`
// or end. While it runs it is kept with the agent (roster.Work), and afterwards in [State.History], which
// deciders see. The counters of failures and iterations belong to one task: [State.Begin] resets them.
//
// Callers pass agents as pointers that they may write to. The package emits nothing: package supervisor reports
// plans and failures, and moves the task machine (package machine).
package task
