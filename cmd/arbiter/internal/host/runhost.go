package host

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/google/uuid"
	"github.com/urfave/cli/v2"
	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/claude"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/trust"
)

// This file starts the process that hosts a run. It defines what that process reads from stdin, and its
// answer.

// ProcessCommand is the subcommand of a run's process, which has no terminal.
const ProcessCommand = "host"

// Ready is the line with which a host process answers: clients can connect, or the reason why it does not play.
type Ready struct {
	Run     string        `json:"run,omitempty"`
	Socket  string        `json:"socket,omitempty"`
	Notices string        `json:"notices,omitempty"` // what a person should know before anything runs
	Code    contract.Exit `json:"code,omitempty"`    // with Problem
	Problem string        `json:"problem,omitempty"`
}

// Process is a host process that this process has started. It keeps running after this process has ended.
type Process struct {
	Ready
	Exited chan struct{} // closed when it has ended and was waited for
	cmd    *exec.Cmd
}

// End asks the process to end, and waits for it.
func (p *Process) End() {
	_ = p.cmd.Process.Signal(syscall.SIGTERM) // it may have ended already
	<-p.Exited
}

// StartProcess starts a host process and waits until clients can connect to it. The error is the reason why no run is
// played. If ctx ends, no process is left. The choices are no argument, because every user can read arguments, and
// an environment variable for the agents may have a secret.
func StartProcess(ctx context.Context, c settings.Choices) (*Process, error) {
	raw, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("describe the run: %w", err)
	}
	self, err := os.Executable()
	if err != nil {
		return nil, command.Environmentf("cannot find arbiter's own program: %v", err)
	}
	p := &Process{cmd: exec.Command(self, ProcessCommand, c.Place), Exited: make(chan struct{})}
	var stderr bytes.Buffer
	p.cmd.Stdin, p.cmd.Stderr = bytes.NewReader(raw), &stderr
	// In its own session, so that closing the terminal does not end the run.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdout, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		return nil, command.Environmentf("start the host process: %v", err)
	}
	answered := make(chan error, 1)
	go func() { // ends when the process has answered or ended
		answered <- json.NewDecoder(stdout).Decode(&p.Ready)
	}()
	select {
	case err = <-answered:
	case <-ctx.Done():
		_ = p.cmd.Process.Kill() // nothing was started yet
		<-answered
		err = ctx.Err()
	}
	go func() { // ends with the process; Exited is closed then
		defer close(p.Exited)
		_ = p.cmd.Wait() // the control socket says how the run ended
	}()
	switch {
	case ctx.Err() != nil:
		p.End() // it may have answered just before
		return nil, ctx.Err()
	case err != nil:
		<-p.Exited
		return nil, command.Environmentf("the host process ended before the run began (%v): %s", p.cmd.ProcessState,
			sanitize.Line(stderr.String(), 2000))
	case p.Run == "":
		<-p.Exited
		return nil, &command.Error{Code: p.Code, Text: p.Problem}
	}
	return p, nil
}

// ErrGone says that the process that played a run has ended without reporting the end.
var ErrGone = errors.New("the process that played the run was killed or crashed; " +
	"arbiter --resume continues the run")

// Detached starts the process of a run that continues without this one.
func Detached(ctx context.Context, c settings.Choices) (*Process, error) {
	c.Options.Partial, c.Detach = true, true
	if c.Options.Rehearsal {
		c = Rehearsal(c)
	} else {
		c.AskInRun()
	}
	return StartProcess(ctx, c)
}

// Rehearsal returns the same choices for a scripted model.
func Rehearsal(c settings.Choices) settings.Choices {
	c.Options.Rehearsal, c.Options.Trusted, c.Options.TrustHash = true, true, ""
	kept := map[string]string{}
	for name, value := range c.Options.Env {
		if settings.ForRehearsal(name) {
			kept[name] = value
		}
	}
	c.Options.Env, c.Options.ArbiterEnv = kept, nil
	return c
}

