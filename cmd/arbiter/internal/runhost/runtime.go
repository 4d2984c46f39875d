package runhost

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/attendants"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/crashlog"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/daybudget"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/eventboard"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/hooksocket"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runfiles"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runhistory"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/secrets"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/socket"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/stage"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/telemetry"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/terminals"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/trustgate"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/webnotify"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/audit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decider/modelapi"
	"github.com/arbiter-cli/arbiter/supervisor/envelope"
	"github.com/arbiter-cli/arbiter/supervisor/grants"
	"github.com/arbiter-cli/arbiter/supervisor/images"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/google/uuid"
)

// runtimeRun is one process of a run: its journal and locks, its log, its rehearsal if
// it is one, and the bridge process.
type runtimeRun struct {
	choices settings.Choices
	store   *journal.Store
	journal *journal.Run
	place   *journal.Lock // of the directory; nil where it is shared
	// workspace is the lock of that directory itself; nil where it is shared, or cannot be locked
	workspace *journal.WorkspaceLock
	log       *slog.Logger
	logFile   *crashlog.Log
	stage     *stage.Stage // nil unless this is a rehearsal
	reporter  *crashlog.Reporter
	mask      func(string) string // masks secrets
	loop      *runloop.Loop
	hooks     *hooksocket.Server // nil where there is no socket
	cache     *decider.DirStore  // of decisions; nil where none are remembered
	api       *modelapi.Client   // of the decider's provider; nil unless it is asked over HTTP
	decides   decider.Decider
	grants    *grants.Store       // nil where nothing is kept
	files     *runfiles.Files     // nil without Git
	notifier  *webnotify.Notifier // nil unless --notify names a URL
	telemetry *telemetry.Exporter // nil unless the environment names a collector
	leftover  []string            // what is said of agents' directories when the run is over

	hosts         hostBridges
	board         eventboard.Board
	clients       subscribers
	terminals     terminals.Terminals
	tokens        hooksocket.Tokens
	controls      *control.Server // nil where there is no socket
	controlSocket *socket.Listener
	refs          atomic.Uint64    // of commands that came by the socket
	warned        atomic.Bool      // of an agent that tried to
	attached      attendants.Group // those who wait for the loop in the name of others
	halting       sync.Mutex       // one halt at a time
	bridgePID     atomic.Int64     // of the present one
	endedByHalt   atomic.Pointer[bridge.Client]
	haltsBefore   atomic.Int64 // the run's Halts when that was begun

	resumed *supervisor.State // what the journal folded to; nil for a new run
	notice  string            // what the human should know of the last process's end

	mu     sync.Mutex
	client *bridge.Client // the present bridge
	opened bool           // it has been tried, and may be used
	watch  sync.WaitGroup // those who wait for bridges
}

// newRun makes a run that has not begun.
func newRun(c settings.Choices) (*runtimeRun, error) {
	r := &runtimeRun{choices: c, clients: newSubscribers()}
	o := &r.choices.Options
	o.Run = cmp.Or(o.Run, uuid.NewString())
	o.Delimiter = envelope.NewDelimiter(rand.Reader)
	o.HumanPresent = !c.NoInput
	o.Claude = c.Claude
	script, err := stage.Read(c)
	if err != nil {
		return nil, err
	}
	if err := r.checkIsolation(context.Background()); err != nil {
		return nil, err
	}
	if err := r.openStore(); err != nil {
		return nil, err
	}
	for _, text := range []string{c.Notice, settings.UnknownTools(c.Policy)} {
		if text != "" {
			r.tellOf("%s", text)
		}
	}
	if err := r.lockPlace(); err != nil {
		return nil, err
	}
	r.journal, err = r.store.Create(journal.Meta{
		Run: o.Run, CWD: c.Place, Began: time.Now(), Version: command.Version(), Title: command.Title(o.Task),
		Rehearsal: c.Rehearse,
	}, r.journalOptions())
	if err != nil {
		r.close()
		return nil, command.Environmentf("journal: %v", err)
	}
	if err := r.openServices(script); err != nil {
		r.close()
		return nil, err
	}
	r.recall()
	if c.Rehearse {
		if err := r.lockScratch(); err != nil {
			return nil, err
		}
	}
	r.choices.Options = r.choices.Options.WithDefaults()
	if r.decides, err = r.decider(); err != nil {
		r.close()
		return nil, err
	}
	return r, nil
}

// journalOptions have the journal tell the loop, which is there before anything is
// appended.
func (r *runtimeRun) journalOptions() journal.Options {
	return journal.Options{
		Committed: func(upTo uint64) { r.loop.Committed(upTo) },
		Trouble:   func(err error) { r.loop.Trouble(err) },
	}
}

