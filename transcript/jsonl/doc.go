// Package jsonl reads streams of JSON objects, one a line, that can be large and of
// which little is of interest: the CLI's frames, transcripts, messages of the bridge,
// commands of a run. lines.go cuts bytes into lines of bounded length, scan.go walks an
// object's members and decodes none.
//
// Nothing here has a goroutine or keeps what it was given: what it returns is part of
// the caller's bytes, and good as long as those.
package jsonl
