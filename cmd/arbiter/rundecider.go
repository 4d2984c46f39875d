package main

import (
	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/askmodel"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
)

// decider makes the one that decides in this run. Its model is settled when a process
// begins; a model changed later is for the agents.
func (r *runtimeRun) decider() (decider.Decider, error) {
	o := r.choices.Options
	if o.DecisionCache && r.cache == nil {
		var err error
		r.cache, err = askmodel.OpenCache(r.choices.StateDir, func(err error) { r.log.Warn("decision cache", "error", err) })
		if err != nil {
			return nil, err
		}
	}
	spent := func() float64 { return r.loop.Snapshot().Spent() }
	if !askmodel.OverHTTP(o) {
		return askmodel.Build(o, r.cache, askmodel.Asker{
			Options: o, Spent: spent, Bridge: r.asked,
			Confined: func() *bridge.SandboxConfig { return r.loop.Snapshot().Options.Sandbox },
		})
	}
	var err error
	if r.api, err = askmodel.OpenProvider(o, r.stage); err != nil {
		return nil, err
	}
	return askmodel.Build(o, r.cache, askmodel.HTTPAsker{Client: r.api, Options: o, Spent: spent})
}
