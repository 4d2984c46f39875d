//go:build linux || darwin

package proctree

import (
	"context"
	"errors"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sweepTimeout = 5 * time.Second
	killPause    = time.Millisecond // between looks
	freezeRounds = 16               // a storm that outruns these is killed as far as seen

	// A look takes a while, in which one that forks and ends can be missed in all
	// its shapes, and one in the middle of exec has no environment. So it takes
	// several scans that find none: two if nothing like that can have been, more
	// and at growing intervals, 60 ms in all, where it can.
	calmScans = 2
	busyScans = 6
)

// procSet is a set of living processes.
type procSet map[procKey]proc

// finder selects processes from a snapshot.
type finder func(snapshot) procSet

// remember notes who descends from the child now. Orphans whose environment
// bears no mark are known by that alone once their parent has died.
func (c *Child) remember() {
	s := scan()
	c.killing.Lock()
	defer c.killing.Unlock()
	c.note(s)
}

// note adds the child and its descendants to known, and returns the living of them.
// Called with killing held.
func (c *Child) note(s snapshot) procSet {
	if c.known == nil {
		c.known = map[procKey]bool{}
	}
	if p, ok := s.byPID[c.cmd.Process.Pid]; ok && !c.over() {
		c.known[p.key()] = true
	}
	return s.descendants(c.known)
}

// killTree ends the child's descendants, remembered or present, and the bearers
// of its mark.
func (c *Child) killTree(ctx context.Context) (int, error) {
	c.killing.Lock()
	defer c.killing.Unlock()
	killed, err := killAll(ctx, func(s snapshot) procSet {
		found := c.note(s)
		if c.mark.Run != "" {
			s.addMarked(c.mark, found)
		}
		return found
	})
	others := 0
	for key := range killed {
		if key.pid != c.cmd.Process.Pid {
			others++
		}
	}
	return others, err
}

// Sweep kills the processes that bear the mark of a run, of that agent unless it is empty, as
// [SweepMarked] does.
func Sweep(run, agent string) int { return SweepMarked(Mark{Run: run, Agent: agent}) }

// SweepMarked kills the processes that bear a mark. Without an agent it also kills adopted
// orphans that cleared their environment: then no agent is left whose child they could be.
// It returns how many there were. A mark without a run is ignored.
func SweepMarked(m Mark) int {
	if m.Run == "" {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	known := map[procKey]bool{}
	killed, _ := killAll(ctx, func(s snapshot) procSet { // what outlives the deadline shows in Survivors
		found := s.descendants(known)
		s.addMarked(m, found)
		if m.Agent == "" {
			s.orphans(found)
		}
		for key := range found {
			known[key] = true
		}
		return found
	})
	reap()
	return len(killed)
}

// Survivors lists the processes that still bear the mark of run.
func Survivors(run string) []Process { return SurvivorsMarked(Mark{Run: run}) }

// SurvivorsMarked lists the processes that still bear a mark.
func SurvivorsMarked(m Mark) []Process {
	found := procSet{}
	scan().addMarked(m, found)
	var left []Process
	for _, p := range found {
		left = append(left, p.process())
	}
	return left
}

// killAll kills the processes that find selects until there are none, and returns which that
// was. Those we may not signal (another user's) are left out.
func killAll(ctx context.Context, find finder) (killed map[procKey]bool, err error) {
	killed, immune := map[procKey]bool{}, map[procKey]bool{}
	calm, busy := 0, 0
	for {
		found, unsure := freeze(find)
		left := 0
		for key, p := range found {
			if errors.Is(p.signal(unix.SIGKILL), unix.EPERM) {
				immune[key] = true
			}
			if immune[key] {
				continue
			}
			left++
			killed[key] = true
		}
		switch {
		case left > 0:
			calm, busy = 0, 0
		case unsure:
			busy++
		default:
			calm++
		}
		if calm == calmScans || calm+busy == busyScans {
			return killed, nil
		}
		select {
		case <-ctx.Done():
			return killed, ctx.Err()
		case <-time.After(killPause << busy):
		}
	}
}

// freeze stops the processes that find selects until a scan finds no new one, so that none
// forks between the scan and the kill. unsure: the last scan may have missed
// a process. freeze stops no child of this process between fork and
// exec: if this process died then, such a child would hold its locks and pipes.
func freeze(find finder) (found procSet, unsure bool) {
	stopped := map[procKey]bool{}
	for range freezeRounds {
		s := sharedScanFully()
		found = find(s)
		unsure = s.unsure(found)
		grew := false
		syscall.ForkLock.RLock() // which os/exec holds from fork to exec
		for key, p := range found {
			if !stopped[key] {
				stopped[key], grew = true, true
				_ = p.signal(unix.SIGSTOP) // ended meanwhile: the next look tells
			}
		}
		syscall.ForkLock.RUnlock()
		if !grew {
			break
		}
	}
	return found, unsure
}

// descendants returns the living among known and below them, and adds each to
// known: the children of one that dies are still found through it.
func (s snapshot) descendants(known map[procKey]bool) procSet {
	member := map[int]bool{}
	for key := range known {
		if p, ok := s.byPID[key.pid]; ok && p.start == key.start {
			member[key.pid] = true
		}
	}
	for grew := len(member) > 0; grew; {
		grew = false
		for pid, p := range s.byPID {
			if !member[pid] && member[p.ppid] {
				member[pid], grew = true, true
			}
		}
	}
	found := procSet{}
	for pid := range member {
		if p := s.byPID[pid]; s.killable(p) {
			known[p.key()] = true
			found[p.key()] = p
		}
	}
	return found
}

// addMarked adds the living that bear m.
func (s snapshot) addMarked(m Mark, found procSet) {
	for pid, p := range s.byPID {
		if s.killable(p) && s.bears(pid, m) {
			found[p.key()] = p
		}
	}
}
