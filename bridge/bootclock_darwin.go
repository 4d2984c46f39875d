package bridge

import "golang.org/x/sys/unix"

const source = unix.CLOCK_MONOTONIC
