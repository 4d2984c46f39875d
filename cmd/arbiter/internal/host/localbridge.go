package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
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
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// This part of the package starts the bridge on this machine: the bridge of a run, or a bridge outside of any
// run, through which a command asks models.

// LocalBridge is the name of this machine's bridge among the bridges of a run.
const LocalBridge = "here"

// initializeDeadline bounds the bridge's first answer, which includes the first run of `claude --version` on a
// machine.
const initializeDeadline = 30 * time.Second

// BridgeStart has the parameters of a bridge.
type BridgeStart struct {
	Run     string // its mark is set for the bridge and all descendants
	CWD     string
	Claude  string // empty: claude on PATH
	Debug   bool
	PIDNS   proctree.Mode
	Stage   *Stage   // nil unless this is a rehearsal
	Lock    *os.File // a lock that the bridge holds, too; may be nil
	Handler bridge.Handler
	Started func(pid int) // called with the process id; may be nil
	Log     *slog.Logger
}

// Open starts the process and waits for its first answer. The caller closes the client that keep receives, also
// after a failure.
func (b BridgeStart) Open(ctx context.Context,
	keep func(*bridge.Client)) (*bridge.Client, bridge.ClaudeInfo, *input.BridgeFailed) {
	failed := func(c bridge.Category, format string,
		args ...any) (*bridge.Client, bridge.ClaudeInfo, *input.BridgeFailed) {
		return nil, bridge.ClaudeInfo{}, &input.BridgeFailed{Category: c, Message: fmt.Sprintf(format, args...)}
	}
	self, err := os.Executable()
	if err != nil {
		return failed(bridge.CatInternal, "cannot find arbiter's own program: %v", err)
	}
	args := []string{"bridge"}
	if b.Debug {
		args = append(args, "--debug")
	}
	cmd := exec.Command(self, args...)
	cmd.Env, cmd.Dir = os.Environ(), b.CWD
	claude := bridge.ClaudeSpec{Path: cmp.Or(b.Claude, "claude")}
	if b.Stage != nil {
		cmd.Env, claude = append([]string(nil), b.Stage.Env...), b.Stage.Claude
	}
	if err := proctree.AdoptOrphans(); err != nil {
		// without it, leftovers of a killed bridge are found only by their mark
		b.Log.Warn("become subreaper failed", "error", err)
	}
	if err := proctree.KeepFiles(); err != nil {
		b.Log.Warn("close inherited files failed", "error", err) // agents inherit this process's inherited files
	}
	// The bridge has the mark, too, so that a hanging bridge is swept with the rest.
	cmd.Env = append(cmd.Env, proctree.Mark{Run: b.Run, Bridge: LocalBridge}.Env()...)
	if b.Lock != nil {
		proctree.InheritLock(cmd, b.Lock)
	}
	isolation := proctree.Isolate(ctx, cmd, b.PIDNS)
	client, err := bridge.StartProcess(ctx, cmd, b.Handler, b.Log, proctree.Keep)
	if err != nil {
		return failed(bridge.CatInternal, "the bridge did not start: %v", err)
	}
	keep(client)
	if b.Started != nil {
		b.Started(cmd.Process.Pid)
	}
	ictx, cancel := context.WithTimeout(ctx, initializeDeadline)
	defer cancel()
	init, err := client.Initialize(ictx, bridge.InitializeParams{
		ProtocolVersion: bridge.ProtocolVersion, Client: "arbiter " + command.Version(), Run: b.Run, Bridge: LocalBridge,
		Claude: claude,
	})
	if err != nil {
		if rpc, ok := errors.AsType[*bridge.RPCError](err); ok && rpc.Category != "" {
			return failed(rpc.Category, "%s", rpc.Message)
		}
		return failed(bridge.CatInternal, "the bridge did not answer: %v", err)
	}
	b.Log.Info("bridge", "run", b.Run, "arbiter", command.Version(), "claude", init.Claude.Version,
		"path", init.Claude.Path, "cwd", b.CWD, "namespace", isolation.String())
	return client, init.Claude, nil
}

