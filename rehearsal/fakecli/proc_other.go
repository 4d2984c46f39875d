//go:build !unix

package fakecli

import (
	"os"
	"os/exec"
)

var leaveSignals = map[os.Signal]int{}

var brokenPipe os.Signal

func ownSession(*exec.Cmd) {}

func killSession(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	return p.Kill()
}

func killSelf() { os.Exit(137) }

func pollable(f *os.File) *os.File { return f }
