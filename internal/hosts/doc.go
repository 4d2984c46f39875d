// Package hosts describes the machines on which Orchestrators can run: how a user configures them, and how
// their commands are built.
//
// A host is a list of words that starts a program there and connects its stdin and stdout: `ssh box`, `srun
// -w n2`, `podman run -i IMAGE`. The same words are used for the bridge and for Git. Some of these programs
// pass the words after them to a shell, so only harmless words are appended ([Check]).
//
// The package reads and edits text. It starts nothing, opens no file and keeps no state.
package hosts
