//go:build linux || darwin

package proctree

import (
	"os"
	"sync"
)

// scanFully is look with all environments read, and then with those who were born
// since it began: who forks and ends at once is gone when its turn has come, and
// the next in its place was not listed. Nothing slow follows, so that who is found
// can still be stopped.
func scanFully() snapshot {
	last := lastPID()
	s := scan()
	for pid, p := range s.byPID {
		if s.killable(p) {
			s.environ(pid)
		}
	}
	s.scanNew(last)
	return s
}

// scans lets those who search at the same time share what they see: when twenty
// children are killed at once, twenty times the same would be looked at else.
var scans struct {
	turn sync.Mutex // held during a look

	mu   sync.Mutex
	next *sharedScan // not begun yet
}

type sharedScan struct {
	done chan struct{}
	seen snapshot // nothing changes it once done is closed
}

// sharedScanFully returns a watch that began after the call.
func sharedScanFully() snapshot {
	scans.mu.Lock()
	mine := scans.next
	first := mine == nil
	if first {
		mine = &sharedScan{done: make(chan struct{})}
		scans.next = mine
	}
	scans.mu.Unlock()
	if !first {
		<-mine.done
		return mine.seen
	}
	scans.turn.Lock()
	defer scans.turn.Unlock()
	scans.mu.Lock()
	scans.next = nil // it begins: who comes later is not served by it
	scans.mu.Unlock()
	mine.seen = scanFully()
	close(mine.done)
	return mine.seen
}

// unsure reports whether a process outside of found may belong to it: one that has no
// environment at this moment may be in the middle of exec, or have ended since it
// was listed and left a child that was not. Processes older than this one do not
// count: there are daemons without an environment.
func (s snapshot) unsure(found procSet) bool {
	born := s.byPID[os.Getpid()].start
	for pid, p := range s.byPID {
		if _, known := found[p.key()]; known || !s.killable(p) || p.start < born {
			continue
		}
		if env := s.environ(pid); env != nil && len(env) == 0 {
			return true
		}
	}
	return false
}
