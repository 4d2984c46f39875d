package host

import (
	"context"
	"crypto/rand"
	"path/filepath"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// play starts the bridge and runs the loop until the run is over.
func (r *hostedRun) play(loop *runloop.Loop) contract.Exit {
	ctx := context.Background()
	store := r.equip(loop)
	if r.resumed != nil && r.resumed.Completed() && r.choices.Options.Task == "" {
		// The result is printed again, which needs no agent.
		return loop.Run(ctx, nil, input.Resumed{Options: r.recorded(), Claude: r.resumed.Lifecycle.Claude(),
			Notice: r.notice.String()})
	}
	kept, err := store.Keep(r.choices.Images)
	if err != nil {
		r.notice.append("\n", "the task is sent without its images: "+err.Error())
	}
	fenced := FenceHost(ctx, r.choices.Hosts, r.choices.Options.Run, r.resumed, r.diagnostics.log)
	recorded := r.recordFiles(ctx)
	port, info, failed := r.openBridge(ctx)
	if err := recorded(loop); err != nil && failed == nil {
		failed = &input.BridgeFailed{Category: bridge.CatWorkspace, Message: err.Error()}
	}
	if text := claude.Untested(info.Version); text != "" {
		r.diagnostics.log.Info(text) // doctor tells it: it is no news at each start
	}
	if o := r.choices.Options; o.MaxCostPerDay > 0 && !o.Rehearsal {
		defer WatchDayBudget(ctx, DayBudgetOptions{Store: r.storage.runs(), Run: o.Run,
			Put: loop.Put, Log: r.diagnostics.log})()
	}
	var exit contract.Exit
	switch {
	case failed != nil:
		exit = loop.Run(ctx, nil, input.NoBridge{Options: r.recorded(), Category: failed.Category, Message: failed.Message})
	case r.resumed != nil:
		exit = loop.Run(ctx, port, input.Resumed{Options: r.recorded(), Claude: info, Word: r.choices.Options.Task,
			Images: kept,
			Notice: r.notice.String(), Salt: rand.Text(), Distrust: r.distrust(), Fenced: fenced})
	default:
		exit = loop.Run(ctx, port, input.Began{Options: r.recorded(), Claude: info, Notice: r.notice.String(),
			Images: kept, Distrust: r.distrust()})
	}
	if f := loop.Fault(); f != nil {
		r.diagnostics.reporter.Panicked(f)
	}
	r.files.lookForPlanted()
	if exit == contract.ExitComplete {
		r.files.remove(r.bridges.others)
	}
	return exit
}

// equip sets up the loop, and returns the store for the images of the run.
func (r *hostedRun) equip(loop *runloop.Loop) *runstore.ImageStore {
	loop.Record(r.storage.journal)
	loop.RecordWith(supervisor.LogItems)
	loop.Redact(r.diagnostics.mask)
	o := r.choices.Options
	store := runstore.NewStore(filepath.Join(r.storage.journal.Dir(), runstore.ImagesDir), o.CWD)
	loop.Images(store)
	loop.Decider(r.decider.Decider)
	if !r.choices.Rehearse {
		r.grants.use(loop, r.choices.StateDir, o.CWD, &r.notice)
		loop.Windows(func(model string, tokens int) error { return keepWindow(r.choices.StateDir, model, tokens) })
	}
	gate := NewTrustGate(o.CWD, r.choices.StateDir, o.Run, r.choices.Trusting, r.bridges.others.Inventory)
	loop.Trusts(gate.Check, gate.Record)
	loop.Terminal(r.frontends.hooks.Setup)
	loop.OnBridgeLost(r.openOn, r.bridges.drop)
	loop.Committed(r.storage.journal.Durable()) // do not report earlier records again
	return store
}

// distrust returns why the workspace is not trusted any more. A rehearsal has a workspace of its own.
func (r *hostedRun) distrust() string {
	if r.choices.Rehearse || r.choices.Options.Trusted {
		return ""
	}
	return r.choices.Trusting.Distrust()
}