// hostedRun is one process of a run.
type hostedRun struct {
	choices settings.Choices
	resumed *supervisor.State // state restored from the journal; nil for a new run
	notice  notice            // what the human should know before the run continues

	storage     storage
	diagnostics diagnostics
	stage       *Stage // nil unless this is a rehearsal
	decider     Opened
	grants      *trust.GrantStore // nil: none are kept, as in a rehearsal
	files       recording
	loop        *runloop.Loop   // nil before [hostedRun.ready]
	wanted      context.Context // ends with the first signal; its cause is a [calledOff]
	bridges     bridges
	frontends   frontends
}

// openRun opens a new run, or one that was played before.
func openRun(c settings.Choices) (*hostedRun, error) {
	r := &hostedRun{choices: c}
	var err error
	// The loop must exist before anything is appended to the journal.
	r.storage, err = openStorage(c.StateDir, journal.Options{
		Committed: func(upTo uint64) { r.loop.Committed(upTo) },
		Trouble:   func(err error) { r.loop.Trouble(err) },
		MaxBytes:  c.Journal, History: runstore.History,
	}, &r.notice)
	switch {
	case err != nil:
	case c.Resume:
		if err = r.lockAgain(); err == nil {
			err = r.resume()
		}
	default:
		err = r.begin()
	}
	if err != nil {
		r.close()
		if !c.Resume && r.storage.journal != nil {
			err = errors.Join(err, r.discard())
		}
		return nil, err
	}
	return r, nil
}

// discard removes the run, which is closed and has come to nothing, so that such runs do not fill the list of runs.
func (r *hostedRun) discard() error {
	if err := r.storage.Remove(r.choices.Options.Run); err != nil {
		return fmt.Errorf("remove the empty run: %w", err)
	}
	if _, err := r.storage.Tidy(); err != nil {
		return fmt.Errorf("remove the empty run: %w", err)
	}
	return nil
}

// begin makes a new run: it locks its directory, and opens what it needs.
func (r *hostedRun) begin() error {
	c, o := &r.choices, &r.choices.Options
	o.Run = cmp.Or(o.Run, uuid.NewString())
	o.Delimiter = supervisor.NewDelimiter(rand.Reader)
	o.HumanPresent = !c.NoInput
	o.Claude = c.Claude
	script, err := ReadScenario(*c)
	if err != nil {
		return err
	}
	if o.Workspace.Isolated() { // can the Orchestrators get directories of their own?
		if _, err := workspaces.Open(context.Background(), workspaces.Options{Dir: o.CWD, Run: o.Run}); err != nil {
			return command.Environmentf("--isolation %s: %v; or use --isolation %s", o.Workspace.Isolation, err,
				runconfig.IsolationShared)
		}
	}
	for _, text := range []string{c.Notice, settings.UnknownTools(*o)} {
		if text != "" {
			r.notice.add("%s", text)
		}
	}
	if err := r.lockPlace(); err != nil {
		return err
	}
	r.storage.journal, err = r.storage.Create(journal.Meta{Run: o.Run, CWD: c.Place, Began: time.Now(),
		Version: command.Version(), Title: command.Title(o.Task), Rehearsal: c.Options.Rehearsal}, r.storage.options)
	if err != nil {
		return command.Environmentf("journal: %v", err)
	}
	if err := r.openServices(script); err != nil {
		return err
	}
	if err := r.recall(o); err != nil {
		r.notice.add("the lessons of earlier runs cannot be read: %v", err)
	}
	if c.Options.Rehearsal { // it has a workspace now
		if !c.Share {
			if err := r.storage.lockWorkspace(o.CWD); err != nil {
				return err
			}
		}
		if err := r.storage.update(func(m *journal.Meta) { m.Workspace = o.CWD }); err != nil {
			return command.Environmentf("journal: %v", err)
		}
	}
	*o = o.WithDefaults()
	r.decider, err = r.openDecider()
	return err
}

// lockPlace prevents a second run in the directory. A rehearsal has its own workspace, which is locked after it was
// created.
func (r *hostedRun) lockPlace() error {
	if r.choices.Share || r.choices.Options.Rehearsal {
		return nil
	}
	if err := r.storage.lockPlace(r.choices.Place, r.choices.Options.Run); err != nil {
		return err
	}
	return r.storage.lockWorkspace(r.choices.Place)
}

