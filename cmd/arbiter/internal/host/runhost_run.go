package host

import (
	"cmp"
	"context"
	"crypto/rand"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// hostedRun is one process of a run.
type hostedRun struct {
	choices settings.Choices
	resumed *supervisor.State // state restored from the journal; nil for a new run
	notice  notice            // what the human should know before the run continues

	storage     storage
	diagnostics diagnostics
	stage       *Stage // nil unless this is a rehearsal
	decider     Opened
	grants      keptGrants
	files       recording
	loop        *runloop.Loop // nil before [hostedRun.ready]
	bridges     bridges
	frontends   frontends
}

// newRun creates a run that has not started.
func newRun(c settings.Choices) (*hostedRun, error) {
	r := &hostedRun{choices: c}
	o := &r.choices.Options
	o.Run = cmp.Or(o.Run, uuid.NewString())
	o.Delimiter = supervisor.NewDelimiter(rand.Reader)
	o.HumanPresent = !c.NoInput
	o.Claude = c.Claude
	script, err := ReadScenario(c)
	if err != nil {
		return nil, err
	}
	if err := checkIsolation(context.Background(), *o); err != nil {
		return nil, err
	}
	if err := r.openStorage(); err != nil {
		return nil, err
	}
	for _, text := range []string{c.Notice, settings.UnknownTools(c.Options)} {
		if text != "" {
			r.notice.add("%s", text)
		}
	}
	if err := r.prepareNew(script); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// prepareNew locks the directory of a new run, and opens what the run needs.
func (r *hostedRun) prepareNew(script *Play) error {
	if err := r.lockPlace(); err != nil {
		return err
	}
	c, o := &r.choices, &r.choices.Options
	err := r.storage.create(journal.Meta{
		Run: o.Run, CWD: c.Place, Began: time.Now(), Version: command.Version(), Title: command.Title(o.Task),
		Rehearsal: c.Rehearse,
	})
	if err != nil {
		return err
	}
	if err := r.openServices(script); err != nil {
		return err
	}
	if err := r.memory().recall(o); err != nil {
		r.notice.add("the lessons of earlier runs cannot be read: %v", err)
	}
	if c.Rehearse {
		if err := r.lockScratch(); err != nil {
			return err
		}
	}
	*o = o.WithDefaults()
	r.decider, err = r.openDecider()
	return err
}

// openStorage opens the state directory. The loop must exist before anything is appended to the journal.
func (r *hostedRun) openStorage() (err error) {
	r.storage, err = openStorage(r.choices.StateDir, journal.Options{
		Committed: func(upTo uint64) { r.loop.Committed(upTo) },
		Trouble:   func(err error) { r.loop.Trouble(err) },
		MaxBytes:  r.choices.Journal, History: runstore.History,
	}, &r.notice)
	return err
}

// lockPlace prevents a second run in the directory. A rehearsal has its own workspace, which is locked after it was
// created.
func (r *hostedRun) lockPlace() error {
	if r.choices.Share || r.choices.Rehearse {
		return nil
	}
	if err := r.storage.lockPlace(r.choices.Place, r.choices.Options.Run); err != nil {
		return err
	}
	return r.storage.lockWorkspace(r.choices.Place)
}

// lockScratch locks the workspace that a rehearsal has created, and records it.
func (r *hostedRun) lockScratch() error {
	dir := r.choices.Options.CWD
	if !r.choices.Share {
		if err := r.storage.lockWorkspace(dir); err != nil {
			return err
		}
	}
	if err := r.storage.update(func(m *journal.Meta) { m.Workspace = dir }); err != nil {
		return command.Environmentf("journal: %v", err)
	}
	return nil
}

// openServices opens what a run needs besides its journal: the log and, with a script, the stage of a rehearsal.
func (r *hostedRun) openServices(script *Play) (err error) {
	dir := r.storage.journal.Dir()
	mask := settings.MaskerOf(r.choices.Options, r.choices.Hosts)
	if r.diagnostics, err = openDiagnostics(dir, mask, r.choices.Debug); err != nil {
		return err
	}
	r.choices.Options.Log = r.diagnostics.file.Path()
	err = r.diagnostics.openTelemetry(r.choices.Options.Run, func(err error) {
		if r.loop != nil {
			r.frontends.input.Notice(contract.Arbiter,
				"telemetry: "+err.Error()+". The run continues; further failures there are not reported.")
		}
	})
	if err != nil {
		r.notice.add("no telemetry: %v", err)
	}
	if script != nil {
		task := r.choices.Options.Task
		if r.resumed != nil {
			task = r.resumed.Task.Text
		}
		if r.stage, err = SetStage(&r.choices, script, filepath.Join(dir, "home"), task, r.diagnostics.log); err != nil {
			return err
		}
	}
	return nil
}

// openDecider creates the decider of this run. Its model is fixed when a process starts: a later change of the
// model applies to agents only.
func (r *hostedRun) openDecider() (Opened, error) {
	return OpenDecider(r.choices.Options, ModelRun{
		StateDir: r.choices.StateDir, Stage: r.stage, Log: r.diagnostics.log,
		Spent:    func() float64 { return r.loop.Snapshot().Spent() },
		Confined: func() *bridge.SandboxConfig { return r.loop.Snapshot().Options.Sandbox },
		Bridge: func() Querier {
			client := r.bridges.here.Opened()
			if client == nil {
				return nil
			}
			return Traced(client, r.diagnostics.telemetry)
		},
	})
}

func (r *hostedRun) memory() workspaceMemory {
	return workspaceMemory{stateDir: r.choices.StateDir, place: r.choices.Place, mask: r.diagnostics.mask,
		off: r.choices.Options.Memory == settings.MemoryOff || r.choices.Rehearse}
}

// options returns the options of the run, with its secrets and the current sandbox of agents.
func (r *hostedRun) options() runconfig.Options {
	o := r.choices.Options
	r.bridges.sandbox.apply(&o)
	if o.Sandbox == nil && o.SandboxReason == "" && r.choices.Sandbox.Mode != settings.SandboxOff {
		o.SandboxReason = "it was not tried: no Claude Code CLI could be started"
	}
	return o
}

// recorded returns the run's options in the form for the journal, without secrets.
func (r *hostedRun) recorded() runconfig.Options {
	o := r.options()
	o.Cores = runtime.GOMAXPROCS(0)
	if !r.choices.Rehearse {
		if err := withWindows(&o, r.choices.StateDir); err != nil {
			r.notice.add("what earlier runs learned about models is not known: %v", err)
		}
	}
	if o.Env != nil {
		o.Env = settings.WithoutSecrets(o.Env)
	}
	if o.ArbiterEnv != nil {
		o.ArbiterEnv = settings.WithoutSecrets(o.ArbiterEnv)
	}
	return o
}

// close releases everything that is still held. After a run was played, call [hostedRun.shutdown] first.
func (r *hostedRun) close() {
	r.frontends.notifications.close()
	r.diagnostics.closeTelemetry()
	r.frontends.close()
	r.decider.Close()
	r.grants.close()
	if r.stage != nil {
		r.stage.Close()
	}
	r.storage.close(r.diagnostics.log)
	r.diagnostics.close()
}

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

// lastStep is one step of the shutdown, with its time limit.
type lastStep struct {
	name   string
	within time.Duration
	do     func(ctx context.Context) error
}

// leftBehind is the step that kills what is left of a run. It is tried twice: a busy machine may take longer than a
// step has to end processes that are killed already.
const leftBehind = "processes left behind"

// shutdown runs the steps after the end of the loop, in this order. Before, the loop has made the bridge end every
// agent: interrupt and 2 s for the end of the turn, end of input and 3 s, TERM and 2 s, KILL and a sweep. A second
// signal shortens that to TERM and half a second. After a third signal nothing is waited for, and the bridge ends
// on its own.
//
// If a step exceeds its time, it is reported and abandoned, and the next one starts.
func (r *hostedRun) shutdown(s *supervisor.State) (unfinished []string) {
	run := r.choices.Options.Run
	steps := []lastStep{
		{"the bridge", 5 * time.Second, func(context.Context) error { return r.bridges.close() }},
		{leftBehind, 6 * time.Second, func(context.Context) error {
			// A killed bridge could not sweep.
			if n := proctree.Sweep(run, ""); n > 0 {
				r.diagnostics.log.Warn("swept", "processes", n)
			}
			if left := proctree.Survivors(run); len(left) > 0 {
				return fmt.Errorf("still alive: %v", left)
			}
			return nil
		}},
		{"the clients' requests", 5 * time.Second, func(context.Context) error {
			r.frontends.input.Wait()
			return nil
		}},
		{"the memory of the workspace", 5 * time.Second, func(context.Context) error { return r.memory().remember(s) }},
		{"the journal", 10 * time.Second, func(ctx context.Context) error { return r.storage.finish(ctx, s) }},
		{"the crash reports", 5 * time.Second, func(context.Context) error { r.diagnostics.reporter.Close(); return nil }},
	}
	for _, step := range steps {
		crashpoint.Here("shutdown.step")
		if err := step.run(); err != nil {
			r.diagnostics.log.Warn("shutdown", "step", step.name, "error", err)
			unfinished = append(unfinished, fmt.Sprintf("%s: %v", step.name, err))
		}
	}
	return unfinished
}

func (l lastStep) run() error {
	err := l.once()
	if err != nil && l.name == leftBehind {
		err = l.once()
	}
	return err
}

func (l lastStep) once() error {
	ctx, cancel := context.WithTimeout(context.Background(), l.within)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- l.do(ctx) }() // abandoned only if the process is ending anyway
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		select {
		case err := <-done:
			return err
		case <-time.After(100 * time.Millisecond): // for a step that respects ctx
			return fmt.Errorf("not done within %s", l.within)
		}
	}
}

