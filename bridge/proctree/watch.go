//go:build linux || darwin

package proctree

import (
	"os"
	"sync"
)

// watch is look with all environments read, and then with those who were born
// since it began: who forks and ends at once is gone when its turn has come, and
// the next in its place was not listed. Nothing slow follows, so that who is found
// can still be stopped.
func watch() snapshot {
	last := lastBorn()
	s := look()
	for pid, p := range s.byPID {
		if s.prey(p) {
			s.environ(pid)
		}
	}
	s.chase(last)
	return s
}

// glances lets those who hunt at the same time share what they see: when twenty
// children are killed at once, twenty times the same would be looked at else.
var glances struct {
	turn sync.Mutex // held during a look

	mu   sync.Mutex
	next *glance // not begun yet
}

type glance struct {
	done chan struct{}
	seen snapshot // nobody changes it once done is closed
}

// glimpse returns a watch that began after the call.
func glimpse() snapshot {
	glances.mu.Lock()
	mine := glances.next
	first := mine == nil
	if first {
		mine = &glance{done: make(chan struct{})}
		glances.next = mine
	}
	glances.mu.Unlock()
	if !first {
		<-mine.done
		return mine.seen
	}
	glances.turn.Lock()
	defer glances.turn.Unlock()
	glances.mu.Lock()
	glances.next = nil // it begins: who comes later is not served by it
	glances.mu.Unlock()
	mine.seen = watch()
	close(mine.done)
	return mine.seen
}

// unsure says whether somebody whom found leaves out may belong there: who has no
// environment in this moment may be in the middle of exec, or have ended since it
// was listed and left a child that was not. Who is older than this process does not
// count: there are daemons without an environment.
func (s snapshot) unsure(found victims) bool {
	born := s.byPID[os.Getpid()].start
	for pid, p := range s.byPID {
		if _, known := found[p.key()]; known || !s.prey(p) || p.start < born {
			continue
		}
		if env := s.environ(pid); env != nil && len(env) == 0 {
			return true
		}
	}
	return false
}