// SideBridge is a bridge outside of any run, through which commands ask models. Its processes are owned like those of a
// run. It stores nothing.
type SideBridge struct {
	Mark   string
	Stage  *Stage // nil unless this is a rehearsal
	dirs   []string
	Client *bridge.Client

	mu    sync.Mutex
	spent float64 // US dollars
}

// StageSide prepares the stage if this is a rehearsal, without a bridge. Errors are *command.Error.
func StageSide(c *settings.Choices, log *slog.Logger) (*SideBridge, error) {
	a := &SideBridge{Mark: uuid.NewString()}
	script, err := ReadScenario(*c)
	if err != nil {
		return nil, err
	}
	if script != nil {
		home, err := os.MkdirTemp("", "arbiter-home-")
		if err != nil {
			return nil, command.Environmentf("private home: %v", err)
		}
		a.dirs = append(a.dirs, home)
		if a.Stage, err = SetStage(c, script, home, "", log); err != nil {
			a.Close()
			return nil, err
		}
		a.dirs = append(a.dirs, filepath.Dir(c.Options.CWD))
	}
	return a, nil
}

// OpenSide starts a bridge, with a stage if this is a rehearsal. Errors are *command.Error.
func OpenSide(ctx context.Context, c *settings.Choices, log *slog.Logger) (*SideBridge, error) {
	a, err := StageSide(c, log)
	if err != nil {
		return nil, err
	}
	start := BridgeStart{
		Run: a.Mark, CWD: c.Options.CWD, Claude: c.Claude, Debug: c.Debug, PIDNS: c.PIDNS,
		Stage: a.Stage, Handler: NoHandler{}, Log: log,
	}
	_, _, failed := start.Open(ctx, func(client *bridge.Client) { a.Client = client })
	if failed != nil {
		a.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, command.Environmentf("%s", failed.Message)
	}
	return a, nil
}

// Query implements [Querier], and adds up the cost.
func (a *SideBridge) Query(ctx context.Context, p bridge.QueryParams) (bridge.QueryResult, error) {
	r, err := a.Client.Query(ctx, p)
	usd := r.CostUSD
	if rpc, ok := errors.AsType[*bridge.RPCError](err); ok {
		usd = rpc.CostUSD
	}
	a.mu.Lock()
	a.spent += usd
	a.mu.Unlock()
	return r, err
}

// Cost returns what was spent so far, in US dollars.
func (a *SideBridge) Cost() float64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.spent
}

// Close ends the bridge and all processes that it started.
func (a *SideBridge) Close() {
	if a.Client != nil {
		_ = a.Client.Close() // the result does not depend on how the bridge ended
		proctree.Sweep(a.Mark, "")
	}
	if a.Stage != nil {
		a.Stage.Close()
	}
	for _, dir := range a.dirs {
		_ = os.RemoveAll(dir)
	}
}

// bridges has the bridges of a run: one on this machine, and one for each other host.
type bridges struct {
	here    atomic.Pointer[bridge.Client] // the current one, as soon as it has started; nil before
	usable  atomic.Pointer[bridge.Client] // the same once its sandbox was tried: before, it refuses every question
	watch   sync.WaitGroup                // one for each bridge here: reports its end
	sandbox confinement                   // of the agents here
	others  *Bridges
}

// drop closes the bridge of a host. The goroutine that watches it reports its end.
func (b *bridges) drop(host string) {
	if host == supervisor.LifecycleHere {
		_ = b.here.Load().Close()
		return
	}
	b.others.Drop(host)
}

// close closes all bridges and waits until their ends were reported to the loop.
func (b *bridges) close() error {
	b.others.Close()
	client := b.here.Load()
	if client == nil {
		return nil
	}
	err := client.Close()
	b.others.watch.Wait()
	b.watch.Wait()
	return err
}

func (r *hostedRun) openOn(ctx context.Context, host string) (runloop.Opened, *input.BridgeFailed) {
	if host != supervisor.LifecycleHere {
		return r.bridges.others.Open(ctx, host)
	}
	if err := r.bridges.here.Load().Close(); err != nil {
		r.diagnostics.log.Warn("bridge", "error", err)
	}
	swept := proctree.SweepMarked(proctree.Mark{Run: r.choices.Options.Run, Bridge: LocalBridge})
	port, claude, failed := r.openBridge(ctx)
	return runloop.Opened{Port: port, Claude: claude, Swept: swept}, failed
}

