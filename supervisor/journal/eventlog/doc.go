// Package eventlog is the format of events.ndjson, the file in a run's directory that
// holds all events that the frontends received, and its reader. The file is only ever
// added to. What replays a run, audits it, explains its decisions, searches it or scrolls
// back in it reads this file, and needs neither the journal nor the rules of play.
//
// # Lines
//
// A line is one JSON object in exactly this form, without spaces:
//
//	{"sum":"1a2b3c4d","n":17,"input":42,"at":1772366400000000000,"line":{…}}
//	{"sum":"5e6f7a8b","n":18,"input":42,"at":1772366400000000000,"record":{"kind":"audit",…}}
//
// `line` is an event as `arbiter --json` prints it (contract.EncodeLine, without the line
// feed). Its `seq` counts the events of the file since the last `session` event, which
// begins at 1: each process that plays a run counts its own. `record` is what no frontend
// receives, see below. `n` counts lines from 1. `input` is the number of the input of the
// journal that the line follows from; 0: from none, the loop wrote it without an input. `at` is
// when that input happened, or when the loop said it, as Unix time in nanoseconds.
//
// # Records
//
// `kind` says what a record is. Their lines stand among the events in the order in which
// things happened: what an input is, then what it led to.
//
//   - origin: `by` (an agent's id, human, supervisor, unknown), and where there is one,
//     `session`, `generation` and `channel`: whom the input is from. It stands before the
//     first line of an input of which an audit tells something, and holds for all its lines.
//   - audit: `what` happened or was done, `about` which agent, and `detail`: strings, whole
//     numbers, truth values, lists of strings, and objects {"text":"…"} for what somebody
//     wrote. What an event tells (a message, a permission, a result) is not told again.
//   - decision: `decided` is a supervisor.Decided whole: point, input, prompt, answer.
//     `unused` says that it came when it was not asked for any more.
//   - shelved: `message_ids` of messages that were ruled on without their reader.
//
// A reader passes over kinds that it does not know.
//
// # What the checksum is for
//
// `sum` is the CRC-32C of the line's bytes from behind it up to the closing brace, seeded
// with the sum that the line before states (the first: with 0). It finds damage by the disk,
// lines that are missing, repeated or out of order, and an end that a crash tore. It does
// not protect against people: anyone who can write to the file can compute it again.
//
// A line that does not fit is passed over, and reported as damage if good ones follow; where
// its sum or its line feed is hit, the line behind it cannot be verified, either. What
// is behind the last good line is the torn end: a crash leaves such, and so does reading
// while the last line is being written. It is no damage, and the next writer cuts it
// off; it holds nothing that was made durable, or it can be made again from the journal.
package eventlog
