package leash

import (
	"fmt"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// subreaper says that orphans of ours come to us, so that reaping is ours too.
var subreaper atomic.Bool

// Become makes this process the subreaper of its descendants and starts to reap
// adopted orphans. release undoes it and waits for the reaper.
func Become() (release func(), err error) {
	if err := unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0); err != nil {
		return nil, fmt.Errorf("become subreaper: %w", err)
	}
	subreaper.Store(true)
	// One slot is enough: a reap looks at all children, so signals that arrive
	// while one is waiting add nothing.
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

func adopted(p proc) bool {
	return p.ppid == os.Getpid() && p.pgrp != unix.Getpgrp()
}

// reap waits for dead orphans, each by its pid.
func reap() {
	if !subreaper.Load() || !anyZombie() {
		return
	}
	children.mu.Lock()
	defer children.mu.Unlock()
	for pid, p := range look().byPID {
		if p.zombie() && adopted(p) && !children.pids[pid] {
			var status unix.WaitStatus
			_, _ = unix.Wait4(pid, &status, unix.WNOHANG, nil) // gone already is as good
		}
	}
}

// anyZombie says whether some child can be waited for, and leaves it as it is.
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
