// Package documents takes hand-off documents along their way, from their authors to those whom they concern.
//
// [Context.Begin] puts a document on its way, and [Context.Next] does the next thing: an inspection from which it is
// generated, a check, a merge. [Context.Checked] and [Context.Inspected] take the results. A check that is lost with
// its bridge runs again ([Context.LoseAll]); one that is not wanted any more is dropped ([Context.Forget],
// [Context.DropRepetition]).
//
// The documents and the proofs of their checks are kept in package handoff. Package supervisor delivers a document
// that has come to the end of its way, and decides whether a COMPLETE takes effect.
//
// Events: check. Effects: Survey, RunCheck, Drop, Merge, timers.
package documents
