// Package hosts describes the machines on which Orchestrators can live: how a user configures them, and how their
// commands are built.
//
// A host is a list of words that starts a program there and connects its stdin and stdout: `ssh box`, `srun -w n2`,
// `podman run -i IMAGE`. The same words carry the bridge and Git. Some of these programs hand what follows to a
// shell, so only harmless words are appended ([Check]).
//
// The package reads and edits text. It starts nothing, opens no file and keeps no state.
package hosts
