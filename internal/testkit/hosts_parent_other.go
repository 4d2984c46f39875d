//go:build !linux

package testkit

import "syscall"

// ownGroup puts a server into a process group of its own.
func ownGroup() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setpgid: true} }