// openServices opens what a run needs besides its journal: the log and, with a script, the stage of a rehearsal.
func (r *hostedRun) openServices(script *rehearsal.Scenario) (err error) {
	dir := r.storage.journal.Dir()
	mask := settings.MaskerOf(r.choices.Options, r.choices.Hosts)
	d := &r.diagnostics
	if d.file, err = runstore.OpenLog(dir, mask); err != nil {
		return command.Environmentf("log: %v", err)
	}
	d.mask, d.log = mask, d.file.Logger(r.choices.Debug)
	d.reporter = &runstore.CrashReporter{Dir: dir, Version: command.Version(), Mask: mask, Log: d.log}
	r.choices.Options.Log = d.file.Path()
	spans, err := FromEnvironment(os.Getenv)
	if err != nil {
		r.notice.add("no telemetry: %v", err)
	} else if spans.URL != "" {
		trace := NewTrace(r.choices.Options.Run, spans.Traceparent)
		r.diagnostics.telemetry = NewExporter(spans, trace, func(err error) {
			r.diagnostics.log.Warn("telemetry", "error", err)
			if r.loop != nil {
				r.frontends.input.Notice(contract.Arbiter,
					"telemetry: "+err.Error()+". The run continues; further failures there are not reported.")
			}
		})
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
		State: func() *supervisor.State { return r.loop.Snapshot() },
		Bridge: func() Querier {
			if client := r.bridges.usable.Load(); client != nil {
				return client
			}
			return nil
		},
		Telemetry: r.diagnostics.telemetry,
	})
}

// options returns the options of the run, with its secrets and the current sandbox of agents.
func (r *hostedRun) options() runconfig.Options {
	o := r.choices.Options
	now := r.bridges.sandbox.now()
	o.Sandbox, o.SandboxReason, o.ScratchChecks = now.sandbox, now.reason, now.scratch
	if o.Sandbox == nil && o.SandboxReason == "" && r.choices.Sandbox.Mode != settings.SandboxOff {
		o.SandboxReason = "it was not tried: no Claude Code CLI could be started"
	}
	return o
}

// recorded returns the run's options in the form for the journal, without secrets.
func (r *hostedRun) recorded() runconfig.Options {
	o := r.options()
	o.Cores = runtime.GOMAXPROCS(0)
	if !r.choices.Options.Rehearsal {
		if err := withWindows(&o, r.choices.StateDir); err != nil {
			r.notice.add("what earlier runs learned about models is not known: %v", err)
		}
	}
	o.Env, o.ArbiterEnv = settings.WithoutSecrets(o.Env), settings.WithoutSecrets(o.ArbiterEnv)
	return o
}

// close releases everything that is still held. After a run was played, call [hostedRun.shutdown] first.
func (r *hostedRun) close() {
	r.frontends.control.Close() // the loop has ended
	r.frontends.hooks.Close()
	r.decider.Close()
	if r.grants != nil {
		_ = r.grants.Close() // it was only read
	}
	if r.stage != nil {
		r.stage.Close()
	}
	r.storage.close(r.diagnostics.log) // the next process of the run does not wait for other machines
	r.frontends.notifier.Close(lastNotifications)
	if lost := r.diagnostics.telemetry.Close(lastSpans); lost > 0 {
		r.diagnostics.log.Warn("telemetry", "spans that found no room", lost)
	}
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
		r.notice.add("the task is sent without its images: %v", err)
	}
	fenced := FenceHost(r.wanted, r.choices.Hosts, r.choices.Options.Run, r.resumed, r.diagnostics.log)
	recording, abandon := context.WithCancel(r.wanted)
	defer abandon()
	recorded := r.recordFiles(recording)
	starting, giveUp := context.WithCancel(ctx) // the bridge ends with it
	began := context.AfterFunc(r.wanted, giveUp)
	port, info, failed := r.openBridge(starting)
	began()
	if failed != nil {
		abandon() // a first snapshot takes minutes, and nobody will work
	}
	if err := recorded(loop); err != nil && failed == nil {
		failed = &input.BridgeFailed{Category: bridge.CatWorkspace, Message: err.Error()}
	}
	if text := claude.Untested(info.Version); text != "" {
		r.diagnostics.log.Info(text) // doctor tells it: it is no news at each start
	}
	if o := r.choices.Options; o.MaxCostPerDay > 0 && !o.Rehearsal {
		defer WatchDayBudget(ctx, r.storage.Runs, o.Run, loop, r.diagnostics.log)()
	}
	var exit contract.Exit
	switch off, ok := errors.AsType[calledOff](context.Cause(r.wanted)); {
	case ok:
		exit = loop.Run(ctx, nil, input.NoBridge{Options: r.recorded(), Message: off.Error(), Signal: (*input.Signal)(&off)})
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
	r.files.end(exit == contract.ExitComplete, r.bridges.others)
	return exit
}

