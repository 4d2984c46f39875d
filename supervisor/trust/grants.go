package trust

// This part of the package stores what a human always allows in a workspace: rules, and exact actions of
// tools. Each workspace has one file in the state directory, grants/<sha256 of its resolved path>.json.
//
// The file lets agents act without asking, so it counts only if no other user can have written it: it must be a
// regular file of this user, mode 0600, with one name, in directories of this user that are not links, and it
// must contain its workspace's path. Otherwise the package returns an error that says what to do, and does not
// change the file; the caller then has no grants, and asks. An entry that cannot be parsed is ignored and
// reported, but kept when others are added or removed.
//
// Changes hold a kernel lock and replace the file in one rename, so
// that several runs may add to it at once and readers need no lock. The package starts
// no goroutines.

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/internal/statedir"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// Grant is something that a human allowed: either Rule, or the exact action of a tool.
type Grant struct {
	Rule   string    `json:"rule,omitempty"`   // in the syntax of policy.ParseRule
	Action string    `json:"action,omitempty"` // sha256 of an action, in hex
	Tool   string    `json:"tool,omitempty"`   // the tool of Action
	Run    string    `json:"run,omitempty"`    // the run it was allowed in
	At     time.Time `json:"at"`               // when
}

// same reports whether two grants allow the same.
func (g Grant) same(h Grant) bool {
	return g.Rule == h.Rule && g.Action == h.Action && g.Tool == h.Tool
}

// check says what is wrong with a grant.
func (g Grant) check() error {
	switch {
	case g.Rule != "" && (g.Action != "" || g.Tool != ""):
		return fmt.Errorf("it names a rule and an action, not one of them")
	case g.Rule != "":
		if _, err := policy.ParseRule(g.Rule); err != nil {
			return fmt.Errorf("rule %w", err)
		}
		return nil
	case g.Action == "":
		return fmt.Errorf("it names neither a rule nor an action")
	case g.Tool == "":
		return fmt.Errorf("it does not say which tool's action it is")
	}
	if sum, err := hex.DecodeString(g.Action); err != nil || len(sum) != 32 || hex.EncodeToString(sum) != g.Action {
		return fmt.Errorf("action %q is not a sha256 in hex", g.Action)
	}
	return nil
}

// GrantProblem is an entry of the file that is not accepted.
type GrantProblem struct {
	Entry  int // counted from 1
	Reason string
}

func (p GrantProblem) String() string { return fmt.Sprintf("entry %d: %s", p.Entry, p.Reason) }

// CorruptError says that a file is not what this package wrote.
type CorruptError struct{ Path, Reason string }

func (e *CorruptError) Error() string {
	return fmt.Sprintf("%s cannot be read: %s; what was always allowed in this workspace is asked for again; look at "+
		"the file, then remove it", e.Path, e.Reason)
}

const (
	version  = 1
	byHuman  = "human"
	maxBytes = 1 << 20
)

// document is the file. Entries that cannot be parsed are kept unchanged.
type document struct {
	V      int               `json:"v"`
	CWD    string            `json:"cwd"`
	Grants []json.RawMessage `json:"grants"`
}

type entry struct {
	Grant
	By string `json:"by"`
}

func decodeGrant(raw json.RawMessage) (Grant, error) {
	var e entry
	if err := statedir.DecodeStrict(raw, &e); err != nil {
		return Grant{}, err
	}
	if e.By != byHuman {
		return Grant{}, fmt.Errorf("it was given by %q, and only a human gives any", e.By)
	}
	return e.Grant, e.check()
}

const dirName = "grants"

// GrantStore is the grants of one workspace. Several goroutines and processes may use
// stores of the same workspace at once.
type GrantStore struct{ *statedir.Workspace }

// OpenGrants opens the grants of the workspace cwd in the state directory dir, and creates directories that are
// missing. It returns *statedir.UnsafeError if one of them is a link or another user's. Close the store.
func OpenGrants(dir, cwd string) (*GrantStore, error) {
	own, err := statedir.OpenWorkspace(dir, dirName, cwd)
	if err != nil {
		return nil, fmt.Errorf("open grants: %w", err)
	}
	return &GrantStore{own}, nil
}

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
			g.At = g.At.UTC()
			raw, err := json.Marshal(entry{g, byHuman})
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
	return s.Change(maxBytes, func() (any, error) {
		d, err := s.read()
		if err != nil {
			return nil, err
		}
		changed, err := edit(&d)
		if err != nil || !changed {
			return nil, err
		}
		if d.Grants == nil {
			d.Grants = []json.RawMessage{}
		}
		return d, nil
	})
}

// read reads the file; a missing one is empty.
func (s *GrantStore) read() (document, error) {
	fresh := document{V: version, CWD: s.CWD}
	corrupt := func(format string, args ...any) (document, error) {
		return document{}, &CorruptError{s.Path(), fmt.Sprintf(format, args...)}
	}
	var d document
	found, problem, err := s.Workspace.Load(maxBytes, version, &d)
	switch {
	case err != nil:
		return document{}, err
	case !found:
		return fresh, nil
	case problem != "":
		return corrupt("%s", problem)
	}
	if d.CWD != s.CWD {
		return corrupt("it is for the workspace %q, not for %q", d.CWD, s.CWD)
	}
	return d, nil
}
