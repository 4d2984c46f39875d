package journal

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"
)

const (
	lockName    = "lock"
	lockVersion = 1
	// A check whether a run is live takes its lock for an instant, and a child holds it between fork and exec:
	// a single refusal proves nothing.
	lockGrace = 100 * time.Millisecond
	lockPoll  = 10 * time.Millisecond
)

// holder is the content of a lock file. It is only informative: the kernel decides whether
// the lock is held.
type holder struct {
	PID   int       `json:"pid"`
	Run   string    `json:"run"`
	CWD   string    `json:"cwd,omitempty"`
	Place string    `json:"place,omitempty"`
	Since time.Time `json:"since"`
}

// Lock is a lock that is held until this process and every child that inherited its file have closed it.
type Lock struct{ f file }

// File returns the locked file, to pass to a child: the lock is then held until both have closed it.
func (l *Lock) File() *os.File { return l.f.OS() }

// Close releases the lock in this process. The file stays: removing it would let two processes hold two files
// of one name.
func (l *Lock) Close() error { return l.f.Close() }

// takeLock takes the lock called name in dir, and waits for another holder to release it.
func takeLock(dir directory, name string, how openMode, wait time.Duration) (*Lock, error) {
	deadline := time.Now().Add(max(wait, lockGrace))
	for {
		f, err := tryLock(dir, name, how)
		if err == nil {
			return &Lock{f: f}, nil
		}
		var held *HeldError
		if !errors.As(err, &held) || !time.Now().Before(deadline) {
			return nil, err
		}
		time.Sleep(lockPoll)
	}
}

func tryLock(dir directory, name string, how openMode) (file, error) {
	f, err := dir.Open(name, how)
	if err != nil {
		return nil, err
	}
	err = f.TryLock(true)
	if errors.Is(err, errLocked) {
		err = heldBy(f, dir.Path()+"/"+name)
	}
	if err == nil {
		// The file may have been removed, with the run, between opening and locking.
		err = dir.Holds(name, f)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// heldBy describes the holder of a lock, as far as the file says.
func heldBy(f file, path string) *HeldError {
	held := &HeldError{Path: path}
	var h holder
	if b, _, err := readSmallFile(f); err == nil && decodeSmall(b, path, lockVersion, &h) == nil {
		held.PID, held.Run = h.PID, h.Run
		held.Gone = !alive(h.PID)
	}
	return held
}

// sign writes to the file who holds the lock, and for what.
func (l *Lock) sign(run, cwd, place string) error {
	h := holder{PID: os.Getpid(), Run: run, CWD: cwd, Place: place, Since: time.Now()}
	b, err := encodeSmall(lockVersion, h)
	if err != nil {
		return err
	}
	crash("journal.lock.write.before")
	if _, err := l.f.WriteAt(b, 0); err != nil {
		return err
	}
	crash("journal.lock.truncate.before")
	return l.f.Truncate(int64(len(b)))
}

// holderOf returns who holds a run, without disturbing it; nil if no process does.
func holderOf(dir directory) (*HeldError, error) {
	f, err := dir.Open(lockName, openRead)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	err = f.TryLock(false)
	if errors.Is(err, errLocked) {
		return heldBy(f, dir.Path()+"/"+lockName), nil
	}
	return nil, err
}

// mark is an empty file that is named after a run which a process has open, so that the live runs are found without
// opening any other. It proves nothing: a killed process leaves it.
type mark struct {
	in  directory
	run string
}

func (s *Store) mark(run string) (mark, error) {
	f, err := s.live.Open(run, openLock)
	if err != nil {
		return mark{}, err
	}
	live, err := s.root.Dir(liveName) // as long as the run, not the store, is open
	return mark{live, run}, errors.Join(err, f.Close())
}

// remove comes before the lock is released.
func (m mark) remove() error {
	if m.in == nil {
		return nil
	}
	return errors.Join(ignoreMissing(m.in.Unlink(m.run)), m.in.Close())
}

// unmark removes the mark that a killed process has left, unless a process opens the run now.
func (s *Store) unmark(run string) {
	dir, err := s.runs.Dir(run)
	if err != nil {
		return
	}
	defer dir.Close()
	if f, err := tryLock(dir, lockName, openLock); err == nil {
		_ = s.live.Unlink(run) // if it stays, that costs a look at the run
		f.Close()
	}
}

// Live returns the live runs whose ids begin with prefix, the most recently active first. It opens no other run.
func (s *Store) Live(prefix string) ([]Info, error) {
	names, err := s.live.Names()
	if err != nil {
		return nil, fmt.Errorf("list live runs: %w", err)
	}
	names = slices.DeleteFunc(names, func(name string) bool { return !strings.HasPrefix(name, prefix) })
	all := s.infos(names, s.info)
	for _, info := range all {
		if !info.Live && !info.Damaged {
			s.unmark(info.Run)
		}
	}
	return slices.DeleteFunc(all, func(i Info) bool { return !i.Live }), nil
}

// Player returns the process that runs a run of this store; 0 if there is none, or it is not known.
func (s *Store) Player(run string) int {
	held, err := s.holderOf(run)
	if err != nil || held == nil || held.Gone {
		return 0
	}
	return held.PID
}

// Over reports whether a run belongs to this store and is certainly not held now. A run that cannot be
// examined, or whose lock is missing, may be live.
func (s *Store) Over(run string) bool {
	held, err := s.holderOf(run)
	return held == nil && err == nil
}

func (s *Store) holderOf(run string) (*HeldError, error) {
	dir, err := s.dirOf(run)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	return holderOf(dir)
}
