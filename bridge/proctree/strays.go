//go:build linux || darwin

package proctree

import (
	"context"
	"slices"
)

// Strays lists, by run, the living processes of runs that are over: those whose
// environment bears the mark of a run which dead says is dead. dead is asked once
// for each run that is met, also for runs it never heard of (another state
// directory's, another user's where we may read that), for which it had better
// say no.
//
// A process that bears several marks is a stray when all its runs are dead; it is
// listed under the last of them. A run whose mark is borne by this process or by
// one above it is not judged at all: we live inside of it, and so may the rest of
// our pipeline.
func Strays(dead func(run string) bool) map[string][]Process {
	list := map[string][]Process{}
	s := scan()
	for key, run := range newStrayFinder(s, dead).strays(s) {
		list[run] = append(list[run], s.byPID[key.pid].process())
	}
	return list
}

// SweepStrays kills what [Strays] lists, and what descends from that, and returns
// how many there were of each run. Where there is none it costs one look at all
// processes. Those we may not signal are left out.
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
	killed, _ := killAll(ctx, func(s snapshot) procSet { // what outlives the deadline shows in the next sweep
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

// attribute says whose run an unmarked descendant of strays is: the run of the
// nearest one above it.
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

// strayFinder remembers what dead said.
type strayFinder struct {
	dead  func(string) bool
	rules map[string]bool
}

func newStrayFinder(s snapshot, dead func(string) bool) *strayFinder {
	in := &strayFinder{dead: dead, rules: map[string]bool{}}
	for pid := range s.spared {
		for _, run := range runsOf(s.environ(pid)) {
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

// strays are those of s that belong to dead runs only, with the run.
func (in *strayFinder) strays(s snapshot) map[procKey]string {
	found := map[procKey]string{}
	for pid, p := range s.byPID {
		if !s.killable(p) {
			continue
		}
		runs := runsOf(s.environ(pid))
		if len(runs) == 0 || slices.ContainsFunc(runs, func(run string) bool { return !in.over(run) }) {
			continue
		}
		found[p.key()] = runs[len(runs)-1]
	}
	return found
}