// openStore opens the state directory, ends what dead runs have left behind, and
// lets go of the oldest runs.
func (r *runtimeRun) openStore() error {
	var err error
	if r.store, err = journal.OpenStore(r.choices.StateDir); err != nil {
		return command.StateDirProblem(err)
	}
	told := runstore.EndStrays(r.store)
	if _, err := r.store.Prune(runstore.Kept); err != nil {
		r.tellOf("old runs could not be removed: %v", err)
	}
	r.tidy()
	if told != "" {
		r.tellOf("%s", told)
	}
	return nil
}

// tidy takes away what runs that are removed, or were killed, have left elsewhere.
func (r *runtimeRun) tidy() {
	if _, err := (runstore.Runs{Store: r.store, Root: r.choices.StateDir}).Tidy(); err != nil {
		r.tellOf("what old runs had left could not be removed: %v", err)
	}
}

// lockPlace keeps a second run out of the directory. A rehearsal has a workspace of its own,
// which is locked once it is there.
func (r *runtimeRun) lockPlace() error {
	if r.choices.Share || r.choices.Rehearse {
		return nil
	}
	var err error
	r.place, err = r.store.LockDir(r.choices.Place, r.choices.Options.Run)
	var held *journal.HeldError
	if errors.As(err, &held) {
		return command.Usagef("another run already works in %s (run %s, process %d): open it with arbiter attach, wait for "+
			"its end, use another directory (--cwd), or add --share-workspace",
			r.choices.Place, command.ShortID(held.Run), held.PID)
	}
	if err != nil {
		return command.Environmentf("lock %s: %v", r.choices.Place, err)
	}
	return r.lockWorkspace(r.choices.Place)
}

// lockScratch locks the workspace that a rehearsal has made, and notes which it is.
func (r *runtimeRun) lockScratch() error {
	dir := r.choices.Options.CWD
	if err := r.lockWorkspace(dir); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), lockPatience)
	defer cancel()
	if err := r.journal.Update(ctx, func(m *journal.Meta) { m.Workspace = dir }); err != nil {
		r.close()
		return command.Environmentf("journal: %v", err)
	}
	return nil
}

// openServices opens what a run has beside its journal: the log and, where there is a
// script, the stage of a rehearsal.
func (r *runtimeRun) openServices(script *stage.Play) error {
	var err error
	r.mask = settings.MaskerOf(r.choices.Options, r.choices.Hosts)
	if r.logFile, err = crashlog.OpenLog(r.journal.Dir(), r.mask); err != nil {
		return command.Environmentf("log: %v", err)
	}
	r.choices.Options.Log = r.logFile.Path()
	r.log = r.logFile.Logger(r.choices.Debug)
	r.reporter = r.newReporter()
	r.openTelemetry()
	if script != nil {
		task := r.choices.Options.Task
		if r.resumed != nil {
			task = r.resumed.Task.Text
		}
		if r.stage, err = stage.Set(&r.choices, script, filepath.Join(r.journal.Dir(), "home"), task, r.log); err != nil {
			return err
		}
	}
	return nil
}

// recorded are the run's options as the journal keeps them.
func (r *runtimeRun) recorded() runconfig.Options {
	o := r.choices.Options
	if o.Env != nil {
		o.Env = secrets.Without(o.Env)
	}
	if o.ArbiterEnv != nil {
		o.ArbiterEnv = secrets.Without(o.ArbiterEnv)
	}
	return o
}

// newReporter makes a writer of crash reports into the run's directory.
func (r *runtimeRun) newReporter() *crashlog.Reporter {
	return crashlog.NewReporter(crashlog.Options{Dir: r.journal.Dir(), Version: command.Version(), Mask: r.mask,
		Log: r.log})
}

// ready makes the loop of a run, which tells sink, and opens what others reach it by.
func (r *runtimeRun) ready(sink runloop.Sink) *runloop.Loop {
	r.loop = runloop.NewLoop(r.choices.Policy, r.reporter.Sink(r.traced(r.board.Sink(r.clients.hub.Sink(sink)))), r.log)
	if r.resumed != nil {
		r.loop.Restore(*r.resumed)
	}
	r.loop.Refuse(func(o runconfig.Options) error { return settings.RefuseRoot(o, o.Rehearsal) })
	r.openHooks()
	r.openSubscribers()
	r.openControl()
	r.openNotifier()
	r.attached.Go(r.watchState)
	return r.loop
}

