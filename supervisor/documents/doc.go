// Package documents processes hand-off documents, from the author's turn until the Arbiter gets them.
//
// [Context.Begin] starts with a document, and [Context.Next] takes the next step: an inspection from which it is
// generated, a check, a merge. [Context.Checked] and [Context.Inspected] handle the results. A check that is lost with
// its bridge runs again ([Context.LoseAll]); one that is no longer needed is dropped ([Context.Forget],
// [Context.DropRepetition]).
//
// Package handoff keeps the documents and the proofs of their checks. Package supervisor delivers a document
// whose last step is done, and decides whether a COMPLETE takes effect.
//
// Events: check. Effects: Inspect, RunCheck, Drop, Merge, timers.
package documents
