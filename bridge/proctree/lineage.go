package proctree

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// Ancestor is a process in the chain of parents of another: PID and Start together identify it permanently.
type Ancestor struct {
	PID   int
	Start uint64 // ticks of some clock of the kernel's
	Name  string // the kernel's short name
	// Runs and Agents are those whose marks it was started with.
	Runs, Agents []string
	// Unreadable reports that this process may not read its environment.
	Unreadable bool
}

// errLineageChanged reports that a chain changed each time it was read.
var errLineageChanged = errors.New("its line of parents does not stand still")

// lineageAttempts bounds how often a chain is read until two readings agree.
const lineageAttempts = 5

// Lineage returns the chain of a process: itself, its parent, and so on up to the first process, or to one
// whose parent is not visible from here. While the chain is read, parents may end and their children get
// other parents, so two readings must agree.
func Lineage(pid int) ([]Ancestor, error) {
	var before []proc
	for range lineageAttempts {
		line, err := parentChain(pid)
		switch {
		case errors.Is(err, errLineageChanged):
			before = nil
			continue
		case err != nil:
			return nil, err
		case before != nil && slices.EqualFunc(before, line, func(a, b proc) bool { return a.key() == b.key() }):
			return ancestors(line), nil
		}
		before = line
	}
	return nil, fmt.Errorf("process %d: %w", pid, errLineageChanged)
}

func parentChain(pid int) (line []proc, err error) {
	for next := pid; next > 0; {
		p, err := procAt(next)
		switch {
		case err != nil && len(line) == 0:
			return nil, fmt.Errorf("process %d cannot be inspected: %w", pid, err)
		case err != nil:
			return nil, errLineageChanged // the parent has ended, and another has taken its place
		case len(line) > 0 && p.start > line[len(line)-1].start, len(line) > 1000:
			return nil, errLineageChanged // no parent is younger than its child: the number was reused
		}
		line = append(line, p)
		if next == 1 {
			break
		}
		next = p.ppid
	}
	return line, nil
}

func ancestors(line []proc) []Ancestor {
	list := make([]Ancestor, len(line))
	for i, p := range line {
		env := environ(p.pid)
		list[i] = Ancestor{PID: p.pid, Start: p.start, Name: p.name, Runs: entriesOf(env, EnvRun),
			Agents: entriesOf(env, EnvAgent), Unreadable: env == nil}
	}
	return list
}

// Marks are the runs whose marks this process was started with.
func Marks() []string { return entriesOf(environ(unix.Getpid()), EnvRun) }

// StartOf returns when a process was started, which identifies it together with its number.
func StartOf(pid int) (uint64, error) {
	p, err := procAt(pid)
	return p.start, err
}

// ErrEnded reports that a process has ended; its number may have been reused.
var ErrEnded = errors.New("it has ended")

// End kills one process, never another that got its number later, and waits for its end. If the process no
// longer exists, it returns [ErrEnded].
func End(ctx context.Context, pid int, start uint64) error {
	p, err := procAt(pid)
	if err != nil || p.start != start || p.zombie() {
		return ErrEnded
	}
	if err := p.signal(unix.SIGKILL); err != nil {
		return fmt.Errorf("kill process %d: %w", pid, err)
	}
	for {
		now, err := procAt(pid)
		if err != nil || now.start != start || now.zombie() {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("process %d does not end, though it was killed: %w", pid, ctx.Err())
		case <-time.After(5 * time.Millisecond):
		}
	}
}
