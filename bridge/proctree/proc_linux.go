package proctree

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// flagKernel is PF_KTHREAD of the kernel's <linux/sched.h>.
const flagKernel = 0x0020_0000

// processes reads /proc. It skips processes that end meanwhile.
func processes() map[int]proc {
	all := map[int]proc{}
	dir, err := os.Open("/proc")
	if err != nil {
		return all
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1) // a partial list is used as it is
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if p, err := procAt(pid); err == nil {
			all[pid] = p
		}
	}
	return all
}

// lastPID returns the last pid that was assigned in our namespace, to a process or a thread; 0 if that is
// not available.
func lastPID() int {
	load, err := readSmall("/proc/loadavg")
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(string(bytes.TrimSpace(load[bytes.LastIndexByte(load, ' ')+1:])))
	if err != nil {
		return 0
	}
	return pid
}

// newbornRounds bounds the rounds: in a fork storm there is always a new process.
const newbornRounds = 20

// scanNew adds the processes started after the process last, until there are no more.
func (s snapshot) scanNew(last int) {
	for range newbornRounds {
		now := lastPID()
		if now <= last { // or the pids have wrapped around: the next scan lists them
			return
		}
		for pid := last + 1; pid <= now; pid++ {
			p, err := procAt(pid)
			if err != nil {
				continue
			}
			env := environ(pid)
			if fd, err := unix.PidfdOpen(pid, 0); err == nil { // otherwise it is a thread
				unix.Close(fd)
				s.byPID[pid], s.env[pid] = p, env
			}
		}
		last = now
	}
}

func procAt(pid int) (proc, error) {
	data, err := readSmall("/proc/" + strconv.Itoa(pid) + "/stat")
	if err != nil {
		return proc{}, err
	}
	return parseStat(pid, data)
}

// firstInside reports whether a process is the first one of a PID namespace below ours.
func firstInside(pid int) bool {
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	if err != nil {
		return false
	}
	_, line, _ := bytes.Cut(status, []byte("\nNSpid:"))
	line, _, _ = bytes.Cut(line, []byte("\n"))
	pids := bytes.Fields(line)
	return len(pids) > 1 && string(pids[len(pids)-1]) == "1"
}

// readSmall reads a file that fits into one buffer, with only three system calls: a scan reads hundreds of
// files.
func readSmall(path string) ([]byte, error) {
	fd, err := unix.Open(path, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	defer unix.Close(fd)
	buf := make([]byte, 1024)
	n, err := unix.Read(fd, buf)
	if err != nil {
		return nil, err
	}
	return buf[:n], nil
}

// environ returns the environment with which pid was started, NUL after each entry. It is nil if this
// process may not read it, and empty if there is none, or none at this moment.
func environ(pid int) []byte {
	env, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/environ")
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if len(env) == 0 {
		return []byte{}
	}
	return env
}

// statFields are the fields of proc_pid_stat(5) from the third on, the state.
type statFields struct {
	list [][]byte
	err  error // of the last number that could not be read
}

// statOf splits the fields. The name before them may contain blanks and brackets, so they follow the last bracket.
func statOf(data []byte) *statFields {
	return &statFields{list: bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])}
}

func (f *statFields) number(field int) int64 {
	if len(f.list) <= field-3 {
		f.err = errors.New("the stat of a process is too short")
		return 0
	}
	n, err := strconv.ParseInt(string(f.list[field-3]), 10, 64)
	f.err = cmp.Or(err, f.err)
	return n
}

func parseStat(pid int, data []byte) (proc, error) {
	f := statOf(data)
	open, end := bytes.IndexByte(data, '('), bytes.LastIndexByte(data, ')')
	if open < 0 || end < open || len(f.list) == 0 {
		return proc{}, fmt.Errorf("stat of process %d has no name, or no state", pid)
	}
	p := proc{pid: pid, state: f.list[0][0], name: string(data[open+1 : end]), kernel: f.number(9)&flagKernel != 0,
		ppid: int(f.number(4)), pgrp: int(f.number(5)), start: uint64(f.number(22))}
	return p, f.err
}

// signal sends sig to p, never to a process that got its pid later: the pidfd is opened
// first and the start time compared after that.
func (p proc) signal(sig unix.Signal) error {
	fd, err := unix.PidfdOpen(p.pid, 0)
	if err != nil && !errors.Is(err, unix.ENOSYS) {
		return err
	}
	now, rerr := procAt(p.pid)
	same := rerr == nil && now.start == p.start
	if err != nil { // a kernel before 5.3 has no better way
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

// awaitExit returns when a child of this process has ended, and leaves it a zombie. It returns false if
// waiting failed.
func awaitExit(pid int) bool {
	for {
		err := unix.Waitid(unix.P_PID, pid, nil, unix.WEXITED|unix.WNOWAIT, nil)
		if !errors.Is(err, unix.EINTR) {
			return err == nil
		}
	}
}
