// Package journal is the durable record of runs. What it has reported as durable survives any number of kills
// and power cuts. Its files can be loaded in any state that these leave behind.
//
// # On disk
//
//	<state>/runs/<run>/lock            held by the process that writes to the run
//	<state>/runs/<run>/meta.json       what the run is, for lists
//	<state>/runs/<run>/journal-000007  a segment: a snapshot of its state, and the inputs since
//	<state>/runs/<run>/events.ndjson   the event log: all events that the frontends received
//	<state>/runs/<run>/events.packed   the beginning of a long event log, compressed
//	<state>/runs/<run>/damaged-1       copies of damage, for people
//	<state>/runs/.import-<random>      a run that is being imported, invisible until then ([Store.Stage])
//	<state>/live/<run>                 an empty file while the run is open, so that live runs are found at once
//	<state>/dirs/<hash>.lock           one writer per working directory
//	<state>/dirs/import.lock           one import at a time
//
// All files and directories belong to the user alone (0700, 0600). They are opened by name in a directory that
// is opened once, without following links. Files that another user could have created or can change are
// refused.
//
// # Inputs, snapshots and segments
//
// A record carries a checksum that is seeded with the run's id, and the checksum of the input before. So an
// input that was changed, moved, left out, repeated or taken from another run ends the good prefix. A segment
// appears under its name only when its first content is durable. A younger segment replaces older ones from its
// first input on. So recovery never rewrites or cuts off an input on disk: it begins a new segment, in one
// rename. A new segment begins
//
//   - with a snapshot of the state after all inputs so far ([Run.Snapshot]). The segments from the previous
//     snapshot on are kept, so that a damaged snapshot loses nothing: they contain the same inputs. Older ones
//     are removed;
//   - when a run is opened, also with a snapshot: the fsync of its last batch may have failed before the
//     process could report it, and what follows the good prefix may be torn or damaged;
//   - when an fsync failed: afterwards the pages that it did not write look clean, and the next fsync would
//     succeed without them. The batch is written again, and nothing is ever added to the failed segment.
//
// A full disk does not end a segment: a partial write is cut off and repeated until there is space.
//
// # The event log
//
// Its lines follow from durable inputs, so they need no fsync of their own: until the next snapshot they can be
// made again from the inputs. They are fsynced before a segment with a snapshot gets its name, at Close, and
// every second. The header of the segment says up to where. After that place, the next process that opens the
// run keeps the unbroken sequence of good lines, cuts off the rest, and adds what is missing
// ([Recovered.AppendEvents]). After a failed fsync all lines since the last good fsync are written again, from memory,
// in the same place.
//
// The durable beginning of a long log is moved to events.packed, about a seventh of its size, and the file system
// gets its space back: there the log has a hole, which reads as zeros. A reader that meets zeros, which no line
// contains, looks into events.packed. So places in the log never move, whenever it is packed, and what a crash or
// damage leaves of events.packed costs nothing that the log itself still has.
//
// # Writes of other processes
//
// Checksums find damage. They do not protect against anyone who can write to the files: a key would be stored
// beside what it protects. But a live run knows how long its files are: if another process has added or cut off
// bytes, it notices this before the next write, or at the end, and reports it ([ErrForeignWrite]). Added bytes
// never count.
//
// # Goroutines and order
//
// Each [Run] has one goroutine, the writer, the only one that writes to the run's files. It takes all that is
// pending as one batch: one write, one fsync, then [Options.Committed]; then the lines of the event log, then a
// snapshot. What is appended meanwhile is the next batch. [Run.Append], [Run.AppendEvents] and [Run.Snapshot] only
// change memory. [Run.Append] wakes the writer at once; [Run.AppendSoon] and [Run.AppendEvents] wake it after
// [SoonDelay]. So an input that is not urgent usually shares the commit of an urgent one, and the lines of several
// commits share one write. Callbacks run on the writer's goroutine and under no lock. [Run.Close] ends the goroutine
// and waits for it; the run's lock is released last. A [Store] has no goroutine.
//
// # Limits
//
// Two things look like a crash and are not reported as damage: damage within the very last batch of a run that
// was not closed normally, and the loss of whole batches at its end. A drive that falsely confirms an fsync is
// not detected. If the files of a live run are deleted, the package reports it and confirms nothing as durable
// from then on, but does not restore them. It does not protect against processes of the same user.
package journal
