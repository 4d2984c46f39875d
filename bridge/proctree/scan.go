package proctree

import (
	"os"
	"sync"
)

// scanFully is scan with all environments read, followed by the processes that were born since it began: a
// process that forks and ends at once may have ended before it is read, and its child was not listed. No
// slow step follows, so that the processes found can still be stopped.
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

// scans lets concurrent searches share a scan: when twenty children are killed at once, the same processes
// would otherwise be read twenty times.
var scans struct {
	turn sync.Mutex // held during a scan

	mu   sync.Mutex
	next *sharedScan // has not begun yet
}

type sharedScan struct {
	done chan struct{}
	seen snapshot // never modified once done is closed
}

// sharedScanFully returns a scan that began after the call.
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
	scans.next = nil // it begins now, so later callers need another one
	scans.mu.Unlock()
	mine.seen = scanFully()
	close(mine.done)
	return mine.seen
}

// unsure reports whether a process outside of found may belong to it: a process without an environment at
// this moment may be in the middle of exec, or it may have ended since it was listed and left a child that
// was not listed. Processes older than this one do not count: there are daemons without an environment.
func (s snapshot) unsure(found procSet) bool {
	ownStart := s.byPID[os.Getpid()].start
	for pid, p := range s.byPID {
		if _, known := found[p.key()]; known || !s.killable(p) || p.start < ownStart {
			continue
		}
		if env := s.environ(pid); env != nil && len(env) == 0 {
			return true
		}
	}
	return false
}
