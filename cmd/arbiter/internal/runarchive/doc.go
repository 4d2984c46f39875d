// Package runarchive reads and writes archives of runs: a run that ended in one place continues in another, with
// the same conversations.
//
// # Format
//
// An archive is a tar file, compressed with gzip. Its entries are regular files, in the order of the manifest:
//
//	manifest.json                                     what is in the archive: sizes and SHA-256
//	run/meta.json, run/journal-000007, run/events.ndjson
//	run/images/SHA256
//	projects/PROJECT/SESSION.jsonl                    transcripts, as Claude Code names them
//	projects/PROJECT/SESSION/{subagents,tool-results}/FILE
//	repository.bundle                                 the run's files, as a Git bundle
//
// A reader trusts nothing: an entry that is unknown, too large, no regular file, in the wrong place, or whose hash
// differs from the manifest's is an error ([Error]), and so is anything after the last entry. Hashes detect damage.
// They do not prove who made an archive: anyone who can write one can write any run.
//
// # Transcripts
//
// Claude Code finds a session in any project's directory (observed with CLI 2.1.319 and later). So transcripts keep
// the name of the project in which they began. [Place] copies them into a Claude configuration directory: it
// replaces an existing transcript only if that is a prefix of the exported one.
package runarchive
