package proctree

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"time"
)

// proc is one process at one time. pid and start together identify it permanently.
type proc struct {
	pid, ppid, pgrp int
	start           uint64 // ticks of a clock of the kernel
	state           byte   // as in proc_pid_stat(5)
	name            string
	kernel          bool // a kernel thread
}

func (p proc) key() procKey     { return procKey{p.pid, p.start} }
func (p proc) zombie() bool     { return p.state == 'Z' || p.state == 'X' }
func (p proc) process() Process { return Process{PID: p.pid, Name: p.name} }

// snapshot holds all processes. It is not atomic: callers scan again until nothing changes before they act
// on it.
type snapshot struct {
	byPID map[int]proc
	// spared are this process and its ancestors: a run inside another run inherits the outer mark, and must
	// not end its own ancestors.
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

// killable reports whether p runs and may be killed at all.
func (s snapshot) killable(p proc) bool { return !p.zombie() && !p.kernel && !s.spared[p.pid] }

// environ is [environ], read once. [scanFully] has read the environments of all processes that may be
// killed, so that its snapshot can be shared.
func (s snapshot) environ(pid int) []byte {
	env, read := s.env[pid]
	if !read {
		env = environ(pid)
		s.env[pid] = env
	}
	return env
}

// bears reports whether the environment that pid was started with holds the mark. It returns false if the
// environment cannot be read (another user's, a zombie's).
func (s snapshot) bears(pid int, m Mark) bool {
	env := s.environ(pid)
	if len(env) == 0 {
		return false
	}
	for _, want := range m.Env() {
		// Nearly always it is not there, which is quick to find out.
		if !bytes.Contains(env, []byte(want)) || !slices.Contains(strings.Split(string(env), "\x00"), want) {
			return false
		}
	}
	return true
}

// entriesOf lists the non-empty values of a variable in an environment. There can be more than one if a program appends
// to an environment instead of replacing an entry.
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

// Usage is the resource usage of a child's tree.
type Usage struct {
	// CPU is the time that its running processes have used so far, including that of the children they
	// waited for. It can fall when one of them ends.
	CPU       time.Duration
	RSS       int64 // in bytes; shared pages count for each process
	Processes int
	Stopped   bool // the child itself is stopped (SIGSTOP)
}
