package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/agents"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/prompts"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// deciders are the names that --decider takes.
var deciders = []string{runconfig.DeciderSession, runconfig.DeciderStateless, runconfig.DeciderHybrid,
	runconfig.DeciderRules}

// efforts are the levels that the CLI's --effort takes (2.1.329).
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// checkDecider checks who decides.
func checkDecider(o *runconfig.Options) error {
	if o.Decider == "" { // an environment variable that is set to nothing
		o.Decider = runconfig.DeciderSession
	}
	if !slices.Contains(deciders, o.Decider) {
		return command.Usagef("--decider %q: use one of %s", o.Decider, strings.Join(deciders, ", "))
	}
	if o.DeciderEffort != "" && !slices.Contains(efforts, o.DeciderEffort) {
		return command.Usagef("--decider-effort %q: use one of %s", o.DeciderEffort, strings.Join(efforts, ", "))
	}
	if o.DeciderTimeout < time.Second || o.DeciderTimeout > time.Hour {
		return command.Usagef("--decider-timeout %s: must be between 1s and 1h", o.DeciderTimeout)
	}
	return nil
}

// readInstructions reads what deciders and agents are instructed with: the user's prompt templates,
// and the agents that can be summoned. A template that cannot be used is an error; an
// agent file is left out, and Notice says so. A rehearsal knows nothing of the user's.
func (c *choices) readInstructions() error {
	trusted := c.Trusting.Trusted
	home := func(name string) string { return "" }
	if !c.Rehearse {
		home = os.Getenv
	}
	var err error
	if c.Options.Templates, err = readTemplates(c.Place, trusted, !c.Rehearse); err != nil {
		return err
	}
	found := agents.Discover(agents.UserPlaces(c.Place, trusted, home))
	c.Options.Modes, c.Notice = found.Agents, strings.Trim(agentNotice(found.Problems)+"; "+c.Unused, "; ")
	return c.Trusting.unchanged(c.Place)
}

// toldProblems is how many problems of agent files a notice names.
const toldProblems = 3

// agentNotice is what is wrong with agent files, in a line; empty if nothing is.
func agentNotice(problems []agents.Problem) string {
	var told []string
	more := 0
	for _, p := range problems {
		switch {
		case p.Warning:
		case len(told) < toldProblems:
			told = append(told, p.Error())
		default:
			more++
		}
	}
	if len(told) == 0 {
		return ""
	}
	if more > 0 {
		told = append(told, fmt.Sprintf("%d more (arbiter agents check)", more))
	}
	return "agent files: " + strings.Join(told, "; ")
}

// cachedDecisions is how many decisions the cache of a state directory keeps.
const cachedDecisions = 10_000

// cacheName is the cache's directory in the state directory.
const cacheName = "decisions"

// decider makes the one that decides in this run. Its model is settled when a life
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
