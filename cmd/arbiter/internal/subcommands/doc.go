// Package subcommands has the commands that do not start a run: they talk to live runs, read and change what
// earlier runs left, ask deciders, look after the data of a workspace, examine the machine, and complete
// command lines.
package subcommands

import "github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"

// Env has the standard streams, and the commands of this package as methods.
type Env struct{ command.Env }