// openBridge starts a bridge on this machine, and tries the sandbox of its agents.
func (r *hostedRun) openBridge(ctx context.Context) (runloop.Port, bridge.ClaudeInfo, *input.BridgeFailed) {
	b, f, o := &r.bridges, &r.frontends, &r.choices.Options
	start := BridgeStart{
		Run: o.Run, CWD: o.CWD, Claude: r.choices.Claude, Debug: r.choices.Debug, PIDNS: r.choices.PIDNS,
		Stage: r.stage, Lock: r.storage.journal.LockFile(), Handler: f.terminals.Tap(r.loop), Log: r.diagnostics.log,
	}
	start.Started = func(pid int) {
		f.halter.bridgePID.Store(int64(pid))
		note := runstore.BridgeNote{Run: o.Run, PID: pid} // with it, another process can end the bridge
		for _, h := range o.Hosts {
			note.Hosts, note.Lease = append(note.Hosts, h.Name), o.Lease
		}
		if err := note.Write(r.storage.journal.Dir()); err != nil {
			start.Log.Warn("the bridge's process could not be recorded", "error", err)
		}
	}
	client, claude, failed := start.Open(ctx, func(c *bridge.Client) {
		b.usable.Store(nil)
		b.here.Store(c)
	})
	if failed != nil {
		return nil, bridge.ClaudeInfo{}, failed
	}
	b.watch.Go(func() { r.reportEnd(client) })
	o.StandIn = claude.StandIn
	config, missing := r.choices.SandboxConfig()
	unsandboxed, failed := b.sandbox.try(ctx, client, r.choices.Sandbox.Mode, config, missing, *o, r.diagnostics.log)
	if failed != nil {
		return nil, bridge.ClaudeInfo{}, failed
	}
	if unsandboxed != "" {
		r.notice.add("not confined: %s", unsandboxed)
	} else if now := b.sandbox.now(); now.sandbox != nil {
		r.notice.add("sandbox: %s", settings.Confines(*now.sandbox, now.hosts))
	}
	b.usable.Store(client)
	return Port{Client: client, Terminals: &f.terminals, Hooks: f.hooks.Path(), Options: *o,
		Telemetry: r.diagnostics.telemetry}, claude, nil
}

// reportEnd reports the end of a bridge on this machine to the loop.
func (r *hostedRun) reportEnd(p *bridge.Client) {
	<-p.Done()
	in, halter := r.frontends.input, r.frontends.halter
	halted := halter.Ended(p)
	if runstore.TakeHalted(r.storage.journal.Dir()) {
		halted = true
		r.loop.Put(input.Command{Command: contract.Command{Ref: in.NewRef(), Body: contract.Halt{}},
			Channel: input.ChannelSocket})
	}
	message := "it ended"
	if err := p.Err(); err != nil {
		message = err.Error()
	}
	r.loop.Put(input.BridgeLost{Message: message, Halted: halted,
		HaltApplied: halter.Ended(p) && halter.HaltApplied()})
}

// reopen locks a run, whose last bridge may still be ending its agents, and restores its state.
func (s *storage) reopen(run string) (*supervisor.State, error) {
	var resumed *supervisor.State
	restore := func(found *journal.Recovered) ([]byte, error) {
		state, snapshot, err := supervisor.Restore(found, supervisor.LogItems)
		resumed = &state
		return snapshot, err
	}
	opened, recovery, err := s.Open(run, lockTimeout, s.options, restore)
	var held *journal.HeldError
	if errors.As(err, &held) && held.Gone {
		// Its arbiter is dead, and its bridge has not ended in time.
		if n := proctree.Sweep(run, ""); n > 0 {
			s.notices.add("ended processes that still held the run's lock: %s", words.Count(n, "process"))
		}
		opened, recovery, err = s.Open(run, lockTimeout, s.options, restore)
	}
	var version *journal.VersionError
	switch _, ok := errors.AsType[*supervisor.VersionError](err); {
	case errors.As(err, &held):
		return nil, runstore.PlayedElsewhere(run, held.PID)
	case errors.As(err, &version), ok:
		return nil, command.Environmentf("run %s was written by another version of arbiter: %v; it was not changed",
			command.ShortID(run), err)
	case err != nil:
		return nil, command.Environmentf("run %s cannot be resumed: %v (its journal was not changed)",
			command.ShortID(run), err)
	}
	s.journal = opened
	runstore.TakeHalted(opened.Dir()) // it was for a process that is dead: who resumes a run wants its agents
	crashpoint.Here("resume.locked")
	// The last bridge may have held the run until just now. In that case it was spared when the strays of dead runs
	// were ended.
	if n := proctree.Sweep(run, ""); n > 0 {
		s.notices.add("ended processes that the previous process of this run left behind: %s", words.Count(n, "process"))
	}
	s.reportDamage(recovery)
	return resumed, nil
}

