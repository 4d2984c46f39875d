package askmodel

import (
	"log/slog"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/stage"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decider/modelapi"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Run is the run that a decider decides for. Its functions are called when a question is asked.
type Run struct {
	StateDir string
	Stage    *stage.Stage // nil unless it is a rehearsal
	Snapshot func() *supervisor.State
	Bridge   func() Querier // nil where there is none at present
	Log      *slog.Logger
}

// Opened is the decider of a run, with what it holds open. The zero value holds nothing.
type Opened struct {
	Decider decider.Decider
	cache   *decider.DirStore // of decisions; nil where none are remembered
	api     *modelapi.Client  // of the decider's provider; nil unless it is asked over HTTP
}

// Open makes the decider of a run, whose options are settled: a model changed later is for the agents. The caller
// closes it.
func Open(o runconfig.Options, run Run) (opened Opened, err error) {
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
	opened.Decider, err = Build(o, opened.cache, asker)
	return opened, err
}

// Close lets go of what the decider holds open. It may be called again.
func (o *Opened) Close() {
	if o.cache != nil {
		_ = o.cache.Close() // a directory that was read
	}
	if o.api != nil {
		o.api.Close()
	}
	o.cache, o.api = nil, nil
}
