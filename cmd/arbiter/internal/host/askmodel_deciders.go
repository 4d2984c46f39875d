package host

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// cachedDecisions is the maximum number of decisions in the cache of a state directory.
const cachedDecisions = 10_000

// cacheName is the cache's directory in the state directory.
const cacheName = "decisions"

// OpenCache opens the decision cache of a state directory. Later errors of the cache are passed to failed.
func OpenCache(stateDir string, failed func(error)) (*decider.DirStore, error) {
	store, err := decider.OpenDirStore(filepath.Join(stateDir, cacheName), cachedDecisions, failed)
	if err != nil {
		return nil, command.Environmentf("decision cache: %v", err)
	}
	return store, nil
}

// BuildDecider chains the deciders that the settings name. Without a store, decisions are not cached.
func BuildDecider(o runconfig.Options, store *decider.DirStore, ask decider.Asker) (decider.Decider, error) {
	d, err := DeciderOptions(o, ask)
	if err != nil {
		return nil, err
	}
	if store != nil {
		d.Store = store
	}
	return decider.Build(d), nil
}

func DeciderOptions(o runconfig.Options, ask decider.Asker) (decider.Options, error) {
	set, err := decider.NewSet(o.Templates)
	if err != nil {
		return decider.Options{}, command.Usagef("prompt templates: %v", err)
	}
	return decider.Options{
		Name: o.Decider, Ask: ask, Prompts: set, Timeout: o.DeciderTimeout,
		Asked: askedAs(o), Templates: hashOf(o.Templates),
	}, nil
}

// hashOf returns a hash over the user's templates and the version of Arbiter, to distinguish sets of templates.
func hashOf(templates map[string]string) string {
	raw, err := json.Marshal(templates) // keys are sorted
	if err != nil {
		panic(err) // cannot happen: strings only
	}
	sum := sha256.Sum256(append(raw, command.Version()...))
	return hex.EncodeToString(sum[:])
}
