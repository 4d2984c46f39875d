package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/prompts"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// cachedDecisions is how many decisions the cache of a state directory keeps.
const cachedDecisions = 10_000

// cacheName is the cache's directory in the state directory.
const cacheName = "decisions"

// decider makes the one that decides in this run. Its model is settled when a process
// begins; a model changed later is for the agents.
func (r *runtimeRun) decider() (decider.Decider, error) {
	o := r.choices.Options
	if o.DecisionCache && r.cache == nil {
		var err error
		r.cache, err = decider.OpenDirStore(filepath.Join(r.choices.StateDir, cacheName), cachedDecisions,
			func(err error) { r.log.Warn("decision cache", "error", err) })
		if err != nil {
			return nil, command.Environmentf("decision cache: %v", err)
		}
	}
	spent := func() float64 { return r.loop.Snapshot().Spent() }
	if !asksProvider(o) {
		return buildDecider(o, r.cache, asker{
			options: o, spent: spent, bridge: r.asked,
			confined: func() *bridge.SandboxConfig { return r.loop.Snapshot().Options.Sandbox },
		})
	}
	var err error
	if r.api, err = openProvider(o, r.stage); err != nil {
		return nil, err
	}
	return buildDecider(o, r.cache, apiAsker{client: r.api, options: o, spent: spent})
}

// buildDecider chains what the settings name. Without a store nothing is remembered.
func buildDecider(o runconfig.Options, store *decider.DirStore, ask decider.Asker) (decider.Decider, error) {
	d, err := deciderOptions(o, ask)
	if err != nil {
		return nil, err
	}
	if store != nil {
		d.Store = store
	}
	return decider.Build(d), nil
}

func deciderOptions(o runconfig.Options, ask decider.Asker) (decider.Options, error) {
	set, err := prompts.NewSet(o.Templates)
	if err != nil {
		return decider.Options{}, command.Usagef("prompt templates: %v", err)
	}
	return decider.Options{
		Name: o.Decider, Ask: ask, Prompts: set, Timeout: o.DeciderTimeout,
		Asked: askedAs(o), Templates: hashOf(o.Templates),
	}, nil
}

// hashOf tells templates from others: the user's, and those of this version.
func hashOf(templates map[string]string) string {
	raw, err := json.Marshal(templates) // keys in order
	if err != nil {
		panic(err) // texts
	}
	sum := sha256.Sum256(append(raw, command.Version()...))
	return hex.EncodeToString(sum[:])
}