// lastSpans bounds the final wait for the collector at the end of a run's process.
const lastSpans = time.Second

// diagnostics has the diagnostic output of a run's process: a log, crash reports, and spans. The zero value has
// none.
type diagnostics struct {
	mask      func(string) string // masks secrets
	file      *runstore.CrashLog
	log       *slog.Logger
	reporter  *runstore.CrashReporter
	telemetry *Exporter // nil unless the environment names a collector
}

// openDiagnostics opens the log and the writer of crash reports in the directory of a run.
func openDiagnostics(dir string, mask func(string) string, debug bool) (d diagnostics, err error) {
	d.mask = mask
	if d.file, err = runstore.OpenLog(dir, mask); err != nil {
		return d, command.Environmentf("log: %v", err)
	}
	d.log = d.file.Logger(debug)
	d.reporter = runstore.NewReporter(runstore.CrashOptions{Dir: dir, Version: command.Version(), Mask: mask, Log: d.log})
	return d, nil
}

// openTelemetry starts sending the spans of a run, if the environment names a collector. failed is called once, if
// sending fails.
func (d *diagnostics) openTelemetry(run string, failed func(error)) error {
	settings, err := FromEnvironment(os.Getenv)
	if err != nil {
		return err
	}
	if settings.URL != "" {
		d.telemetry = NewExporter(settings, NewTrace(run, settings.Traceparent), func(err error) {
			d.log.Warn("telemetry", "error", err)
			failed(err)
		})
	}
	return nil
}

// sink passes each event on to next, and records it for crash reports and spans.
func (d *diagnostics) sink(next runloop.Sink) runloop.Sink {
	if d.telemetry == nil {
		return d.reporter.Sink(next)
	}
	return d.reporter.Sink(func(at time.Time, e contract.Event) {
		d.telemetry.Add(at, e)
		next(at, e)
	})
}

// closeTelemetry sends the last spans, within a short time.
func (d *diagnostics) closeTelemetry() {
	if d.telemetry == nil {
		return
	}
	if lost := d.telemetry.Close(lastSpans); lost > 0 {
		d.log.Warn("telemetry", "spans that found no room", lost)
	}
}

// close closes the crash reports and the log. Nothing is written to them afterwards.
func (d *diagnostics) close() {
	if d.reporter != nil {
		d.reporter.Close()
	}
	if d.file != nil {
		d.file.Close()
	}
}
