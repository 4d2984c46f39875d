package main

import (
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"

	"github.com/arbiter-cli/arbiter/bridge/sandbox"
)

// toolShell executes the shell for a command of the CLI, without the variables that contain the CLI's login. It
// replaces this process. It returns only if that fails, with the exit code that a shell has then.
func toolShell(command string, stderr io.Writer) int {
	parent, _ := os.Readlink("/proc/" + strconv.Itoa(os.Getppid()) + "/exe") // without it, the usual shell
	path, args, env := sandbox.ToolShell(command, os.Environ(), parent)
	err := syscall.Exec(path, args, env)
	fmt.Fprintf(stderr, "arbiter: %s: %v\n", path, err)
	return 126
}

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
