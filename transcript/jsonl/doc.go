// Package jsonl reads streams of JSON objects, one per line, which can be large: the CLI's frames, transcripts,
// messages of the bridge, commands of a run. lines.go splits bytes into lines of limited length, members.go
// splits an object into its fields by their exact names, and cut.go shortens texts from them.
package jsonl
