package journal

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"
)

const (
	runsName  = "runs"
	locksName = "dirs"
	liveName  = "live"
	// trashPrefix begins the name of a run that is being removed. A run's id
	// cannot begin with a dot.
	trashPrefix = ".removed-"
)

// Store is the state directory's collection of runs. Several goroutines and processes may call its methods at
// once.
type Store struct {
	root, runs, locks, live directory
}

// OpenStore opens the state directory, and creates it if it is missing. It refuses a link or another user's
// directory (*UnsafeError), and removes the access of others. Close the store when all runs are closed.
func OpenStore(dir string) (*Store, error) {
	dir, err := filepath.Abs(dir)
	if err != nil {
		return nil, err
	}
	crash("journal.store.mkdir.before")
	if err := os.MkdirAll(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, fmt.Errorf("create it: %w", err)
	}
	crash("journal.store.mkdir.after")
	root, err := openRoot(dir)
	if err != nil {
		return nil, err
	}
	return openStore(root)
}

func openStore(root directory) (s *Store, err error) {
	s = &Store{root: root}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	for _, d := range []struct {
		to   *directory
		name string
	}{{&s.runs, runsName}, {&s.locks, locksName}, {&s.live, liveName}} {
		if *d.to, err = subdirectory(root, d.name); err != nil {
			return s, err
		}
	}
	return s, nil
}

// subdirectory opens a directory, and creates it if it is missing.
func subdirectory(in directory, name string) (directory, error) {
	d, err := in.Dir(name)
	if !errors.Is(err, fs.ErrNotExist) {
		return d, err
	}
	if err := in.Mkdir(name); err != nil && !errors.Is(err, fs.ErrExist) {
		return nil, err
	}
	if err := in.Sync(); err != nil {
		return nil, err
	}
	return in.Dir(name)
}

// Close releases the store's directories. Open runs are not affected.
func (s *Store) Close() error {
	var errs []error
	for _, d := range []directory{s.live, s.locks, s.runs, s.root} {
		if d != nil {
			errs = append(errs, d.Close())
		}
	}
	return errors.Join(errs...)
}

// validID refuses ids that would be paths or hidden files.
func validID(id string) error {
	if !plainName(id, maxRunID) || id[0] == '-' {
		return fmt.Errorf("%q is not the id of a run: %w", id, ErrNotFound)
	}
	return nil
}

// plainName reports whether a name leads nowhere else, is not hidden and has at most so many bytes.
func plainName(name string, most int) bool {
	return name != "" && len(name) <= most && name[0] != '.' && !strings.ContainsFunc(name, func(c rune) bool {
		return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '-' && c != '_' && c != '.'
	})
}

// dirOf opens the directory of a run, or fails with ErrNotFound.
func (s *Store) dirOf(id string) (directory, error) {
	if err := validID(id); err != nil {
		return nil, err
	}
	dir, err := s.runs.Dir(id)
	if errors.Is(err, fs.ErrNotExist) {
		err = errors.Join(ErrNotFound, err)
	}
	return dir, err
}

