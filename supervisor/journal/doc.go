// Package journal is the durable record of runs. What it called durable is there
// after any number of kills and power cuts, and its files load in whatever state the
// disk is.
//
// # On disk
//
//	<state>/runs/<run>/lock            held by whoever writes to the run
//	<state>/runs/<run>/meta.json       what the run is, for lists
//	<state>/runs/<run>/journal-000001  its records, in one or more segments
//	<state>/runs/<run>/damaged-1       copies of damage, for people
//	<state>/dirs/<hash>.lock           one writer per working directory
//
// Everything is ours alone (0700, 0600), opened by name in a directory that was
// opened once, without following links; what another could have put there or can
// change is refused.
//
// # Records and segments
//
// A record carries a checksum seeded with the run's id and the checksum of the record
// before, so a record that was changed, moved, left out, repeated or taken from
// another run ends the good prefix. A segment appears under its name only when what it
// begins with is durable. A younger segment replaces older ones from its first record
// on. So nothing on disk is ever rewritten or cut off to recover from a fault: a new
// segment is begun, in one rename. That happens
//
//   - when an fsync failed: the pages it did not write look clean from then on, and
//     the next fsync would succeed without them. The batch is written anew, and the
//     failed segment is never added to again;
//   - when a run is opened that was not closed in order: its last batch may be of an
//     fsync that failed before the process could tell. It is written anew, too;
//   - when what follows the good prefix is torn or damaged.
//
// A full disk is no fault of the segment: what was written in part is cut off and
// tried again until there is room.
//
// # Goroutines and order
//
// Each [Run] has one goroutine, the writer, the only one that writes to the run's
// files. It takes all that is pending as one batch: one write, one fsync, then
// [Options.Committed]. What is appended meanwhile is the next batch. [Run.Append]
// touches only memory. Callbacks run on the writer's goroutine and under no lock.
// [Run.Close] ends the goroutine and waits for it; the run's lock is given up last.
// A [Store] has none.
//
// # What it cannot do
//
// Two things look like a crash and are not reported as damage: damage within the very
// last batch of a run that was not closed in order, and the loss of whole batches at
// its end. A drive that lies about fsync is believed. If the files of a live run are
// deleted, it says so and calls nothing durable from then on, but does not bring them
// back. Processes of the same user can do as they like.
package journal
