// Package journal is the durable record of runs. What it has reported as durable survives
// any number of kills and power cuts, and its files load in any state that these leave behind.
//
// # On disk
//
//	<state>/runs/<run>/lock            held by the process that writes to the run
//	<state>/runs/<run>/meta.json       what the run is, for lists
//	<state>/runs/<run>/journal-000007  a segment: a snapshot of its state, and the inputs since
//	<state>/runs/<run>/events.ndjson   the event log: all events that the frontends received (package eventlog)
//	<state>/runs/<run>/damaged-1       copies of damage, for people
//	<state>/runs/.import-<random>      a run that is being imported, invisible until then ([Store.Stage])
//	<state>/dirs/<hash>.lock           one writer per working directory
//	<state>/dirs/import.lock           one import at a time
//
// Everything belongs to the user alone (0700, 0600), and is opened by name in a directory that was
// opened once, without following links; files that another user could have created or can
// change are refused.
//
// # Inputs, snapshots and segments
//
// A record carries a checksum seeded with the run's id and the checksum of the input
// before, so an input that was changed, moved, left out, repeated or taken from
// another run ends the good prefix. A segment appears under its name only when what it
// begins with is durable. A younger segment replaces older ones from its first input
// on. So no input on disk is ever rewritten or cut off to recover from a fault: a new
// segment is begun, in one rename. That happens
//
//   - with a snapshot of the state after all inputs so far ([Run.Snapshot]). The segments
//     from the snapshot before on are kept, so that a damaged one costs nothing: they have the
//     same inputs. Older ones are removed;
//   - when a run is opened, with a snapshot too: its last batch may be of an fsync that failed
//     before the process could tell, and what follows the good prefix may be torn or damaged;
//   - when an fsync failed: the pages it did not write look clean from then on, and
//     the next fsync would succeed without them. The batch is written anew, and the
//     failed segment is never added to again.
//
// A full disk does not end a segment: a partial write is cut off and repeated until there is room.
//
// # The event log
//
// Its lines follow from durable inputs, so they need no fsync of their own: until the next
// snapshot they can be made again from the inputs. They are fsynced before a segment with a
// snapshot gets its name, at Close, and every second. The header of the segment says how far;
// behind that, the next process that opens the run takes the good lines in one piece, cuts off the rest, and
// adds what is missing ([Recovered.Tell]). After a failed fsync all lines since the last good one
// are written anew, from memory, in the same place.
//
// # Writes of other processes
//
// Checksums find damage. They do not protect against anyone who can write to the files: a key
// would lie beside what it protects. But a live run knows how long its files are: it notices
// before the next write, or at the end, if another process has added or cut off bytes, and
// reports it ([ErrForeignWrite]); added bytes never count.
//
// # Goroutines and order
//
// Each [Run] has one goroutine, the writer, the only one that writes to the run's
// files. It takes all that is pending as one batch: one write, one fsync, then
// [Options.Committed]; then the lines of the event log, then a snapshot. What is appended
// meanwhile is the next batch. [Run.Append], [Run.Tell] and [Run.Snapshot]
// touch only memory. Callbacks run on the writer's goroutine and under no lock.
// [Run.Close] ends the goroutine and waits for it; the run's lock is given up last.
// A [Store] has none.
//
// # What it cannot do
//
// Two things look like a crash and are not reported as damage: damage within the very
// last batch of a run that was not closed in order, and the loss of whole batches at
// its end. A drive that lies about fsync goes unnoticed. If the files of a live run are
// deleted, the package reports it and confirms nothing as durable from then on, but does not restore
// them. It does not protect against processes of the same user.
package journal
