package host

import (
	"log/slog"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// ModelRun is the run that a decider works for. Its functions are called when a question is asked.
type ModelRun struct {
	StateDir string
	Stage    *Stage // nil unless it is a rehearsal
	Snapshot func() *supervisor.State
	Bridge   func() Querier // returns nil while there is no bridge
	Log      *slog.Logger
}

// Opened is the decider of a run with the resources that it holds. The zero value holds none.
type Opened struct {
	Decider decider.Decider
	cache   *decider.DirStore  // of decisions; nil if decisions are not cached
	api     *decider.APIClient // of the decider's provider; nil unless the decider asks over HTTP
}

// OpenDecider makes the decider of a run from its final options: a later change of the model applies to agents only.
// The caller closes it.
func OpenDecider(o runconfig.Options, run ModelRun) (opened Opened, err error) {
	defer func() {
		if err != nil {
			opened.Close()
		}
	}()
	if o.DecisionCache {
		failed := func(err error) { run.Log.Warn("decision cache", "error", err) }
		if opened.cache, err = OpenCache(run.StateDir, failed); err != nil {
			return opened, err
		}
	}
	spent := func() float64 { return run.Snapshot().Spent() }
	var asker decider.Asker = Asker{
		Options: o, Spent: spent, Bridge: run.Bridge,
		Confined: func() *bridge.SandboxConfig { return run.Snapshot().Options.Sandbox },
	}
	if OverHTTP(o) {
		if opened.api, err = OpenProvider(o, run.Stage); err != nil {
			return opened, err
		}
		asker = HTTPAsker{Client: opened.api, Options: o, Spent: spent}
	}
	opened.Decider, err = BuildDecider(o, opened.cache, asker)
	return opened, err
}

// Close releases the decider's resources. It may be called more than once.
func (o *Opened) Close() {
	if o.cache != nil {
		_ = o.cache.Close() // it was only read
	}
	if o.api != nil {
		o.api.Close()
	}
	o.cache, o.api = nil, nil
}
