// Package approval takes permission requests of tools, and the answers of the human, into the permission part of a run.
//
// [Asked] answers a request by the rules and grants, or asks the human. [Answer] carries out an answer, [Exact]
// adds the action that was approved. [Decided] and [Remembered] report what was decided, or kept, outside of
// the state.
//
// Package permission keeps the requests, package policy has the rules. Package supervisor decides what a paused or
// ending run answers.
package approval
