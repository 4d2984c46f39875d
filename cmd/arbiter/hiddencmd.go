package main

import (
	"fmt"
	"io"

	"github.com/arbiter-cli/arbiter/bridge/sandbox"
)

// sandboxProbe is the hidden command that tries to break out of a sandbox.
func sandboxProbe(stdin io.Reader, stdout, stderr io.Writer) int {
	if err := sandbox.RunProbe(stdin, stdout); err != nil {
		fmt.Fprintln(stderr, "arbiter: canary:", err)
		return 1
	}
	return 0
}

// scratchCopy is the hidden command that makes a scratch copy for a check, and becomes bubblewrap.
func scratchCopy(args []string, stderr io.Writer) int {
	fmt.Fprintln(stderr, "arbiter: scratch copy:", sandbox.RunScratch(args))
	return 1
}
