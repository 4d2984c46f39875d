package control

import "golang.org/x/sys/unix"

// credentials are the kernel's facts about a peer, from the moment when it connected.
type credentials struct {
	uid, pid int
	handle   int // of the process; -1: this kernel has none (before 6.5)
}

func credentialsOf(fd int) (credentials, error) {
	u, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return credentials{}, err
	}
	c := credentials{uid: int(u.Uid), pid: int(u.Pid), handle: -1}
	handle, err := unix.GetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_PEERPIDFD)
	switch err {
	case nil:
		c.handle = handle
	case unix.ENOPROTOOPT, unix.EOPNOTSUPP, unix.EINVAL:
	default: // ESRCH and the like: it has ended, and its number may have been reused
		return credentials{}, err
	}
	return c, nil
}

// alive reports whether the process that connected still exists: then its number was not reused meanwhile.
func (c credentials) alive() bool {
	if c.handle < 0 {
		return true
	}
	set := []unix.PollFd{{Fd: int32(c.handle), Events: unix.POLLIN}}
	for {
		n, err := unix.Poll(set, 0)
		if err == unix.EINTR {
			continue
		}
		return err == nil && n == 0
	}
}

func (c credentials) release() {
	if c.handle >= 0 {
		unix.Close(c.handle)
	}
}
