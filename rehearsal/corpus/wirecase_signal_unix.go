//go:build unix

package corpus

import (
	"fmt"
	"os"
	"syscall"
)

var signals = map[string]os.Signal{
	"TERM": syscall.SIGTERM, "INT": syscall.SIGINT, "HUP": syscall.SIGHUP, "KILL": syscall.SIGKILL,
}

func sendSignal(p *os.Process, name string) error {
	s, ok := signals[name]
	if !ok {
		return fmt.Errorf("unknown signal %q", name)
	}
	return p.Signal(s)
}
