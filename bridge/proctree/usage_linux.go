package proctree

import (
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

// readUsage reads utime, stime, cutime, cstime and rss of a process.
func readUsage(p proc) (cpu time.Duration, rss int64, err error) {
	data, err := readSmall("/proc/" + strconv.Itoa(p.pid) + "/stat")
	if err != nil {
		return 0, 0, err
	}
	f := statOf(data)
	if uint64(f.number(22)) != p.start {
		return 0, 0, fmt.Errorf("process %d is another by now", p.pid)
	}
	ticks, pages := f.number(14)+f.number(15)+f.number(16)+f.number(17), f.number(24)
	return time.Duration(ticks) * clockTick, pages * int64(os.Getpagesize()), f.err
}
