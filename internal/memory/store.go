package memory

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/sanitize"
)

const (
	dirName  = "memory"
	version  = 1
	maxBytes = 2 << 20
	// lockWait bounds how long a change waits for a change by another process, which takes milliseconds.
	lockWait = 5 * time.Second
)

// CorruptError reports that this version of the package has not written the file in this form.
type CorruptError struct{ Path, Reason string }

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s cannot be read: %s; arbiter memory rm --all removes it", e.Path, e.Reason)
}

// Memory is what is remembered of a workspace, oldest first.
type Memory struct {
	Lessons  []Lesson
	Outcomes []Outcome
}

// document is the content of the file.
type document struct {
	V        int       `json:"v"`
	CWD      string    `json:"cwd"`
	Lessons  []Lesson  `json:"lessons"`
	Outcomes []Outcome `json:"outcomes"`
}

// Store is the memory of one workspace. Several goroutines and processes may use stores of the same workspace at once.
type Store struct {
	dir  *statedir.Dir
	mask func(string) string
	cwd  string // resolved
	name string // of the file, without .json
}

// Open opens the memory of the workspace cwd in the state directory dir, and creates missing directories.
// mask masks secrets in what is written; nil: known formats only. The caller must close the store.
func Open(dir, cwd string, mask func(string) string) (*Store, error) {
	own, err := statedir.OpenWorkspace(dir, dirName, cwd)
	if err != nil {
		return nil, fmt.Errorf("open memory: %w", err)
	}
	if mask == nil {
		mask = sanitize.Redact
	}
	return &Store{dir: own.Dir, mask: mask, cwd: own.CWD, name: own.Name}, nil
}

// Close releases the store's directory.
func (s *Store) Close() error { return s.dir.Close() }

// Path returns the path of the workspace's file.
func (s *Store) Path() string { return s.dir.Path(s.name + ".json") }

// Load reads the memory; it is empty if there is no file. Error: *CorruptError if the file cannot be
// understood.
func (s *Store) Load() (Memory, error) {
	d, err := s.read()
	if err != nil {
		return Memory{}, fmt.Errorf("load memory: %w", err)
	}
	return Memory{d.Lessons, d.Outcomes}, nil
}

// Learn adds lessons, and returns when they are on disk. Lessons without a text are skipped.
func (s *Store) Learn(lessons []Lesson) error {
	var clean []Lesson
	for _, l := range lessons {
		if l, err := l.clean(s.mask); err == nil {
			clean = append(clean, l)
		}
	}
	if clean == nil {
		return nil
	}
	return s.change("keep lessons", func(d *document) error {
		d.Lessons = merge(d.Lessons, clean)
		return nil
	})
}

// Record adds the outcome of a run, or replaces an earlier one of the same run.
func (s *Store) Record(o Outcome) error {
	o = o.clean(s.mask)
	return s.change("keep an outcome", func(d *document) error {
		d.Outcomes = record(d.Outcomes, o)
		return nil
	})
}

// Replace replaces the lessons that a human has seen. Lessons that were added meanwhile stay.
func (s *Store) Replace(seen, lessons []Lesson) error {
	var clean []Lesson
	for _, l := range lessons {
		l, err := l.clean(s.mask)
		if err != nil {
			return fmt.Errorf("replace lessons: %w", err)
		}
		clean = append(clean, l)
	}
	return s.change("replace lessons", func(d *document) error {
		added := slices.DeleteFunc(slices.Clone(d.Lessons), func(l Lesson) bool {
			return slices.ContainsFunc(seen,
				l.equal)
		})
		d.Lessons = merge(clean, added)
		return nil
	})
}

// equal reports whether two lessons are equal.
func (l Lesson) equal(o Lesson) bool {
	return l.Text == o.Text && l.Evidence == o.Evidence && l.Run == o.Run && l.Date.Equal(o.Date)
}

// Clear removes everything, even a file that cannot be understood.
func (s *Store) Clear() error {
	unlock, err := s.dir.Lock(s.name+".lock", lockWait)
	if err != nil {
		return fmt.Errorf("clear memory: %w", err)
	}
	defer unlock()
	if err := s.dir.Remove(s.name + ".json"); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("clear memory: %w", err)
	}
	return nil
}

// change applies edit to the content of the file.
func (s *Store) change(what string, edit func(*document) error) error {
	unlock, err := s.dir.Lock(s.name+".lock", lockWait)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	defer unlock()
	d, err := s.read()
	if err == nil {
		err = edit(&d)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if d.Lessons == nil {
		d.Lessons = []Lesson{}
	}
	if d.Outcomes == nil {
		d.Outcomes = []Outcome{}
	}
	b, err := json.MarshalIndent(d, "", " ")
	if err == nil {
		err = s.dir.ReplaceLocked(s.name+".json", s.name+".tmp", append(b, '\n'))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

// read reads the file; a missing file is empty.
func (s *Store) read() (document, error) {
	fresh := document{V: version, CWD: text(s.cwd)}
	corrupt := func(format string, args ...any) (document, error) {
		return document{}, &CorruptError{s.Path(), fmt.Sprintf(format, args...)}
	}
	var d document
	found, problem, err := s.dir.ReadJSON(s.name+".json", maxBytes, version, &d)
	switch {
	case err != nil:
		return document{}, err
	case !found:
		return fresh, nil
	case problem != "":
		return corrupt("%s", problem)
	}
	if d.CWD != fresh.CWD {
		return corrupt("it is for the workspace %q, not for %q", d.CWD, fresh.CWD)
	}
	for i, l := range d.Lessons { // a human may have written them
		if d.Lessons[i], err = l.clean(s.mask); err != nil {
			return corrupt("lesson %d: %v", i+1, err)
		}
	}
	for i, o := range d.Outcomes {
		d.Outcomes[i] = o.clean(s.mask)
	}
	d.Lessons = d.Lessons[max(0, len(d.Lessons)-MaxLessons):]
	d.Outcomes = d.Outcomes[max(0, len(d.Outcomes)-MaxOutcomes):]
	return d, nil
}

// text returns a path as JSON preserves it: bytes that are not valid text are replaced.
func text(path string) (back string) {
	if b, err := json.Marshal(path); err == nil && json.Unmarshal(b, &back) == nil {
		return back
	}
	return path
}
