package settings

// This file decides whether a workspace's own settings, hooks and agents are trusted: by a flag, or because a
// human trusted exactly the current ones.

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// MaxListedChanges is how many changes of a workspace are listed in one line.
const MaxListedChanges = 4

// TrustState says whether a workspace's own settings are trusted, and why.
type TrustState struct {
	Trusted  bool
	ByFlag   bool           // for this run, by --trust
	Listing  trust.Listing  // the current settings; empty if they could not be read
	Recorded bool           // it was trusted before
	Was      trust.Listing  // the settings at that time
	Changed  []trust.Change // since then
	Problem  string         // what could not be read
}

// OwnConfiguration returns the directories of the user's own configuration, which do not belong to a workspace.
func OwnConfiguration() []string {
	var own []string
	claude := os.Getenv("CLAUDE_CONFIG_DIR")
	home, err := os.UserHomeDir()
	if claude == "" && err == nil {
		claude = filepath.Join(home, ".claude")
	}
	if filepath.IsAbs(claude) {
		own = append(own, claude)
	}
	if config, err := os.UserConfigDir(); err == nil {
		own = append(own, filepath.Join(config, "arbiter"))
	}
	return own
}

// TrustOf decides about a workspace: by the flag for the current settings, or by a record of exactly these. The state
// directory is the one in --state-dir or its variable, or else the user's. A configuration file cannot set it,
// because it is read later.
func TrustOf(c *cli.Context, place string) (TrustState, error) {
	return TrustIn(place, c.String("state-dir"), c.Bool("trust"))
}

func TrustIn(place, state string, flag bool) (TrustState, error) {
	var t TrustState
	var err error
	if t.Listing, err = trust.Inventory(place, OwnConfiguration()...); err != nil {
		if flag {
			return t, command.Environmentf("--trust: %v", err)
		}
		t.Problem = err.Error()
		return t, nil
	}
	if flag {
		t.Trusted, t.ByFlag = true, true
		return t, nil
	}
	store, err := OpenTrust(state)
	if err != nil {
		t.Problem = err.Error()
		return t, nil
	}
	was, ok, err := store.Trusted(place)
	switch {
	case err != nil:
		t.Problem = err.Error()
	case ok:
		t.Recorded, t.Trusted = true, was.Hash == t.Listing.Hash
		t.Was, t.Changed = was, trust.Diff(was, t.Listing)
	}
	return t, nil
}

// OpenTrust opens the records of trust in the state directory that the flag names, or in the usual one.
func OpenTrust(state string) (trust.Store, error) {
	dir, err := command.StateDir(state)
	if err != nil {
		return trust.Store{}, err
	}
	store, err := trust.Open(dir)
	if err != nil {
		return trust.Store{}, command.StateDirProblem(err)
	}
	return store, nil
}

// Distrust describes, for a person, why a workspace that was trusted is not trusted any more; empty if there is
// nothing to say.
func (t TrustState) Distrust() string {
	if t.Trusted || !t.Recorded {
		return ""
	}
	what := sanitize.Line(trust.Summary(t.Changed, MaxListedChanges), 600)
	if what == "" {
		what = "it changed since the previous process of this run"
	}
	return "the workspace has changed since it was trusted: " + what +
		" – its own settings, hooks, agents and MCP servers are not loaded (arbiter trust lists them, and asks " +
		"whether to trust them)"
}

// Greeting returns the line for stderr; empty if there is nothing to say.
func (t TrustState) Greeting() string {
	switch {
	case t.ByFlag && !t.Listing.Empty():
		return fmt.Sprintf("Trusted for this run, as it is now: %s (arbiter trust --show lists all).", t.InShort())
	case t.Trusted:
		return ""
	case t.Problem != "":
		return "This workspace is not trusted: " + sanitize.Line(t.Problem, 400)
	case t.Recorded:
		return "" // reported as an error
	}
	return "This workspace is not trusted: arbiter does not load its settings, hooks, agents and CLAUDE.md (--trust " +
		"loads them for one run, arbiter trust for all)."
}

// InShort counts the settings by kind, and names the texts for agents.
func (t TrustState) InShort() string {
	var kinds, parts, texts []string
	count := map[string]int{}
	for _, i := range t.Listing.Items {
		switch {
		case !i.Counts():
			texts = append(texts, sanitize.Line(i.File, 100))
		case i.Kind != trust.KindSettings:
			if count[i.Kind]++; count[i.Kind] == 1 {
				kinds = append(kinds, i.Kind)
			}
		}
	}
	for _, k := range kinds {
		parts = append(parts, fmt.Sprintf("%d × %s", count[k], k))
	}
	if parts = append(parts, texts...); len(parts) == 0 {
		return "settings files"
	}
	return strings.Join(parts, ", ")
}

// Unchanged checks that the settings have not changed since the decision.
func (t TrustState) Unchanged(place string) error {
	if !t.Trusted {
		return nil
	}
	now, err := trust.Inventory(place, OwnConfiguration()...)
	if err != nil {
		return command.Environmentf("%v", err)
	}
	if now.Hash != t.Listing.Hash {
		return command.Environmentf("the workspace's own settings changed while they were read (%s): start again",
			trust.Summary(trust.Diff(t.Listing, now), MaxListedChanges))
	}
	return nil
}
