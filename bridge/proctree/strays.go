package proctree

import (
	"context"
	"slices"
)

// Strays lists, by run, the running processes of runs that are over: those whose environment bears the mark
// of a run for which dead returns true. dead is called once for each run found, also for unknown runs (of
// another state directory, or of another user if we may read it); it should return false for those.
//
// A process that bears several marks is a stray when all its runs are dead; it is listed under the last of
// them. A run whose mark is borne by this process or by one of its ancestors is never considered dead: this
// process is part of it, and the rest of its pipeline may be, too.
func Strays(dead func(run string) bool) map[string][]Process {
	list := map[string][]Process{}
	s := scan()
	for key, run := range newStrayFinder(s, dead).strays(s) {
		list[run] = append(list[run], s.byPID[key.pid].process())
	}
	return list
}

// SweepStrays kills the processes that [Strays] lists, and their descendants, and returns how many there
// were of each run. If there are none, it costs one scan of all processes. It skips processes that this
// process may not signal.
func SweepStrays(dead func(run string) bool) map[string]int {
	s := scan()
	in := newStrayFinder(s, dead)
	runs := in.strays(s)
	if len(runs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), sweepTimeout)
	defer cancel()
	known := map[procKey]bool{}
	killed, _ := killAll(ctx, func(s snapshot) procSet { // the next sweep kills those that outlive the deadline
		for key, run := range in.strays(s) {
			runs[key], known[key] = run, true
		}
		found := s.descendants(known)
		for key := range found {
			s.attribute(key, runs)
		}
		return found
	})
	reap()
	count := map[string]int{}
	for key := range killed {
		count[runs[key]]++
	}
	return count
}

// attribute sets the run of an unmarked descendant of strays: that of its nearest ancestor with one.
func (s snapshot) attribute(key procKey, runs map[procKey]string) {
	seen := map[int]bool{}
	for pid := key.pid; pid != 0 && !seen[pid]; pid = s.byPID[pid].ppid {
		if run, ok := runs[s.byPID[pid].key()]; ok {
			runs[key] = run
			return
		}
		seen[pid] = true
	}
}

// strayFinder remembers the answers of dead.
type strayFinder struct {
	dead  func(string) bool
	rules map[string]bool
}

func newStrayFinder(s snapshot, dead func(string) bool) *strayFinder {
	in := &strayFinder{dead: dead, rules: map[string]bool{}}
	for pid := range s.spared {
		for _, run := range entriesOf(s.environ(pid), EnvRun) {
			in.rules[run] = false
		}
	}
	return in
}

func (in *strayFinder) over(run string) bool {
	rule, known := in.rules[run]
	if !known {
		rule = in.dead(run)
		in.rules[run] = rule
	}
	return rule
}

// strays returns the processes of s that belong only to dead runs, with the run.
func (in *strayFinder) strays(s snapshot) map[procKey]string {
	found := map[procKey]string{}
	for pid, p := range s.byPID {
		if !s.killable(p) {
			continue
		}
		runs := entriesOf(s.environ(pid), EnvRun)
		if len(runs) == 0 || slices.ContainsFunc(runs, func(run string) bool { return !in.over(run) }) {
			continue
		}
		found[p.key()] = runs[len(runs)-1]
	}
	return found
}
