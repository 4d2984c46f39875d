// Package task holds the task of a run: its plan, its executions, and how often they failed.
//
// An execution is one stretch of an Orchestrator's work, from a brief or an instruction to its `done`, `handoff` or
// end. It is kept with the agent while it is under way (roster.Work), and in [State.History] afterwards, which deciders
// are shown. The counters of failures and iterations hold for one task: [State.Begin] sets them to zero.
//
// Agents are given as pointers that the caller may write to. The package emits nothing: package supervisor reports
// plans and failures, and moves the task machine (package machine).
package task
