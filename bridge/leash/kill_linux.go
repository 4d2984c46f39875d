package leash

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sys/unix"
)

const (
	sweepTimeout = 5 * time.Second
	killPause    = 2 * time.Millisecond // between looks at dying processes
	freezeRounds = 16                   // a storm that outruns these is killed as far as seen
)

// victims is a set of living processes.
type victims map[procKey]proc

// finder selects victims from a snapshot.
type finder func(snapshot) victims

// remember notes who descends from the child now. Orphans whose environment
// bears no mark are known by that alone once their parent has died.
func (c *Child) remember() {
	s := look()
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.known == nil {
		c.known = map[procKey]bool{}
	}
	if p, ok := s.byPID[c.cmd.Process.Pid]; ok && !c.waited {
		c.known[p.key()] = true
	}
	s.descendants(c.known)
}

// killTree ends the child's descendants, remembered or present, and the bearers
// of its mark.
func (c *Child) killTree(ctx context.Context) (int, error) {
	c.remember()
	c.mu.Lock()
	defer c.mu.Unlock() // known is ours meanwhile; nothing below waits for the child
	return killAll(ctx, c.cmd.Process.Pid, func(s snapshot) victims {
		found := s.descendants(c.known)
		if c.mark.Run != "" {
			s.bearers(c.mark, found)
		}
		return found
	})
}

// Sweep kills whoever bears the mark of run, and of that agent unless it is
// empty. Without an agent it also kills adopted orphans that cleared their
// environment: then no agent is left whose child they could be. It returns how
// many there were.
func Sweep(run, agent string) int {
	if run == "" {
		return 0
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	known := map[procKey]bool{}
	n, _ := killAll(ctx, 0, func(s snapshot) victims { // what outlives the deadline shows in Survivors
		found := s.descendants(known)
		s.bearers(Mark{Run: run, Agent: agent}, found)
		if agent == "" {
			s.orphans(found)
		}
		for key := range found {
			known[key] = true
		}
		return found
	})
	return n
}

// Survivors lists who still bears the mark of run.
func Survivors(run string) []Process {
	found := victims{}
	look().bearers(Mark{Run: run}, found)
	var left []Process
	for _, p := range found {
		left = append(left, Process{PID: p.pid, Name: p.name})
	}
	return left
}

// killAll kills what find selects until it selects nobody, and returns how many
// different processes that were, not counting the pid except. Those we may not
// signal (another user's) are left out.
func killAll(ctx context.Context, except int, find finder) (int, error) {
	killed, immune := map[procKey]bool{}, map[procKey]bool{}
	for {
		left := 0
		for key, p := range freeze(find) {
			if errors.Is(p.signal(unix.SIGKILL), unix.EPERM) {
				immune[key] = true
			}
			if immune[key] {
				continue
			}
			left++
			if p.pid != except {
				killed[key] = true
			}
		}
		reap()
		if left == 0 {
			return len(killed), nil
		}
		select {
		case <-ctx.Done():
			return len(killed), ctx.Err()
		case <-time.After(killPause):
		}
	}
}

// freeze stops what find selects until a look finds nobody new, so that nobody
// forks between the look and the kill.
func freeze(find finder) victims {
	stopped := map[procKey]bool{}
	var found victims
	for range freezeRounds {
		found = find(look())
		grew := false
		for key, p := range found {
			if !stopped[key] {
				stopped[key], grew = true, true
				_ = p.signal(unix.SIGSTOP) // ended meanwhile: the next look tells
			}
		}
		if !grew {
			break
		}
	}
	return found
}

// descendants returns the living among known and below them, and adds each to
// known: the children of one that dies are still found through it.
func (s snapshot) descendants(known map[procKey]bool) victims {
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
	found := victims{}
	for pid := range member {
		if p := s.byPID[pid]; s.prey(p) {
			known[p.key()] = true
			found[p.key()] = p
		}
	}
	return found
}

// bearers adds the living that bear m.
func (s snapshot) bearers(m Mark, found victims) {
	for pid, p := range s.byPID {
		if s.prey(p) && bears(pid, m) {
			found[p.key()] = p
		}
	}
}

// orphans adds adopted processes: children of this one which nobody here
// started. Children that os/exec started without a group of their own share
// ours and are left to their waiters.
func (s snapshot) orphans(found victims) {
	if !subreaper.Load() {
		return
	}
	for _, p := range s.byPID {
		if s.prey(p) && adopted(p) && !children.has(p.pid) {
			found[p.key()] = p
		}
	}
}