// equip sets up the loop, and returns the store for the images of the run.
func (r *hostedRun) equip(loop *runloop.Loop) *runstore.ImageStore {
	loop.Journal, loop.Recorder, loop.Redact = r.storage.journal, supervisor.LogItems, r.diagnostics.mask
	o := r.choices.Options
	store := runstore.NewStore(filepath.Join(r.storage.journal.Dir(), runstore.ImagesDir), o.CWD)
	loop.Images, loop.Decider = store, r.decider.Decider
	if !r.choices.Options.Rehearsal {
		r.useGrants(loop)
		loop.Windows = func(model string, tokens int) error { return keepWindow(r.choices.StateDir, model, tokens) }
	}
	gate := NewTrustGate(o.CWD, o.Run, r.choices.Trusting, r.bridges.others.Inventory)
	loop.Gate, loop.KeepTrust = gate.Check, gate.Record
	loop.Terminal = r.frontends.hooks.Setup
	loop.Open, loop.Drop = r.openOn, r.bridges.drop
	loop.Committed(r.storage.journal.Durable()) // do not report earlier records again
	return store
}

// distrust returns why the workspace is not trusted any more. A rehearsal has a workspace of its own.
func (r *hostedRun) distrust() string {
	if r.choices.Options.Rehearsal || r.choices.Options.Trusted {
		return ""
	}
	return r.choices.Trusting.Distrust()
}

// lastStep is one step of the shutdown, with its time limit.
type lastStep struct {
	name   string
	within time.Duration
	tries  int
	do     func(ctx context.Context) error
}

