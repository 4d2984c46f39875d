package proctree

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"
)

// clockTick is the unit of times in /proc: USER_HZ, 100 on every platform that Go supports.
const clockTick = 10 * time.Millisecond

// Usage adds up the child, its descendants and the processes that bear its mark. It only reads; processes
// that end meanwhile do not count.
func (c *Child) Usage() Usage {
	var u Usage
	confined := c.Confined()
	for _, p := range c.Present() {
		cpu, rss, err := readUsage(p)
		if err != nil {
			continue
		}
		u.CPU += cpu
		u.RSS += rss
		u.Processes++
		if p.pid == c.PID() || p.pid == confined {
			u.Stopped = u.Stopped || p.state == 'T' || p.state == 't'
		}
	}
	return u
}

// readUsage reads proc_pid_stat(5): utime, stime, cutime, cstime and rss.
func readUsage(p proc) (cpu time.Duration, rss int64, err error) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", p.pid))
	if err != nil {
		return 0, 0, err
	}
	f := bytes.Fields(data[bytes.LastIndexByte(data, ')')+1:])
	if len(f) < 22 {
		return 0, 0, fmt.Errorf("parse stat of process %d", p.pid)
	}
	number := func(field int) int64 { // as proc_pid_stat(5) counts them; the state is 3
		n, parseErr := strconv.ParseInt(string(f[field-3]), 10, 64)
		if parseErr != nil {
			err = parseErr
		}
		return n
	}
	if uint64(number(22)) != p.start {
		return 0, 0, fmt.Errorf("process %d is another by now", p.pid)
	}
	ticks := number(14) + number(15) + number(16) + number(17)
	return time.Duration(ticks) * clockTick, number(24) * int64(os.Getpagesize()), err
}
