package ptyproxy

import (
	"errors"

	"golang.org/x/sys/unix"
)

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA
)

// reopen is not possible: /dev/fd only gives another name to the same open file.
func reopen(int) (int, error) { return -1, errors.ErrUnsupported }

// await waits until one port of the set can be read or written, as each wants. It uses select(2), since
// poll(2) does not support terminals here.
func await(set []*port) error {
	for {
		var in, out unix.FdSet
		last := 0
		for _, p := range set {
			if p.fd >= unix.FD_SETSIZE {
				return errors.New("too many open files to wait for one")
			}
			if p.in {
				in.Set(p.fd)
			}
			if p.out {
				out.Set(p.fd)
			}
			last = max(last, p.fd)
		}
		_, err := unix.Select(last+1, &in, &out, nil, nil)
		if err == unix.EINTR {
			continue
		}
		for _, p := range set {
			p.in = p.in && in.IsSet(p.fd)
			p.out = p.out && out.IsSet(p.fd)
		}
		return err
	}
}
