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
//	<state>/seal.key                   what seals are made with, 32 random bytes
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
// # Seals
//
// A checksum can be worked out by anybody who can write to a file. So each batch ends
// with a seal: an HMAC-SHA256, with the key of the state directory, of the seal before and
// all frames since. A seal has no sequence number and is handed to nobody. Records count
// when their seal was read and fits: of a batch all or none. What is found without
//
//   - at the very end of a run that was not closed in order, was never called durable: a
//     crash may have left it. It does not count; where it is whole records, it is
//     reported ([Damage.Unsealed]) and put aside, since somebody may have put them there;
//   - anywhere else, or with a wrong seal, was not left by a crash: Open and Read end with
//     [*TamperedError]. Read hands out the good records before it; Open refuses, unless
//     [Options.AcceptPrefix] says to go on from there.
//
// A live run knows how long its file is. What somebody else adds is noticed before the
// next write, or at the end, and told as trouble ([ErrForeignWrite]); the run goes on in
// another segment, and it never counts.
//
// Segments of format 1, from before there were seals, are read as ever and never added to:
// the first seal of the run that goes on covers them. Format 1 behind format 2 is
// tampering. Without the key (lost, or on another machine) nothing can be verified, which
// [Recovery.Seals] says; the run loads, and goes on with a new key. A journal cannot go
// back to an unknown key once a seal of the present one was seen.
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
// back.
//
// Processes of the same user can do as they like: what runs as this user and is not in a
// sandbox can read the key, and then seal what it wants. Even without the key it can take
// whole batches off the end of a run that is not live, as a crash would, replace a whole
// journal by one of the old format, which then says that it is not sealed, or by a seal of
// an unknown key where no other was, which then says that nothing was verified.
package journal
