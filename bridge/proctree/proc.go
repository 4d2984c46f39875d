package proctree

import (
	"bytes"
	"os"
	"slices"
	"strings"
	"sync"
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
	unread map[int]*reading
	wait   time.Duration // for an environment
}

func scan() snapshot {
	s := snapshot{byPID: processes(), spared: map[int]bool{1: true}, env: map[int][]byte{},
		unread: map[int]*reading{}, wait: time.Second}
	for pid := os.Getpid(); pid > 1 && !s.spared[pid]; pid = s.byPID[pid].ppid {
		s.spared[pid] = true
	}
	return s
}

// killable reports whether p runs and may be killed at all.
func (s snapshot) killable(p proc) bool { return !p.zombie() && !p.kernel && !s.spared[p.pid] }

// reading is a read of an environment. Linux makes the reader wait for the lock of the process's memory, and a process
// that hangs in the kernel, such as on a lost network file system, may hold it.
type reading struct {
	begun time.Time
	done  chan struct{} // closed when env is set
	env   []byte
}

// readings has those that have not returned: no second one of the same process is begun. Each has a goroutine, which
// ends at the latest with its process. [killAll] waits for it.
var readings = struct {
	sync.Mutex
	of map[procKey]*reading
}{of: map[procKey]*reading{}}

// environ is [environ]. late is the read if it has lasted for longer than wait.
func (p proc) environ(wait time.Duration) (env []byte, late *reading) {
	readings.Lock()
	r := readings.of[p.key()]
	if r == nil {
		r = &reading{begun: time.Now(), done: make(chan struct{})}
		readings.of[p.key()] = r
		go func() {
			r.env = environ(p.pid)
			readings.Lock()
			defer readings.Unlock()
			delete(readings.of, p.key())
			close(r.done)
		}()
	}
	readings.Unlock()
	select {
	case <-r.done:
		return r.env, nil
	case <-time.After(time.Until(r.begun.Add(wait))):
		return nil, r
	}
}

// environ is [environ], read once; nil while the read lasts. [scanFully] has read the environments of all processes
// that may be killed, so that its snapshot can be shared.
func (s snapshot) environ(pid int) []byte {
	if _, read := s.env[pid]; !read {
		s.environOf(s.byPID[pid])
	}
	return s.env[pid]
}

func (s snapshot) environOf(p proc) {
	env, late := p.environ(s.wait)
	if s.env[p.pid] = env; late != nil {
		s.unread[p.pid] = late
	}
}

// hanging returns a process outside of found whose environment is still being read; with below, only one that descends
// from this process, as all do that a subreaper has started.
func (s snapshot) hanging(found procSet, below bool) (p proc, late *reading) {
	for pid, late := range s.unread {
		p := s.byPID[pid]
		if _, known := found[p.key()]; !known && (!below || s.isBelow(pid)) {
			return p, late
		}
	}
	return p, nil
}

// isBelow reports whether a process descends from this one.
func (s snapshot) isBelow(pid int) bool {
	for range s.byPID { // a scan is not atomic: parents may form a ring
		if pid = s.byPID[pid].ppid; pid == os.Getpid() {
			return true
		}
	}
	return false
}

// bears reports whether the environment that pid was started with holds the mark. It returns false if the
// environment cannot be read (another user's, a zombie's).
func (s snapshot) bears(pid int, m Mark) bool {
	for _, want := range m.Env() {
		name, value, _ := strings.Cut(want, "=")
		if !slices.Contains(entriesOf(s.environ(pid), name), value) {
			return false
		}
	}
	return true
}

// entriesOf lists the non-empty values of a variable in an environment. There can be more than one if a program appends
// to an environment instead of replacing an entry.
func entriesOf(env []byte, name string) []string {
	name += "="
	if !bytes.Contains(env, []byte(name)) { // nearly always the case, and quick to find out
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