// Create begins a run. Its directory, lock and empty journal are durable when it returns. It returns ErrExists
// if a run has that id.
func (s *Store) Create(m Meta, o Options) (r *Run, err error) {
	defer attempted(&err, "create", m.Run)
	if err := validID(m.Run); err != nil {
		return nil, err
	}
	m.CWD, m.Place = placeOf(m.CWD)
	m.Closed, m.Reopened = 0, false
	crash("journal.create.mkdir.before")
	if err := s.runs.Mkdir(m.Run); errors.Is(err, fs.ErrExist) {
		return nil, ErrExists
	} else if err != nil {
		return nil, err
	}
	crash("journal.create.mkdir.after")
	// A crash from here on leaves a run without records, which opens like any
	// other and may be pruned.
	defer func() {
		if err != nil {
			err = errors.Join(err, s.remove(m.Run))
		}
	}()
	h, err := s.hold(m.Run, openLock, 0)
	if err != nil {
		return nil, err
	}
	defer closeUnless(&r, h.close)
	if err := h.lock.sign(m.Run, m.CWD, m.Place); err != nil {
		return nil, err
	}
	events := &eventFile{dir: h.dir}
	if events.f, err = h.dir.Open(LogName, openCreate); err != nil {
		return nil, err
	}
	defer closeUnless(&r, events.f.Close)
	seg, err := createSegment(h.dir, 1, newHeader(m.Run, 1, 0, seedOf(m.Run), 0), nil)
	if err != nil {
		return nil, err
	}
	defer closeUnless(&r, seg.f.Close)
	if err := writeMeta(h.dir, m); err != nil {
		return nil, err
	}
	crash("journal.create.syncdir.before")
	if err := s.runs.Sync(); err != nil {
		return nil, err
	}
	crash("journal.create.syncdir.after")
	if h.live, err = s.mark(m.Run); err != nil {
		return nil, err
	}
	return start(h, m, o, &writer{seg: seg, highest: 1, keep: 1, crc: seedOf(m.Run), events: events}, 0), nil
}

// held is a run's directory with its lock taken.
type held struct {
	dir  directory
	lock *Lock
	live mark // of a run that is open
}

func (s *Store) hold(id string, how openMode, wait time.Duration) (held, error) {
	dir, err := s.dirOf(id)
	if err != nil {
		return held{}, err
	}
	lock, err := takeLock(dir, lockName, how, wait)
	if err != nil {
		dir.Close()
		return held{}, err
	}
	// The process that removed the run was killed before it removed the lock, too.
	if err := dir.Present(); err != nil {
		lock.Close()
		dir.Close()
		return held{}, err
	}
	return held{dir: dir, lock: lock}, nil
}

func (h held) close() error { return errors.Join(h.live.remove(), h.lock.Close(), h.dir.Close()) }

// closeUnless is deferred by functions that open a run, for what the opened run then owns.
func closeUnless(r **Run, close func() error) {
	if *r == nil {
		_ = close()
	}
}

// start starts the writer of a run that has the given number of inputs.
func start(h held, m Meta, o Options, w *writer, inputs uint64) *Run {
	w.r = &Run{
		id: m.Run, held: h, opts: o.withDefaults(),
		wake: make(chan struct{}, 1), jobs: make(chan job), stop: make(chan struct{}), done: make(chan struct{}),
		st: state{
			meta: m, queue: make([]entry, 1), chain: w.events.chain, next: inputs + 1, durable: inputs, size: w.seg.end,
			advanced: make(chan struct{}),
		},
	}
	w.r.soon = time.AfterFunc(time.Hour, w.r.late)
	w.r.soon.Stop()
	go w.run()
	return w.r
}

// placeOf resolves a working directory and computes its identity: two names of one place have the same one, and
// it also identifies names that are not valid text.
func placeOf(cwd string) (resolved, place string) {
	if cwd == "" {
		return "", ""
	}
	if abs, err := filepath.Abs(cwd); err == nil {
		cwd = abs
	}
	if real, err := filepath.EvalSymlinks(cwd); err == nil {
		cwd = real
	}
	sum := sha256.Sum256([]byte(cwd))
	return cwd, hex.EncodeToString(sum[:8])
}

// LockDir makes run the only one of a working directory, for as long as the lock is held. *HeldError names the
// holder. A lock whose holder has ended is free.
func (s *Store) LockDir(cwd, run string) (*Lock, error) {
	cwd, place := placeOf(cwd)
	l, err := takeLock(s.locks, place+".lock", openLock, 0)
	if err != nil {
		return nil, fmt.Errorf("lock directory %s: %w", cwd, err)
	}
	if err := l.sign(run, cwd, place); err != nil {
		l.Close()
		return nil, fmt.Errorf("lock directory %s: %w", cwd, err)
	}
	return l, nil
}
