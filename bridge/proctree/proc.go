//go:build linux || darwin

package proctree

import (
	"bytes"
	"os"
	"strings"
)

// proc is one process at one time. pid and start together name it for good.
type proc struct {
	pid, ppid, pgrp int
	start           uint64 // ticks of some clock of the kernel's
	state           byte   // as in proc_pid_stat(5)
	name            string
	kernel          bool // a thread of the kernel's
}

func (p proc) key() procKey     { return procKey{p.pid, p.start} }
func (p proc) zombie() bool     { return p.state == 'Z' || p.state == 'X' }
func (p proc) process() Process { return Process{PID: p.pid, Name: p.name} }

// snapshot is all processes. It is not atomic: callers look again before they act on it
// until nothing changes.
type snapshot struct {
	byPID map[int]proc
	// spared are this process and those who started it: a run inside another
	// run inherits the outer mark, and must not end its own ancestors.
	spared map[int]bool
	env    map[int][]byte // what environ has read so far
}

func scan() snapshot {
	s := snapshot{byPID: processes(), spared: map[int]bool{1: true}, env: map[int][]byte{}}
	for pid := os.Getpid(); pid > 1 && !s.spared[pid]; pid = s.byPID[pid].ppid {
		s.spared[pid] = true
	}
	return s
}

// killable reports whether p is alive and may be killed at all.
func (s snapshot) killable(p proc) bool { return !p.zombie() && !p.kernel && !s.spared[p.pid] }

// environ is [environ], read once. [scanFully] has read it of all that may be killed, so that
// a snapshot of its can be shared.
func (s snapshot) environ(pid int) []byte {
	env, read := s.env[pid]
	if !read {
		env = environ(pid)
		s.env[pid] = env
	}
	return env
}

// bears reports whether the environment that pid was started with holds the mark.
// Unreadable (another user's, a zombie's) is no.
func (s snapshot) bears(pid int, m Mark) bool {
	env := s.environ(pid)
	if len(env) == 0 {
		return false
	}
	for _, want := range m.Env() {
		if !hasEntry(env, want) {
			return false
		}
	}
	return true
}

// hasEntry looks for a whole NUL-terminated entry.
func hasEntry(env []byte, want string) bool {
	if !bytes.Contains(env, []byte(want)) { // nearly always, and cheap to tell
		return false
	}
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if string(entry) == want {
			return true
		}
	}
	return false
}

// runsOf lists the runs that an environment names. More than one is possible
// where a program appends to an environment instead of replacing an entry.
func runsOf(env []byte) []string { return entriesOf(env, EnvRun) }

// entriesOf lists the values of a variable in an environment, but for empty ones.
func entriesOf(env []byte, name string) []string {
	name += "="
	if !bytes.Contains(env, []byte(name)) {
		return nil
	}
	var values []string
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if value, ok := strings.CutPrefix(string(entry), name); ok && value != "" {
			values = append(values, value)
		}
	}
	return values
}
