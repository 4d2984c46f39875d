package journal

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"
	"time"
)

const (
	// stagedPrefix begins the name of a run that is being imported. A run's id cannot begin with a dot.
	stagedPrefix = ".import-"
	// importLock is the lock of the one process that imports. Locks of directories are hexadecimal numbers.
	importLock = "import.lock"
	importWait = 10 * time.Second
)

// DamagedError refuses an import of a run whose records are damaged.
type DamagedError struct{ Damage Damage }

func (e *DamagedError) Error() string { return "its journal is damaged: " + e.Damage.String() }

// Staged is a run that is being imported. It is invisible before Commit. A process that ends before that leaves
// only files that are cleaned up later. Close it.
type Staged struct {
	s    *Store
	lock *Lock
	run  string
	name string
	dir  directory
	done bool
	// began: the run is a new one, and comes from nowhere.
	began bool
}

// Stage begins to import a run. It returns ErrExists if a run has that id, and *HeldError if another process
// imports.
func (s *Store) Stage(run string) (g *Staged, err error) {
	defer attempted(&err, "import", run)
	if err := validID(run); err != nil {
		return nil, err
	}
	lock, err := takeLock(s.locks, importLock, openLock, importWait)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			lock.Close()
		}
	}()
	if err := s.vacant(run); err != nil {
		return nil, err
	}
	if _, err := s.removeAll(stagedPrefix); err != nil { // what killed imports have left
		return nil, err
	}
	g = &Staged{s: s, lock: lock, run: run, name: stagedPrefix + rand.Text()}
	if err := s.runs.Mkdir(g.name); err != nil {
		return nil, err
	}
	g.dir, err = s.runs.Dir(g.name)
	return g, err
}

// vacant fails with ErrExists if a run has that id.
func (s *Store) vacant(run string) error {
	dir, err := s.runs.Dir(run)
	if err == nil {
		return errors.Join(ErrExists, dir.Close())
	}
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// Path is the directory that the run is in until Commit.
func (g *Staged) Path() string { return g.dir.Path() }

// Add writes a file of the run, or one in a subdirectory. The parts of the name are separated by slashes; each
// consists of the letters that ids of runs may have, and does not begin with a dot. The file is durable when
// Add returns.
func (g *Staged) Add(name string, content io.Reader) error {
	parts := strings.Split(name, "/")
	for _, part := range parts {
		if !plainName(part, 255) {
			return fmt.Errorf("%q is not a name of a file in a run", name)
		}
	}
	dirs := []directory{g.dir} // closed at the end, and synced from the innermost on
	defer func() {
		for _, d := range dirs[1:] {
			d.Close()
		}
	}()
	for _, part := range parts[:len(parts)-1] {
		d, err := subdirectory(dirs[len(dirs)-1], part)
		if err != nil {
			return err
		}
		dirs = append(dirs, d)
	}
	in := dirs[len(dirs)-1]
	f, err := in.Open(path.Base(name), openCreate)
	if err != nil {
		return err
	}
	_, err = io.Copy(io.NewOffsetWriter(f, 0), content)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return in.Sync()
}

// Begin writes the description of the run and its first segment, for a run that begins with a state: after an
// input, and with the events that Add has written, which end at logEnd.
func (g *Staged) Begin(m Meta, input uint64, state []byte, logEnd LogPosition) error {
	g.began, m.Run, m.Closed = true, g.run, input
	m.CWD, m.Place = placeOf(m.CWD)
	if err := writeMeta(g.dir, m); err != nil {
		return err
	}
	h := newHeader(g.run, input+1, input, seedOf(g.run), len(state))
	h.logEnd = logEnd
	seg, err := createSegment(g.dir, 1, h, snapshotFrame(state, h))
	if err != nil {
		return err
	}
	return seg.f.Close()
}

// Commit checks the description and the records of the run, calls change to set where the run continues, calls
// last, and then makes the run visible, in one step. It refuses what Open would refuse, and damage
// (*DamagedError), before it calls last; an error of last is returned.
func (g *Staged) Commit(change func(*Meta), last func() error) (err error) {
	defer attempted(&err, "import", g.run)
	m, lost, err := readMeta(g.dir, g.run)
	if err = errors.Join(err, lost); err != nil {
		return err
	}
	if err := g.check(m); err != nil {
		return err
	}
	closed, reopened := m.Closed, m.Reopened
	change(&m)
	m.Run, m.Closed, m.Reopened, m.Imported = g.run, closed, reopened, !g.began
	m.CWD, m.Place = placeOf(m.CWD)
	if err := writeMeta(g.dir, m); err != nil {
		return err
	}
	if err := g.s.vacant(g.run); err != nil {
		return err
	}
	if err := last(); err != nil {
		return err
	}
	if err := g.s.runs.Rename(g.name, g.run); err != nil {
		return err
	}
	g.done = true
	return g.s.runs.Sync()
}

// check reads all records.
func (g *Staged) check(m Meta) error {
	sc := newScanner(g.dir, m)
	err := sc.scan()
	if err == nil && sc.lost() {
		err = ErrNoSnapshot
	}
	if err != nil {
		return err
	}
	for _, d := range sc.rec.Damage {
		if !d.Torn && !d.Mended {
			return &DamagedError{d}
		}
	}
	if sc.end.seq == 0 {
		return errors.New("it has no records")
	}
	f, err := g.dir.Open(LogName, openRead)
	if err != nil {
		return err
	}
	return f.Close()
}

// Close removes the run if it is not committed.
func (g *Staged) Close() error {
	err := g.dir.Close()
	if !g.done {
		err = errors.Join(err, g.s.runs.RemoveAll(g.name))
	}
	return errors.Join(err, g.lock.Close())
}
