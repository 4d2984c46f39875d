// Package apply brings files of a work tree from one tree of Git to another, without touching what differs from both.
//
// [Prepare] compares the files with both trees and sorts the paths; it changes nothing. [Plan.Run] then deletes and
// writes, one rename for each file, so that a file is always as in one tree or the other: after a crash, Prepare and
// Run finish the work. A file that changes between Prepare and Run is left alone, and reported.
//
// No link is followed: the work tree is an [os.Root], and a directory that was replaced by a link is in the way. The
// index and all references stay as they are. The caller holds [workspace.Repo.Lock].
package apply