// shutdown runs the steps after the end of the loop, in this order. Before, the loop has made the bridge end every
// agent: interrupt and 2 s for the end of the turn, end of input and 3 s, TERM and 2 s, KILL and a sweep. A second
// signal shortens that to TERM and half a second. After a third signal nothing is waited for, and the bridge ends
// on its own.
//
// If a step exceeds its time, it is reported and abandoned, and the next one starts.
func (r *hostedRun) shutdown(s *supervisor.State) (unfinished []string) {
	run := r.choices.Options.Run
	steps := []lastStep{
		{"the bridge", 5 * time.Second, 1, func(context.Context) error { return r.bridges.close() }},
		// A busy machine may take longer than a step has to end processes that are killed already.
		{"processes left behind", 6 * time.Second, 2, func(context.Context) error {
			// A killed bridge could not sweep.
			if n := proctree.Sweep(run, ""); n > 0 {
				r.diagnostics.log.Warn("swept", "processes", n)
			}
			if left := proctree.Survivors(run); len(left) > 0 {
				return fmt.Errorf("still alive: %v", left)
			}
			return nil
		}},
		{"the clients' requests", 5 * time.Second, 1, func(context.Context) error {
			r.frontends.input.Wait()
			return nil
		}},
		{"the memory of the workspace", 5 * time.Second, 1, func(context.Context) error { return r.remember(s) }},
		{"the journal", 10 * time.Second, 1, func(ctx context.Context) error {
			r.storage.unlock() // before anyone learns of the end, and begins the next run
			return r.storage.finish(ctx, s)
		}},
		{"the crash reports", 5 * time.Second, 1, func(context.Context) error {
			r.diagnostics.reporter.Close()
			return nil
		}},
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

func (l lastStep) run() (err error) {
	for range l.tries {
		if err = l.once(); err == nil {
			break
		}
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

// close closes the crash reports and the log. Nothing is written to them afterwards.
func (d *diagnostics) close() {
	if d.reporter != nil { // otherwise the log could not be opened
		d.reporter.Close()
		d.file.Close()
	}
}

const (
	// frontendConnects is how long the frontend that started the process may take to connect.
	frontendConnects = 15 * time.Second
	// endedBeforeFrontend is logged when a run ends before its frontend has connected.
	endedBeforeFrontend = "the run has ended before its frontend connected"
)

// frontends has the interfaces of the run to the outside: clients of its control socket, people in terminals,
// hooks, and servers that get notifications. [hostedRun.ready] creates all of them except the board and the
// terminals.
type frontends struct {
	board     Board
	terminals Terminals
	input     *Sender
	clients   *Group
	hooks     *HooksService
	control   *ControlServer // nil without a socket
	halter    *Halter
	notifier  *settings.Notifier // nil unless --notify names a URL
}

// ready creates the loop of a run, whose events go to sink, and opens its interfaces.
func (r *hostedRun) ready(sink runloop.Sink) *runloop.Loop {
	f, dir, log := &r.frontends, r.storage.journal.Dir(), r.diagnostics.log
	f.clients = NewGroup(
		func() (*journal.EventLog, error) { return r.storage.EventLog(r.choices.Options.Run) },
		func() *supervisor.State { return r.loop.Snapshot() }, log)
	r.loop = runloop.NewLoop(r.choices.Policy, func(at time.Time, e contract.Event) {
		r.diagnostics.reporter.Note(at, e)
		r.diagnostics.telemetry.Add(at, e)
		f.board.publish(at, e)
		f.clients.publish(at, e)
		sink(at, e)
	}, log)
	if r.resumed != nil {
		r.loop.Restore(*r.resumed)
	}
	var callOff context.CancelCauseFunc
	r.wanted, callOff = context.WithCancelCause(context.Background())
	r.loop.Refuses = settings.RefuseRoot
	// The loop itself takes a signal only when the run has begun: the first snapshot of a large work tree takes minutes.
	r.loop.Signalled = func(s input.Signal) { callOff(calledOff(s)) }
	f.input = NewSender(r.loop, &f.board)
	r.bridges.others = &Bridges{
		Hosts: r.choices.Hosts, Debug: r.choices.Debug, Options: r.options, Handler: r.loop.Handler, Input: f.input,
		Terminals: &f.terminals, Telemetry: r.diagnostics.telemetry, Log: log,
		HaltApplied: func() bool { return f.halter.HaltApplied() },
	}
	f.halter = &Halter{ID: r.choices.Options.Run, Input: f.input, Bridge: r.bridges.here.Load,
		Elsewhere: r.bridges.others, Log: log}
	f.hooks = ServeHooks(dir, r.loop, &f.terminals, log)
	var err error
	f.control, err = ServeControl(dir, &service{
		run: r.choices.Options.Run, cwd: r.choices.Place, terminals: &f.terminals, input: f.input, Group: f.clients,
		halter: f.halter,
	}, log)
	if err != nil { // the run continues without a socket; stdin still reaches it
		log.Warn("control", "error", err)
	}
	if posts := r.choices.Screen.Posts; len(posts) > 0 {
		f.notifier = settings.NewNotifier(settings.NotifierOptions{Targets: posts, Run: r.choices.Options.Run,
			Mask: r.diagnostics.mask, Failed: func(err error) {
				log.Warn("notification failed", "err", err)
				f.input.Notice(contract.Arbiter,
					fmt.Sprintf("--notify: %v. The run continues; further failures there are not reported.", err))
			}})
	}
	f.input.Go(r.watchState)
	return r.loop
}

// watchState wakes the subscribers when the state changes, posts notifications, and records the title of the first
// task, until the loop has ended.
func (r *hostedRun) watchState() {
	titled := r.storage.journal.Meta().Title != ""
	for ended := false; !ended; {
		select {
		case <-r.loop.Changed():
		case <-r.loop.Done():
			ended = true
		}
		r.frontends.clients.Hint()
		s := r.loop.Snapshot()
		if !ended {
			r.frontends.notifier.Look(command.Title(s.Task.Text), supervisor.InboxOf(s))
		}
		if !titled && s.Task.Text != "" { // a run that began without a task, and so without a title
			titled = true
			if err := r.storage.update(func(m *journal.Meta) { m.Title = command.Title(s.Task.Text) }); err != nil {
				r.diagnostics.log.Warn("title not recorded", "err", err)
			}
		}
	}
}

// announceEnd reports to the clients how the run ended, and waits a limited time until they have read it. It returns
// the error that ends the process.
func (r *hostedRun) announceEnd(end control.RunEnded) error {
	s, exit := r.loop.Snapshot(), contract.Exit(end.Exit)
	switch {
	case exit == contract.ExitComplete:
	case s.Ending == nil || exit == contract.ExitBug:
		end.Text = exit.String()
	default:
		end.Text = s.Ending.Status + ": " + s.Ending.Summary
		if len(s.Question.Recovery.Options) > 0 && exit == contract.ExitEnvironment {
			end.Text += "; " + strings.Join(s.Question.Recovery.Options, "; or ")
		}
	}
	if !s.Pointless() {
		status := exit.String()
		if s.Ending != nil {
			status = s.Ending.Status
		}
		r.frontends.notifier.End(command.Title(s.Task.Text), status)
	}
	r.frontends.clients.End(end)
	if exit == contract.ExitComplete {
		return nil
	}
	return &command.Error{Code: exit, Text: end.Text}
}

// heedSignals ends the run when the process gets a signal. QUIT prints the stacks of a stuck program; the bridge then
// ends the agents.
func (r *hostedRun) heedSignals() (stop func()) {
	return command.HandleSignals(func(name string, n int) bool {
		r.frontends.input.Later(input.Signal{Signal: name, Fast: n > 1}) // the third one must not wait behind the second
		return true
	}, nil, nil)
}

// calledOff is a signal that came before a run had begun, or later.
type calledOff input.Signal

func (c calledOff) Error() string { return "SIG" + c.Signal + " stopped the run before it began" }

// drainDeadline bounds the writing of the last lines if the reader of stdout is slow but alive.
const drainDeadline = 10 * time.Second

// Headless runs a task for a script, with NDJSON on stdin and stdout.
func Headless(io command.Env, c settings.Choices) (err error) {
	e := hostEnv{io}
	command.OutliveReaders()
	if c.OrBegin {
		if err := resumeOrBegin(&c); err != nil {
			return err
		}
	}
	r, err := openRun(c)
	if err != nil {
		return err
	}
	empty := false
	defer func() {
		if r.close(); !empty {
			return
		}
		if err := r.discard(); err != nil {
			fmt.Fprintln(e.Stderr, "arbiter:", err)
		}
	}()
	defer e.bug(r, &err)
	var loop *runloop.Loop
	out := NewWriter(e.Stdout, NDJSONBacklog, func(err error) { loop.Put(input.OutputLost{Message: err.Error()}) })
	loop = r.ready(out.Put)
	e.printStart(r)
	defer r.heedSignals()()
	if !c.NoInput {
		// Not waited for: a read from stdin cannot be cancelled, and ends with the process.
		go readCommands(e.Stdin, r)
	}
	exit := r.play(loop)
	unfinished := r.shutdown(loop.Snapshot())
	if err := out.Close(drainDeadline); err != nil && exit == contract.ExitComplete {
		fmt.Fprintln(e.Stderr, "arbiter: stdout:", err)
		exit = contract.ExitFailed
	}
	e.printSessions(loop.Snapshot())
	e.printEnd(r, loop.Snapshot(), unfinished)
	empty = loop.Snapshot().Pointless() && len(unfinished) == 0
	return r.announceEnd(control.RunEnded{Exit: int(exit), Unfinished: unfinished})
}

// bug, which is deferred, writes a report about a panic outside of the loop, which handles its own. err then ends the
// program.
func (e hostEnv) bug(r *hostedRun, err *error) {
	if p := recover(); p != nil {
		r.diagnostics.reporter.Panicked(&runloop.Fault{Panic: fmt.Sprint(p), Stack: debug.Stack()})
		r.diagnostics.reporter.Close()
		e.printReports(r)
		*err = &command.Error{Code: contract.ExitBug, Text: fmt.Sprintf("bug in arbiter: %v", p)}
	}
}

func readCommands(stdin io.Reader, r *hostedRun) {
	loop := r.loop
	err := contract.ReadCommands(stdin, 0, func(c contract.Command) bool {
		if r.frontends.halter.OnStdin(c) {
			return true
		}
		return loop.Put(input.Command{Command: c, Channel: input.ChannelStdin})
	})
	if err != nil && !errors.Is(err, os.ErrClosed) {
		loop.Put(input.Command{Command: contract.Command{Body: contract.Malformed{Problem: "stdin: " + err.Error()}},
			Channel: input.ChannelStdin})
	}
	loop.Put(input.InputEnded{})
}

// hostEnv has the standard streams, and the commands of this package as methods.
type hostEnv struct{ command.Env }

// hostOutput is the file in a run's directory for stdout and stderr of the host process. It stays empty unless the
// process crashes.
const hostOutput = "host.log"

// HostCommand is `arbiter host`, which arbiter itself starts.
func HostCommand(io command.Env) *cli.Command {
	e := hostEnv{io}
	return &cli.Command{
		Name: ProcessCommand, Usage: "play one run for the clients of its control socket", ArgsUsage: "DIR",
		Description: "Arbiter starts this process itself, for the screen and for --plain. The run continues when " +
			"they end.\nIf this process is killed, all of the run's agents end. The directory is only named for ps.",
		Action: e.host,
	}
}

// host is `arbiter host`.
func (e hostEnv) host(*cli.Context) (err error) {
	command.OutliveReaders()
	if term.IsTerminal(int(os.Stdin.Fd())) {
		return command.Usagef("arbiter host is started by arbiter itself: use arbiter, or arbiter attach for a live run")
	}
	var c settings.Choices
	if err := json.NewDecoder(e.Stdin).Decode(&c); err != nil {
		return command.Usagef("arbiter host is started by arbiter itself: its stdin is not a description of a run (%v)", err)
	}
	if c.Policy, err = settings.CheckRules(c.Options); err != nil {
		return e.notReady(err)
	}
	r, err := openRun(c)
	if err != nil {
		return e.notReady(err)
	}
	defer r.close()
	defer e.bug(r, &err)
	loop := r.ready(func(time.Time, contract.Event) {}) // the subscribers get events from the hub
	defer r.heedSignals()()
	if r.frontends.control == nil {
		return e.notReady(command.Environmentf("run %s has no control socket, so that no screen can follow it; "+
			"its log says why: %s", command.ShortID(r.choices.Options.Run), r.diagnostics.file.Path()))
	}
	var output bytes.Buffer
	hostEnv{command.Env{Stderr: &output}}.printStart(r)
	ready := Ready{Run: r.choices.Options.Run, Notices: output.String(),
		Socket: filepath.Join(r.storage.journal.Dir(), control.SocketName)}
	if err := e.PrintJSON(ready); err != nil {
		return command.Environmentf("the process that started this one has ended: %v", err)
	}
	if err := leaveTerminal(r.storage.journal.Dir()); err != nil {
		r.diagnostics.log.Warn("redirecting stdout and stderr failed", "err", err)
	}
	exit := r.play(loop)
	s := loop.Snapshot()
	end := control.RunEnded{Exit: int(exit), Unfinished: r.shutdown(s)}
	output.Reset()
	hostEnv{command.Env{Stderr: &output}}.printEnd(r, s, end.Unfinished)
	end.Notices = strings.Split(strings.TrimSuffix(output.String(), "\n"), "\n")
	if !r.choices.Detach {
		// The frontend that started this process connects when it learns that the process is ready; a run that fails to
		// start may have ended by then.
		r.frontends.clients.AwaitFirst(frontendConnects, func() { r.diagnostics.log.Info(endedBeforeFrontend) })
	}
	return r.announceEnd(end)
}

// notReady answers that the run could not be started.
func (e hostEnv) notReady(err error) error {
	exit := command.Failedf("%v", err)
	errors.As(err, &exit)
	// If writing fails, the process that started this one has ended.
	_ = e.PrintJSON(Ready{Code: exit.Code, Problem: exit.Text})
	return &command.Error{Code: exit.Code}
}

// leaveTerminal redirects stdout and stderr to a file of the run. A crash is then described there, and a write to a
// closed terminal cannot end the process.
func leaveTerminal(dir string) error {
	f, err := os.OpenFile(filepath.Join(dir, hostOutput), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("open %s: %w", hostOutput, err)
	}
	defer f.Close()
	for _, fd := range []int{unix.Stdout, unix.Stderr} {
		if err := unix.Dup2(int(f.Fd()), fd); err != nil {
			return fmt.Errorf("redirect output: %w", err)
		}
	}
	return nil
}

// printStart prints on stderr what a person should know before anything runs.
func (e hostEnv) printStart(r *hostedRun) {
	o := r.choices.Options
	if r.stage != nil {
		fmt.Fprintf(e.Stderr, "REHEARSAL: a scripted model plays %q; nothing is real but the files in %s\n",
			sanitize.Line(o.Scenario, 100), sanitize.Line(o.CWD, 400))
	} else if line := r.choices.Trusting.Greeting(); line != "" {
		fmt.Fprintln(e.Stderr, line)
	}
	if o.Permissions == "allow-all" {
		fmt.Fprintln(e.Stderr, "WARNING: every agent may run anything without asking (--permissions allow-all).")
	}
	if r.choices.Sandbox.Mode == settings.SandboxOff && r.stage == nil {
		fmt.Fprintln(e.Stderr,
			"Agents run without a sandbox: their commands can do what you can do (--sandbox on confines them).")
	}
	if text := r.notice.String(); text != "" {
		fmt.Fprintln(e.Stderr, "arbiter: "+sanitize.Line(text, 1000))
	}
}

// printReports prints the paths of crash reports.
func (e hostEnv) printReports(r *hostedRun) {
	for _, path := range r.diagnostics.reporter.Written() {
		fmt.Fprintln(e.Stderr, "arbiter: a crash report was written to "+path)
	}
}

// printEnd prints where a rehearsal left its script, what did not stop, and the receipt of the run. A run that never
// reached an agent has no receipt.
func (e hostEnv) printEnd(r *hostedRun, s *supervisor.State, unfinished []string) {
	for _, what := range unfinished {
		fmt.Fprintln(e.Stderr, "arbiter: did not end in time: "+sanitize.Line(what, 500))
	}
	e.printReports(r)
	if r.stage != nil {
		for _, p := range r.stage.Server.Problems() {
			fmt.Fprintln(e.Stderr, "REHEARSAL PROBLEM: "+sanitize.Line(p, 500))
		}
	}
	if s.Reached() {
		next := "To resume: " + settings.ResumeLine(r.choices.FrontendFlag(), r.choices.Options.Run, r.choices.StateDir)
		for _, line := range r.receipt(next) {
			fmt.Fprintln(e.Stderr, line)
		}
	}
}

// printSessions prints the ids of the CLI's sessions for a script, not for a person.
func (e hostEnv) printSessions(s *supervisor.State) {
	if len(s.Agents) == 0 || command.OnTerminal(e.Stderr) {
		return
	}
	line := struct {
		Arbiter string `json:"arbiter"`
		Last    string `json:"lastOrchestrator"`
		Number  int    `json:"orchestratorNumber"`
	}{Arbiter: s.Agents[0].SessionID, Number: s.Spawned}
	if last, ok := s.Last(); ok {
		line.Last = last.SessionID
	}
	_ = json.NewEncoder(e.Stderr).Encode(line) // as other lines for stderr, it may be lost
}

// notice collects what the human should know before the run continues.
type notice struct {
	mu   sync.Mutex
	text string
}

func (n *notice) add(format string, args ...any) {
	n.mu.Lock()
	defer n.mu.Unlock()
	if n.text != "" {
		n.text += "; "
	}
	n.text += fmt.Sprintf(format, args...)
}

// String returns everything that was added.
func (n *notice) String() string {
	n.mu.Lock()
	defer n.mu.Unlock()
	return n.text
}

// lastNotifications bounds the final wait for servers of --notify at the end of a run's process.
const lastNotifications = 3 * time.Second
