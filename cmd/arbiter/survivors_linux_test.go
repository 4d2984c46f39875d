package main

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// survivors returns the live processes that have the run's mark in their environment, by pid.
func survivors(run string) map[int]string {
	dirs, _ := filepath.Glob("/proc/[0-9]*")
	left := map[int]string{}
	for _, d := range dirs {
		env, err := os.ReadFile(d + "/environ")
		if err != nil || !bytes.Contains(env, []byte("ARBITER_RUN="+run)) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(d))
		if err != nil {
			continue
		}
		cmd, _ := os.ReadFile(d + "/cmdline")
		left[pid] = strings.ReplaceAll(string(cmd), "\x00", " ")
	}
	return left
}

// awaitGone waits until no process of the run is alive. It waits on the processes themselves.
func awaitGone(t *testing.T, run string) {
	t.Helper()
	deadline := time.Now().Add(waitTimeout)
	for {
		left := survivors(run)
		if len(left) == 0 {
			return
		}
		for pid := range left {
			fd, err := unix.PidfdOpen(pid, 0)
			if err != nil {
				continue // it has ended meanwhile
			}
			n, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}},
				int(time.Until(deadline).Milliseconds()))
			_ = unix.Close(fd)
			if err != unix.EINTR && n == 0 {
				t.Fatalf("still alive: %v", left)
			}
		}
	}
}

// awaitSurvivors waits until that many processes of the run are left.
func awaitSurvivors(t *testing.T, run string, want int) {
	t.Helper()
	until(t, fmt.Sprintf("%d processes that are left", want), func() bool { return len(survivors(run)) == want })
}
