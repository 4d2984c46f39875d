// Package filechanges requests snapshots of a run's files, and notifies agents of changes by others.
//
// [Context.TurnEnded] requests a snapshot after a turn that used tools. [Context.ReportOverlaps] notifies agents of
// files that others changed, too. [Context.Revert] and [Context.Reverted] revert a change for a human.
//
// Package changes computes who changed which file. Package supervisor decides what waits for a snapshot.
package filechanges
