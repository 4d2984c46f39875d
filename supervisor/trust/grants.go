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

	"github.com/arbiter-cli/arbiter/supervisor/policy"

	"github.com/arbiter-cli/arbiter/internal/statedir"
)

// Grant is something that a human allowed: either Rule, or the exact action of a tool.
type Grant struct {
	Rule   string    // in the syntax of policy.ParseRule
	Action string    // sha256 of an action, in hex
	Tool   string    // the tool of Action
	Run    string    // the run it was allowed in
	At     time.Time // when
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
	Rule   string    `json:"rule,omitempty"`
	Action string    `json:"action,omitempty"`
	Tool   string    `json:"tool,omitempty"`
	By     string    `json:"by"`
	Run    string    `json:"run,omitempty"`
	At     time.Time `json:"at"`
}

func encodeGrant(g Grant) (json.RawMessage, error) {
	return json.Marshal(entry{g.Rule, g.Action, g.Tool, byHuman, g.Run, g.At.UTC()})
}

func decodeGrant(raw json.RawMessage) (Grant, error) {
	var e entry
	if err := statedir.DecodeStrict(raw, &e); err != nil {
		return Grant{}, err
	}
	g := Grant{e.Rule, e.Action, e.Tool, e.Run, e.At}
	if e.By != byHuman {
		return Grant{}, fmt.Errorf("it was given by %q, and only a human gives any", e.By)
	}
	return g, g.check()
}
