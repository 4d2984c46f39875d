// Package approval takes permission requests of tools, and the answers of the human, into the permission part of a run.
//
// [Asked] answers a request by the rules and grants, or asks the human. [Answer] carries out an answer, [Exact] makes
// it name the action that it is about. [Decided] and [Remembered] report what was decided, or kept, outside of the
// state.
//
// The requests are kept in package permission, the rules are those of package policy. Package supervisor decides what a
// run that stands still answers.
package approval
