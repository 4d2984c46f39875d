package ptyproxy

import (
	"fmt"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS
)

// reopen opens the same terminal again, so that only our file is non-blocking.
func reopen(fd int) (int, error) {
	return unix.Open(fmt.Sprintf("/proc/self/fd/%d", fd), unix.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK|unix.O_CLOEXEC, 0)
}

// await waits until one port of the set can be read or written, as each wants.
func await(set []*port) error {
	fds := make([]unix.PollFd, len(set))
	for i, p := range set {
		fds[i].Fd = int32(p.fd)
		if p.in {
			fds[i].Events |= unix.POLLIN
		}
		if p.out {
			fds[i].Events |= unix.POLLOUT
		}
		if fds[i].Events == 0 {
			fds[i].Fd = -1 // otherwise a hang-up would end the wait again and again
		}
	}
	for {
		_, err := unix.Poll(fds, -1)
		if err == unix.EINTR {
			continue
		}
		for i, p := range set {
			const broken = unix.POLLHUP | unix.POLLERR | unix.POLLNVAL
			p.in = p.in && fds[i].Revents&(unix.POLLIN|broken) != 0
			p.out = p.out && fds[i].Revents&(unix.POLLOUT|broken) != 0
		}
		return err
	}
}
