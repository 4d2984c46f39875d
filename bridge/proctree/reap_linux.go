package proctree

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// subreaper is true while orphaned descendants become children of this process, which has to reap them.
var subreaper atomic.Bool

// BecomeSubreaper makes this process the subreaper of its descendants and starts to reap
// adopted orphans. release undoes it and waits for the reaper.
func BecomeSubreaper() (release func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become subreaper: %w", err)
	}
	subreaper.Store(true)
	// One slot is enough: a reap checks all children, so signals that arrive while one is waiting add
	// nothing.
	sigs := make(chan os.Signal, 1)
	signal.Notify(sigs, unix.SIGCHLD)
	quit := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() {
		for {
			reap()
			select {
			case <-sigs:
			case <-quit:
				return
			}
		}
	})
	var once sync.Once
	return func() {
		once.Do(func() {
			signal.Stop(sigs)
			close(quit)
			wg.Wait()
			subreaper.Store(false)
			_ = unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
		})
	}, nil
}

// AdoptOrphans makes this process the subreaper of its descendants. Dead orphans are reaped by a [Sweep], and at the
// end of each command that [Keep] or [Tie] started. It is for the process above the subreaper, which starts that by
// other means than [Start]: if the subreaper is killed, its descendants become children of this process, and Sweep ends
// them, marked or not. Call Sweep when the subreaper has been waited for. A child in a group of its own that neither
// [Start] nor [Keep] started counts as an orphan.
func AdoptOrphans() error {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("become subreaper: %w", err)
	}
	subreaper.Store(true)
	return nil
}

func adopted(p proc) bool {
	return p.ppid == os.Getpid() && p.pgrp != unix.Getpgrp()
}

// reap reaps dead orphans, each by its pid.
func reap() {
	if !subreaper.Load() || !anyZombie() {
		return
	}
	children.mu.Lock()
	defer children.mu.Unlock()
	for pid, p := range scan().byPID {
		if p.zombie() && adopted(p) && !children.pids[pid] {
			var status unix.WaitStatus
			_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil) // it may have been reaped already
		}
	}
}

// anyZombie reports whether some child can be waited for, without reaping it.
func anyZombie() bool {
	var info unix.Siginfo
	err := unix.Waitid(unix.P_ALL, 0, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, nil)
	return err == nil && info.Signo != 0
}

func (r *registry) has(pid int) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.pids[pid]
}

// orphans adds adopted processes: children of this process that this program did not start. Children that
// os/exec started without a group of their own share ours; their callers wait for them.
func (s snapshot) orphans(found procSet) {
	if !subreaper.Load() {
		return
	}
	for _, p := range s.byPID {
		if s.killable(p) && adopted(p) && !children.has(p.pid) {
			found[p.key()] = p
		}
	}
}
