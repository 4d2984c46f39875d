// Package filechanges has the files of a run recorded, and tells agents what others did to them.
//
// [Context.TurnEnded] has the files recorded after a turn that used tools. [Context.TellOverlaps] tells agents of files
// that others changed, too. [Context.Revert] and [Context.Reverted] take a change back that a human does not want.
//
// Who changed which file is computed in package changes. Package supervisor decides what waits for a record.
package filechanges
