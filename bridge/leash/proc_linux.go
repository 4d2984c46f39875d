package leash

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// proc is one process at one time. pid and start together name it for good.
type proc struct {
	pid, ppid, pgrp int
	start           uint64 // clock ticks since boot
	state           byte
	name            string
}

func (p proc) key() procKey { return procKey{p.pid, p.start} }
func (p proc) zombie() bool { return p.state == 'Z' || p.state == 'X' }

// snapshot is all processes. It is not atomic: whoever acts on it looks again
// until nothing changes.
type snapshot struct {
	byPID map[int]proc
	// spared are this process and those who started it: a run inside another
	// run inherits the outer mark, and must not end its own ancestors.
	spared map[int]bool
}

func look() snapshot {
	s := snapshot{byPID: map[int]proc{}, spared: map[int]bool{1: true}}
	dir, err := os.Open("/proc")
	if err != nil {
		return s
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // what was read counts
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := readProc(pid); err == nil {
			s.byPID[pid] = p
		}
	}
	for pid := os.Getpid(); pid > 1 && !s.spared[pid]; pid = s.byPID[pid].ppid {
		s.spared[pid] = true
	}
	return s
}

// prey says whether p is alive and may be killed at all.
func (s snapshot) prey(p proc) bool { return !p.zombie() && !s.spared[p.pid] }

func readProc(pid int) (proc, error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return proc{}, err
	}
	return parseStat(pid, data)
}

// parseStat reads proc_pid_stat(5). The name may hold blanks and brackets, so
// fields are counted from the last bracket.
func parseStat(pid int, data []byte) (proc, error) {
	bad := fmt.Errorf("parse stat of process %d", pid)
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open {
		return proc{}, bad
	}
	f := bytes.Fields(data[end+1:])
	if len(f) < 20 || len(f[0]) != 1 {
		return proc{}, bad
	}
	p := proc{pid: pid, state: f[0][0], name: string(data[open+1 : end])}
	var err error
	if p.ppid, err = strconv.Atoi(string(f[1])); err != nil {
		return proc{}, bad
	}
	if p.pgrp, err = strconv.Atoi(string(f[2])); err != nil {
		return proc{}, bad
	}
	if p.start, err = strconv.ParseUint(string(f[19]), 10, 64); err != nil {
		return proc{}, bad
	}
	return p, nil
}

// bears says whether the environment that pid was started with holds the mark.
// Unreadable (another user's, a zombie's) is no.
func bears(pid int, m Mark) bool {
	env, err := os.ReadFile(fmt.Sprintf("/proc/%d/environ", pid))
	if err != nil || len(env) == 0 {
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
	for entry := range bytes.SplitSeq(env, []byte{0}) {
		if string(entry) == want {
			return true
		}
	}
	return false
}

// signal sends sig to p and to nobody who got its pid later: the pidfd is opened
// first and the start time compared after that.
func (p proc) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	now, rerr := readProc(p.pid)
	same := rerr == nil && now.start == p.start
	if err != nil { // a kernel before 5.3: the best that is left
		if !same {
			return unix.ESRCH
		}
		return unix.Kill(p.pid, sig)
	}
	defer unix.Close(fd)
	if !same {
		return unix.ESRCH
	}
	return unix.PidfdSendSignal(fd, sig, nil, 0)
}
