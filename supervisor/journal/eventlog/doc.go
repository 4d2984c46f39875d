// Package eventlog is the format and reader of events.ndjson, the file in a run's directory that contains all
// events that the frontends received. The file is only ever appended to. Replay, audit, explanations of
// decisions, search and scroll-back read this file; they need neither the journal nor the core.
//
// # Lines
//
// A line is one JSON object in exactly this form, without spaces:
//
//	{"sum":"1a2b3c4d","n":17,"input":42,"at":1772366400000000000,"line":{…}}
//	{"sum":"5e6f7a8b","n":18,"input":42,"at":1772366400000000000,"record":{"kind":"audit",…}}
//
// `line` is an event as `arbiter --json` prints it (contract.EncodeLine, without the line feed). Its `seq`
// counts the events of the file since the last `session` event, which has number 1: each process that runs a
// run counts its own. `record` is what no frontend receives, see below. `n` counts lines from 1. `input` is the
// number of the journal's input that the line follows from; 0: the loop wrote the line without an input. `at`
// is the time of that input, or of the line, as Unix time in nanoseconds.
//
// # Records
//
// `kind` is the type of a record. Records and events are in order of time: an input comes before its effects.
//
//   - origin: `by` (an agent's id, human, supervisor, unknown), and where there is one,
//     `session`, `generation` and `channel`: whom the input is from. It precedes the
//     first line of an input that an audit reports, and applies to all its lines.
//   - audit: `what` happened or was done, `about` which agent, and `detail`: strings, whole
//     numbers, booleans, lists of strings, and objects {"text":"…"} for text that a person
//     or an agent wrote. What an event reports (a message, a permission, a result) is not repeated.
//   - decision: `decided` is a complete input.Decided: point, input, prompt, answer.
//     `unused` marks one that came too late.
//   - shelved: `message_ids` of messages that became part of a decision before the Arbiter read them.
//
// A reader skips unknown kinds.
//
// # Purpose of the checksum
//
// `sum` is the CRC-32C of the line's bytes after it up to the closing brace, seeded with the sum in the line
// before (the first: with 0). It detects damage by the disk, lines that are missing, repeated or out of order,
// and an end that a crash tore. It does not protect against people: anyone who can write to the file can
// compute it again.
//
// A line that does not fit is skipped, and reported as damage if good ones follow. If its sum or its line feed
// is damaged, the line after it cannot be verified, either. What follows the last good line is the torn end: a
// crash leaves one, and so does reading while the last line is being written. It is not damage, and the next
// writer cuts it off: it contains nothing that was made durable, or it can be made again from the journal.
package eventlog
