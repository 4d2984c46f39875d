// Package jsonl reads streams of JSON objects, one a line, that can be large: the CLI's
// frames, transcripts, messages of the bridge, commands of a run. lines.go cuts bytes into
// lines of bounded length, members.go splits an object into its fields by their exact names.
package jsonl