// reportDamage adds a notice about lost parts of the journal.
func (s *storage) reportDamage(recovery journal.Recovery) {
	for _, d := range recovery.Damage {
		if !d.Torn && !d.Mended { // a crash leaves a torn end, which has no accepted input
			aside := "could not be copied"
			if d.SetAside != "" {
				aside = "was copied to " + filepath.Join(s.journal.Dir(), d.SetAside)
			}
			s.notices.add("the journal was damaged: %s; the rest (%d bytes, %d whole records) %s", d.Reason, d.Bytes,
				d.Readable, aside)
		}
	}
	if recovery.MetaLost != "" {
		s.notices.add("the run's description was lost (%s) and created again", recovery.MetaLost)
	}
}

// confinement is the sandbox of a run's agents on this machine, as it was tried last. The zero value has none.
type confinement struct{ atomic.Pointer[confined] }

type confined struct {
	sandbox *bridge.SandboxConfig // nil: agents run without one
	reason  string                // why they have no sandbox although one was requested
	hosts   []string              // that agents can reach
	scratch bool                  // checks run on a copy of the workspace
}

// sandboxed can try a sandbox. *bridge.Client implements it.
type sandboxed interface {
	Sandbox(ctx context.Context, p bridge.SandboxParams) (bridge.SandboxResult, error)
}

// tried tries a sandbox. reason says why it does not hold; empty: it holds.
func tried(
	ctx context.Context, client sandboxed, p bridge.SandboxParams,
) (result bridge.SandboxResult, reason string) {
	ctx, cancel := context.WithTimeout(ctx, settings.SandboxTrial)
	defer cancel()
	result, err := client.Sandbox(ctx, p)
	switch {
	case err != nil:
		reason = "it could not be tried: " + err.Error()
	case !result.Holds:
		reason = result.Reason
	}
	return result, reason
}

// try tries the requested sandbox each time a bridge is started, and sets the result for the agents. mode is the value
// of --sandbox, and missing says why the sandbox is not available. If the run once had a sandbox, it does not continue
// without one. unsandboxed is the reason if the agents run without a sandbox.
func (c *confinement) try(
	ctx context.Context, client sandboxed, mode string, config bridge.SandboxConfig, missing string, o runconfig.Options,
	log *slog.Logger,
) (unsandboxed string, failed *input.BridgeFailed) {
	if mode == settings.SandboxOff {
		c.Store(nil)
		return "", nil
	}
	reason, result := missing, bridge.SandboxResult{}
	if reason == "" {
		result, reason = tried(ctx, client, bridge.SandboxParams{Config: config, CWD: o.CWD, Env: o.Env})
		log.Info("sandbox", "program", config.Program, "version", result.Version, "holds", reason == "", "reason",
			reason, "scratch", result.Scratch, "scratch_reason", result.ScratchReason)
	}
	had := c.now().sandbox != nil
	switch {
	case reason == "":
		c.Store(&confined{sandbox: &config, hosts: result.Hosts, scratch: result.Scratch})
		return "", nil
	case !had:
		c.Store(&confined{reason: reason})
		if mode != settings.SandboxOn {
			return reason, nil
		}
	}
	return "", &input.BridgeFailed{Category: bridge.CatSandbox,
		Message: "the sandbox does not hold, and no agent was started without it: " + reason}
}

func (c *confinement) now() confined {
	if now := c.Load(); now != nil {
		return *now
	}
	return confined{}
}
