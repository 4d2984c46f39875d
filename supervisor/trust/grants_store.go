package trust

import (
	"encoding/json"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

const (
	dirName = "grants"
	// lockWait bounds how long a change waits for the change of another process, which takes milliseconds.
	lockWait = 5 * time.Second
)

// GrantStore is the grants of one workspace. Several goroutines and processes may use
// stores of the same workspace at once.
type GrantStore struct {
	dir  *statedir.Dir
	cwd  string // resolved
	name string // of the file, without .json
}

// OpenGrants opens the grants of the workspace cwd in the state directory dir, and creates directories that are
// missing. It returns *statedir.UnsafeError if one of them is a link or another user's. Close the store.
func OpenGrants(dir, cwd string) (*GrantStore, error) {
	own, err := statedir.OpenWorkspace(dir, dirName, cwd)
	if err != nil {
		return nil, fmt.Errorf("open grants: %w", err)
	}
	return &GrantStore{dir: own.Dir, cwd: own.CWD, name: own.Name}, nil
}

// Close releases the store's directory.
func (s *GrantStore) Close() error { return s.dir.Close() }

// Path is the workspace's file.
func (s *GrantStore) Path() string { return s.dir.Path(s.file()) }

func (s *GrantStore) file() string { return s.name + ".json" }

// Load reads the grants, and reports which entries it does not accept. It returns *statedir.UnsafeError or
// *CorruptError if the whole file is not accepted; there are no grants then.
func (s *GrantStore) Load() ([]Grant, []GrantProblem, error) {
	d, err := s.read()
	if err != nil {
		return nil, nil, fmt.Errorf("load grants: %w", err)
	}
	var out []Grant
	var problems []GrantProblem
	for i, raw := range d.Grants {
		g, err := decodeGrant(raw)
		if err != nil {
			problems = append(problems, GrantProblem{i + 1, err.Error()})
			continue
		}
		out = append(out, g)
	}
	return out, problems, nil
}

// Add keeps a grant and returns when it is on disk. A grant that exists already stays unchanged.
func (s *GrantStore) Add(g Grant) error {
	err := g.check()
	if err == nil {
		err = s.change(func(d *document) (bool, error) {
			for _, raw := range d.Grants {
				if h, err := decodeGrant(raw); err == nil && h.same(g) {
					return false, nil
				}
			}
			raw, err := encodeGrant(g)
			d.Grants = append(d.Grants, raw)
			return true, err
		})
	}
	if err != nil {
		return fmt.Errorf("keep grant: %w", err)
	}
	return nil
}

// Remove removes the entries that allow the same as g, and reports whether there were any.
func (s *GrantStore) Remove(g Grant) (removed bool, err error) {
	err = s.change(func(d *document) (bool, error) {
		var rest []json.RawMessage
		for _, raw := range d.Grants {
			if h, err := decodeGrant(raw); err != nil || !h.same(g) {
				rest = append(rest, raw)
			}
		}
		removed = len(rest) < len(d.Grants)
		d.Grants = rest
		return removed, nil
	})
	if err != nil {
		return false, fmt.Errorf("remove grant: %w", err)
	}
	return removed, nil
}

// Clear removes everything, including entries that cannot be parsed, and returns how many there were.
func (s *GrantStore) Clear() (removed int, err error) {
	err = s.change(func(d *document) (bool, error) {
		removed, d.Grants = len(d.Grants), nil
		return removed > 0, nil
	})
	if err != nil {
		return 0, fmt.Errorf("remove grants: %w", err)
	}
	return removed, nil
}

// change replaces the file by the result of edit, if edit says so.
func (s *GrantStore) change(edit func(*document) (bool, error)) error {
	unlock, err := s.dir.Lock(s.name+".lock", lockWait)
	if err != nil {
		return err
	}
	defer unlock()
	d, err := s.read()
	if err != nil {
		return err
	}
	changed, err := edit(&d)
	if err != nil || !changed {
		return err
	}
	if d.Grants == nil {
		d.Grants = []json.RawMessage{}
	}
	b, err := json.MarshalIndent(d, "", " ")
	if err != nil {
		return err
	}
	b = append(b, '\n')
	if len(b) > maxBytes {
		return fmt.Errorf("%s would be over %d KiB: remove grants that are no longer needed", s.Path(), maxBytes>>10)
	}
	return s.dir.ReplaceLocked(s.file(), s.name+".tmp", b)
}

// read reads the file; a missing one is empty.
func (s *GrantStore) read() (document, error) {
	fresh := document{V: version, CWD: s.cwd}
	corrupt := func(format string, args ...any) (document, error) {
		return document{}, &CorruptError{s.Path(), fmt.Sprintf(format, args...)}
	}
	var d document
	found, problem, err := s.dir.ReadJSON(s.file(), maxBytes, version, &d)
	switch {
	case err != nil:
		return document{}, err
	case !found:
		return fresh, nil
	case problem != "":
		return corrupt("%s", problem)
	}
	if d.CWD != asJSON(s.cwd) {
		return corrupt("it is for the workspace %q, not for %q", d.CWD, s.cwd)
	}
	return d, nil
}

// asJSON is a text after a round trip through JSON, which replaces invalid UTF-8.
func asJSON(text string) (back string) {
	if b, err := json.Marshal(text); err == nil && json.Unmarshal(b, &back) == nil {
		return back
	}
	return text
}