// play starts the bridge and runs the loop until the run is over.
func (r *runtimeRun) play(loop *runloop.Loop) contract.Exit {
	ctx := context.Background()
	loop.Record(r.journal)
	loop.Tells(audit.Told)
	loop.Redact(r.mask)
	store := images.NewStore(filepath.Join(r.journal.Dir(), runhistory.ImagesDir), r.choices.Options.CWD)
	loop.Images(store)
	loop.Decider(r.decides)
	r.useGrants(loop)
	o := r.choices.Options
	gate := trustgate.New(o.CWD, r.choices.StateDir, o.Run, r.choices.Trusting, r.hosts.inventory)
	loop.Trusts(gate.Check, gate.Record)
	loop.Terminal(r.terminalSetup)
	loop.OnBridgeLost(r.openOn, r.dropOn)
	loop.Committed(r.journal.Durable()) // earlier records are not reported again
	if r.resumed != nil && r.resumed.Completed() && r.choices.Options.Task == "" {
		// The result is printed again; that needs no agent.
		return loop.Run(ctx, nil, input.Resumed{Options: r.recorded(), Claude: r.resumed.Lifecycle.Claude(),
			Notice: r.notice})
	}
	kept, err := store.Keep(r.choices.Images)
	if err != nil {
		r.notice = strings.TrimSpace(r.notice + "\nthe task goes without its images: " + err.Error())
	}
	fenced := r.fenceHosts(ctx)
	recorded := r.recordFiles(ctx)
	port, claude, failed := r.open(ctx)
	if err := recorded(loop); err != nil && failed == nil {
		failed = &input.BridgeFailed{Category: bridge.CatWorkspace, Message: err.Error()}
	}
	r.tellUntested(claude.Version)
	if o := r.choices.Options; o.MaxCostPerDay > 0 && !o.Rehearsal {
		defer daybudget.Watch(ctx, daybudget.Options{Store: r.store, Run: o.Run, Put: loop.Put, Log: r.log})()
	}
	var exit contract.Exit
	switch {
	case failed != nil:
		exit = loop.Run(ctx, nil, input.NoBridge{Options: r.recorded(), Category: failed.Category, Message: failed.Message})
	case r.resumed != nil:
		exit = loop.Run(ctx, port, input.Resumed{Options: r.recorded(), Claude: claude, Word: r.choices.Options.Task,
			Images: kept,
			Notice: r.notice, Salt: rand.Text(), Distrust: r.distrust(), Fenced: fenced})
	default:
		exit = loop.Run(ctx, port, input.Began{Options: r.recorded(), Claude: claude, Notice: r.notice,
			Images: kept, Distrust: r.distrust()})
	}
	if f := loop.Fault(); f != nil {
		r.reporter.Panicked(f)
	}
	r.removeDirs(exit)
	return exit
}

// close lets go of what is still held; [runtimeRun.shutdown] comes before it where
// a run has been played.
func (r *runtimeRun) close() {
	r.closeNotifier()
	r.closeTelemetry()
	r.closeControl()
	r.closeHooks()
	if r.cache != nil {
		_ = r.cache.Close() // a directory that was read
	}
	if r.api != nil {
		r.api.Close()
	}
	if r.grants != nil {
		_ = r.grants.Close() // a directory that was read
	}
	if r.stage != nil {
		r.stage.Close()
	}
	if r.journal != nil {
		if err := r.journal.Close(); err != nil && !errors.Is(err, journal.ErrClosed) && r.log != nil {
			r.log.Warn("journal", "error", err)
		}
	}
	if r.workspace != nil {
		_ = r.workspace.Close() // a directory that was only locked
	}
	if r.place != nil {
		r.place.Close()
	}
	if r.reporter != nil {
		r.reporter.Close()
	}
	if r.logFile != nil {
		r.logFile.Close()
	}
}

// tellUntested says so where the CLI is newer than any that was tested.
func (r *runtimeRun) tellUntested(version string) {
	if notice := claude.Untested(version); notice != "" {
		r.tellOf("%s", notice)
	}
}

// lockWorkspace keeps out runs of other state directories, and this run's of a copy of this
// one. On an error the run is closed.
func (r *runtimeRun) lockWorkspace(dir string) error {
	if r.choices.Share {
		return nil
	}
	var err error
	r.workspace, err = journal.LockWorkspace(dir)
	var held *journal.HeldError
	switch {
	case errors.As(err, &held):
		who := "a process that the system does not name"
		if held.PID != 0 {
			who = fmt.Sprintf("process %d", held.PID)
		}
		r.close()
		return command.Usagef("another run, of another state directory, already works in %s (%s): wait for its end, use "+
			"another directory (--cwd), or add --share-workspace", dir, who)
	case errors.Is(err, journal.ErrNoDirLock):
		r.tellOf("%s cannot be locked, so that runs of other state directories are not kept out of it: %v", dir, err)
	case err != nil:
		r.close()
		return command.Environmentf("%v", err)
	}
	return nil
}
