package proctree

import (
	"context"
	"errors"
	"maps"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sweepTimeout = 5 * time.Second
	killPause    = time.Millisecond // between scans
	freezeRounds = 16               // after these, the processes found so far are killed

	// A scan takes a while. It can miss a process that forks and ends repeatedly, and a process in the
	// middle of exec has no environment. So several scans must find no process: two if neither can have
	// happened, otherwise more, at growing intervals, 60 ms in all.
	calmScans = 2
	busyScans = 6
)

// procSet is a set of running processes.
type procSet map[procKey]proc

// finder selects processes from a snapshot.
type finder func(snapshot) procSet

// Remember records the child's current descendants. Once its parent has died, an orphan whose environment bears no mark
// can be recognized only by this record: call it before the child is asked to end.
func (c *Child) Remember() {
	s := scan()
	c.killing.Lock()
	defer c.killing.Unlock()
	c.note(s)
}

// note adds the child and its descendants to known, and returns those that run. Called with killing held.
func (c *Child) note(s snapshot) procSet {
	if c.known == nil {
		c.known = map[procKey]bool{}
	}
	if p, ok := s.byPID[c.cmd.Process.Pid]; ok && !c.over() {
		c.known[p.key()] = true
	}
	return s.descendants(c.known)
}

// family is note together with the processes that bear the child's mark.
func (c *Child) family(s snapshot) procSet {
	found := c.note(s)
	if c.mark.Run != "" {
		s.addMarked(c.mark, found)
	}
	return found
}

// Sweep is [SweepMarked] for the mark of a run and, unless it is empty, an agent.
func Sweep(run, agent string) int { return SweepMarked(Mark{Run: run, Agent: agent}) }

// SweepMarked kills the processes that bear a mark. Without an agent it also kills adopted orphans that
// cleared their environment, because no agent is left to which they could belong. It returns how many it
// killed. A mark without a run is ignored.
func SweepMarked(m Mark) int {
	if m.Run == "" {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	known := map[procKey]bool{}
	killed, _ := killAll(ctx, func(s snapshot) procSet { // Survivors lists those that outlive the deadline
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

// killAll kills the processes that find selects until there are none, and returns them. It skips processes
// that this process may not signal (another user's).
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

// freeze stops the processes that find selects until a scan finds no new one, so that none forks between
// the scan and the kill. unsure reports that the last scan may have missed a process. freeze stops no child
// of this process between fork and exec: if this process died then, such a child would hold its locks and
// pipes.
func freeze(find finder) (found procSet, unsure bool) {
	stopped := map[procKey]bool{}
	for range freezeRounds {
		s := sharedScanFully()
		found = find(s)
		unsure = s.unsure(found)
		grew := false
		syscall.ForkLock.RLock() // os/exec holds it from fork to exec
		for key, p := range found {
			if !stopped[key] {
				stopped[key], grew = true, true
				_ = p.signal(unix.SIGSTOP) // if it has ended, the next scan shows it
			}
		}
		syscall.ForkLock.RUnlock()
		if !grew {
			break
		}
	}
	return found, unsure
}

// descendants returns the running processes that are in known or descend from it, and adds each to known:
// that way the children of a process are found even after it has died.
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

// addMarked adds the running processes that bear m.
func (s snapshot) addMarked(m Mark, found procSet) {
	for pid, p := range s.byPID {
		if s.killable(p) && s.bears(pid, m) {
			found[p.key()] = p
		}
	}
}

// Present are a child's processes at one time.
type Present procSet

// Present returns the child, its descendants, and the processes that bear its mark.
func (c *Child) Present() Present {
	s := scan()
	c.killing.Lock()
	defer c.killing.Unlock()
	return Present(c.family(s))
}

// KillNew ends the child's processes that were not present before, and returns how many there were. The child itself
// stays. It returns when none of them is left, or with an error after five seconds.
func (c *Child) KillNew(before Present) (int, error) {
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	c.killing.Lock()
	defer c.killing.Unlock()
	killed, err := killAll(ctx, func(s snapshot) procSet {
		found := c.family(s)
		maps.DeleteFunc(found, func(key procKey, _ proc) bool {
			_, known := before[key]
			return known || key.pid == c.cmd.Process.Pid
		})
		return found
	})
	return len(killed), err
}
