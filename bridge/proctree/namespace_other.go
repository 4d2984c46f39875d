//go:build unix && !linux

package proctree

import (
	"context"
	"os/exec"
)

// Isolate changes nothing: there are no PID namespaces here.
func Isolate(context.Context, *exec.Cmd, Mode) Isolation {
	return Isolation{NoNamespace, "this system has none"}
}

// EnterNamespace changes nothing: there are no PID namespaces here.
func EnterNamespace() (Isolation, error) {
	return Isolation{NoNamespace, "this system has none"}, nil
}
