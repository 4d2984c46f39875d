package host

// This part of the package has the bridges of a run on other hosts: it opens and watches them, tries their
// sandboxes, moves the work of agents between them and the repository of the run, and ends the processes
// there.

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/internal/git"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	workspaces "github.com/arbiter-cli/arbiter/internal/workspace"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
)

// Bridges has the bridges of a run on other hosts, by host name. It is safe for concurrent use.
type Bridges struct {
	Hosts       hosts.Config
	Debug       bool
	Options     func() runconfig.Options // current ones, with the sandbox of agents and the secrets of --env
	Handler     func(host string) bridge.Handler
	Input       *Sender
	Terminals   *Terminals
	Telemetry   *Exporter   // nil: no spans
	HaltApplied func() bool // the loop has applied the last halt
	Log         *slog.Logger

	watch sync.WaitGroup // waits for the goroutines that watch bridges

	mu      sync.Mutex
	present map[string]*hostBridge
	changed chan struct{} // closed at the next change; nil: no goroutine waits
}

// hostBridge is the bridge on another host. It exists as soon as its process starts, so that it can be closed.
type hostBridge struct {
	host   hosts.Host
	client *bridge.Client
	info   bridge.RemoteInfo // set once it is open
	open   bool
	works  sync.Map    // [bridge.WorkResult] by agent: the working directories there
	halted atomic.Bool // a halt ended it
}

// set makes a bridge the current one of a host.
func (b *Bridges) set(host string, h *hostBridge) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.present == nil {
		b.present = map[string]*hostBridge{}
	}
	b.present[host] = h
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// of returns the bridge of a host; nil: none was started.
func (b *Bridges) of(host string) *hostBridge {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.present[host]
}

// all returns the current bridges.
func (b *Bridges) all() []*hostBridge {
	b.mu.Lock()
	defer b.mu.Unlock()
	return slices.Collect(maps.Values(b.present))
}

// await returns the bridge of a host once it is open.
func (b *Bridges) await(ctx context.Context, host string) (*hostBridge, error) {
	for {
		b.mu.Lock()
		h := b.present[host]
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		if h != nil && h.open && h.alive() {
			return h, nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("host %s is out of reach: %w", host, context.Cause(ctx))
		}
	}
}

func (h *hostBridge) alive() bool {
	select {
	case <-h.client.Done():
		return false
	default:
		return true
	}
}

// Drop closes the bridge of a host, if there is one. watchHost reports its end.
func (b *Bridges) Drop(host string) {
	if h := b.of(host); h != nil {
		_ = h.client.Close()
	}
}

// Close closes the bridges of all hosts, and waits for the processes that carry them.
func (b *Bridges) Close() {
	var all sync.WaitGroup
	for _, h := range b.all() {
		all.Go(func() { _ = h.client.Close() }) // watchHost reports how it ended
	}
	all.Wait()
}

// inventoryTimeout bounds reading the inventory of a directory on a host.
const inventoryTimeout = 30 * time.Second

// Inventory asks the bridge of a host for the inventory of a directory there.
func (b *Bridges) Inventory(ctx context.Context, host, dir string) (bridge.InventoryResult, error) {
	h := b.of(host)
	if h == nil || !h.open {
		return bridge.InventoryResult{}, bridge.ErrClosed
	}
	ctx, cancel := context.WithTimeout(ctx, inventoryTimeout)
	defer cancel()
	return h.client.Inventory(ctx, bridge.InventoryParams{Dir: dir})
}

// FenceHost runs the `end` commands of the hosts on which an earlier process of a run may have left processes, and
// returns the hosts on which all of them have ended. resumed is the state of the run; nil: it is new. Call it
// before starting anything on other hosts. For the remaining hosts, the run waits until the lease ends.
func FenceHost(
	ctx context.Context, known hosts.Config, run string, resumed *supervisor.State, log *slog.Logger,
) (fenced []string) {
	if resumed == nil {
		return nil
	}
	if e := resumed.Ending; e != nil && e.Said && e.Status == contract.StatusComplete {
		return nil // a complete run ends all processes before it reports that
	}
	return atOnce(resumed.Lifecycle.MayStillRun(), func(name string) []string {
		host, ok := known.Find(name)
		if !ok {
			return nil
		}
		ended, err := EndBridge(ctx, host, run)
		if err != nil {
			log.Warn("ending what runs on a host failed", "host", name, "err", err)
		}
		if !ended {
			return nil
		}
		return []string{name}
	})
}

// atOnce calls do for several hosts at once, and returns all that it returned, sorted.
func atOnce(names []string, do func(host string) []string) (all []string) {
	results := make([][]string, len(names))
	var work sync.WaitGroup
	for i, host := range names {
		work.Go(func() { results[i] = do(host) })
	}
	work.Wait()
	all = slices.Concat(results...)
	slices.Sort(all)
	return all
}

var _ HaltedElsewhere = (*Bridges)(nil)

// Halt makes the bridges of all hosts stop everything, and then closes them. A host that does not answer is left to
// its lease, and its agents are reported as alive.
func (b *Bridges) Halt(ctx context.Context) {
	var all sync.WaitGroup
	for _, h := range b.all() {
		if !h.alive() {
			continue
		}
		h.halted.Store(true)
		all.Go(func() {
			if _, err := h.client.Shutdown(ctx, bridge.ShutdownParams{GraceMS: GraceMS}); err != nil {
				b.Log.Warn("a host did not stop its agents", "host", h.host.Name, "err", err)
			}
			b.Input.Go(func() { _ = h.client.Close() }) // watchHost reports how it ended
		})
	}
	all.Wait()
}

// Agents returns the agents on other hosts that have a process, as far as the run knows.
func (b *Bridges) Agents() (alive []string) {
	for _, a := range b.Input.loop.Snapshot().Agents {
		if a.Host != supervisor.LifecycleHere && a.HasProcess() && !b.stopped(a.Host) {
			alive = append(alive, a.ID+" @"+a.Host)
		}
	}
	return alive
}

// Lost returns the agents on lost hosts whose processes may not have ended yet.
func (b *Bridges) Lost() (lost []string) {
	s := b.Input.loop.Snapshot()
	for _, a := range s.Agents {
		if a.Host == supervisor.LifecycleHere {
			continue
		}
		if until := s.Lifecycle.Bridge(a.Host).Until; a.Alive() && !a.HasProcess() && time.Now().Before(until) {
			lost = append(lost, fmt.Sprintf("%s @%s (its host is out of reach; its lease ends at %s)", a.ID, a.Host,
				until.Local().Format("15:04:05")))
		}
	}
	return lost
}

// stopped reports whether it is certain that no process runs on a host.
func (b *Bridges) stopped(host string) bool {
	h := b.of(host)
	if h == nil {
		return true
	}
	_, certain := h.client.Stopped()
	return certain
}

// Open starts the bridge of a host. If the host has a queue, Open takes as long as the queue.
func (b *Bridges) Open(ctx context.Context, name string) (runloop.Opened, *input.BridgeFailed) {
	host, ok := b.Hosts.Find(name)
	if !ok {
		return runloop.Opened{}, &input.BridgeFailed{Category: bridge.CatHost,
			Message: "it is no longer configured: arbiter hosts add " + name}
	}
	b.Drop(name)
	options := b.Options()
	o := Opening{
		Host: host, Run: options.Run, Lease: options.Lease, Debug: b.Debug,
		Handler: b.Terminals.Tap(b.Handler(name)), Log: b.Log,
	}
	client, init, failed := o.Open(ctx, func(c *bridge.Client) {
		b.set(name, &hostBridge{host: host, client: c})
	})
	if failed == nil && init.Remote == nil {
		failed = &input.BridgeFailed{Category: bridge.CatCrash, Message: "the bridge there does not report its host"}
	}
	if failed != nil {
		b.Drop(name)
		return runloop.Opened{}, failed
	}
	if failed := b.trySandbox(ctx, name, client, *init.Remote); failed != nil {
		_ = client.Close()
		return runloop.Opened{}, failed
	}
	h := &hostBridge{host: host, client: client, info: *init.Remote, open: true}
	b.set(name, h)
	b.watch.Go(func() { b.watchHost(name, h) })
	b.Log.Info("bridge", "host", name, "arbiter", init.Version, "claude", init.Claude.Version, "path",
		init.Claude.Path, "dir", h.info.Dir, "namespace", h.info.Namespace)
	port := Port{Client: client, Terminals: b.Terminals, Options: b.Options(), Telemetry: b.Telemetry, far: h}
	return runloop.Opened{
		Port: hostPort{port}, Claude: init.Claude, Dir: h.info.Dir, Cores: h.info.Cores, Swept: h.info.Ended,
	}, nil
}

// watchHost reports to the loop when the bridge of a host has ended, and by when all processes that it started have
// ended.
func (b *Bridges) watchHost(name string, h *hostBridge) {
	<-h.client.Done()
	until, fenced := h.client.Stopped()
	if !fenced {
		var err error
		if fenced, err = EndBridge(context.Background(), h.host, b.Options().Run); err != nil {
			b.Log.Warn("ending what runs on a host failed", "host", name, "err", err)
		}
	}
	if fenced {
		until = time.Time{}
	}
	message := "the connection ended"
	err := h.client.Err()
	if err != nil {
		message = err.Error()
	}
	b.Input.loop.Put(input.BridgeLost{Host: name, Message: message, Until: until, Halted: h.halted.Load(),
		HaltApplied: b.HaltApplied()})
	if _, ok := errors.AsType[*bridge.ViolationError](err); ok {
		b.Input.loop.Put(input.BridgeFailed{Host: name, Category: bridge.CatHost, Message: message})
	}
}

// errParked is the error of an operation that does not wait for a parked host.
var errParked = errors.New("it is parked until a person has it tried again")

// untilParked returns a context that ends when a host is parked, at once if it is parked already. An operation that
// needs that host can block others: merges, for example, are done one after another. The caller calls release.
func (b *Bridges) untilParked(ctx context.Context, host string) (usable context.Context, release func()) {
	usable, cancel := context.WithCancelCause(ctx)
	hostEvents, end := b.Input.board.Subscribe(func(e contract.Event) bool {
		b, ok := e.Body.(contract.Host)
		return ok && b.Name == host
	})
	var watch sync.WaitGroup
	watch.Go(func() {
		for !b.Input.loop.Snapshot().Lifecycle.Bridge(host).Parked {
			select {
			case <-hostEvents:
			case <-usable.Done():
				return
			}
		}
		cancel(errParked)
	})
	return usable, func() {
		cancel(nil)
		end()
		watch.Wait()
	}
}

// lookTimeout bounds one request about paths on another host.
const lookTimeout = 10 * time.Second

// hostPort is the bridge on another host as the loop uses it: it knows that host's file system.
type hostPort struct{ Port }

// confine replaces the values of an agent's sandbox with those of the host.
func (h *hostBridge) confine(agent string, c *bridge.SandboxConfig) error {
	if h.info.Sandbox == "" {
		return &bridge.RPCError{Code: bridge.CodeUnsupported, Category: bridge.CatSandbox,
			Message: fmt.Sprintf("host %s has no sandbox: %s", h.host.Name, h.info.SandboxReason)}
	}
	c.Program, c.Hide = h.info.Sandbox, h.info.SandboxHide
	if work, ok := h.works.Load(agent); ok {
		c.Write = slices.Concat(c.Write, work.(bridge.WorkResult).Write)
	}
	return nil
}

// Files implements runloop.FileSystem.
func (p hostPort) Files() (string, runloop.Lookup) { return p.far.info.Home, p.look }

func (p hostPort) look(paths []string) ([]runloop.Found, error) {
	ctx, cancel := context.WithTimeout(context.Background(), lookTimeout)
	defer cancel()
	r, err := p.Client.Resolve(ctx, bridge.ResolveParams{Paths: paths})
	if err != nil {
		return nil, err
	}
	found := make([]runloop.Found, 0, len(r.Paths))
	for _, x := range r.Paths {
		f := runloop.Found{Path: x.Path}
		if x.Error != "" {
			f.Err = fmt.Errorf("host %s: %s", p.far.host.Name, x.Error)
		}
		found = append(found, f)
	}
	return found, nil
}

// RemoveDirs removes the directories of Orchestrators on other hosts after a complete run, and returns a message
// for each directory that had to stay. No agent works in them any more, and the bridges are still open.
func (b *Bridges) RemoveDirs(ctx context.Context, files *runstore.Files) (messages []string) {
	s := b.Input.loop.Snapshot()
	agents := map[string][]string{}
	for _, a := range s.Agents {
		if a.Host != supervisor.LifecycleHere && a.Own.Branch != "" {
			agents[a.Host] = append(agents[a.Host], a.ID)
		}
	}
	return atOnce(slices.Collect(maps.Keys(agents)), func(host string) (messages []string) {
		h := b.of(host)
		for _, agent := range agents[host] {
			where := fmt.Sprintf("in %s on host %s", s.DirOf(agent), host)
			text := fmt.Sprintf("the directory of %s was left %s, which is out of reach", agent, where)
			if h != nil && h.open && h.alive() {
				text = files.RemoveFar(ctx, agent, where)
			}
			if text != "" {
				messages = append(messages, text)
			}
		}
		return messages
	})
}

// trySandbox tries the sandbox on a host, if agents have a sandbox here. It refuses a host whose sandbox is missing
// or does not hold, so that no agent loses its sandbox by its placement.
func (b *Bridges) trySandbox(
	ctx context.Context, name string, client sandboxed, info bridge.RemoteInfo,
) *input.BridgeFailed {
	o := b.Options()
	if o.Sandbox == nil {
		return nil
	}
	reason, version := info.SandboxReason, ""
	if info.Sandbox != "" {
		var result bridge.SandboxResult
		result, reason = tried(ctx, client, bridge.SandboxParams{CWD: info.Dir,
			Config: bridge.SandboxConfig{Program: info.Sandbox, Hide: info.SandboxHide, Network: o.Sandbox.Network,
				Hosts: o.Sandbox.Hosts}, Env: o.Env})
		version = result.Version
	}
	b.Log.Info("sandbox", "host", name, "program", info.Sandbox, "version", version, "holds", reason == "", "reason",
		reason)
	if reason == "" {
		return nil
	}
	return &input.BridgeFailed{Category: bridge.CatSandbox, Message: fmt.Sprintf("host %s: the sandbox does not hold "+
		"there, and no agent was started without it: %s; install bubblewrap there, or use --sandbox off", name, reason)}
}

func (h *hostBridge) push(ctx context.Context, link RemoteRepo, commit string) error {
	return h.transfer(ctx, func(ctx context.Context) error {
		_, err := link.Push(ctx, commit)
		return err
	})
}

// Git opens a separate connection to a host for each transfer. It can break while the bridge stays up.
const (
	transferAttempts = 4
	transferPause    = time.Second // before the second attempt; it doubles
)

// transfer moves commits to or from a host, as [retried] does. If the bridge ends, it returns an error that wraps
// [bridge.ErrClosed].
func (h *hostBridge) transfer(ctx context.Context, move func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	var watch sync.WaitGroup
	watch.Go(func() {
		select {
		case <-h.client.Done():
			cancel(bridge.ErrClosed)
		case <-ctx.Done():
		}
	})
	defer watch.Wait()
	defer cancel(nil)
	err := retried(ctx, move)
	if ctx.Err() != nil && errors.Is(context.Cause(ctx), bridge.ErrClosed) {
		return fmt.Errorf("host %s: %w", h.host.Name, bridge.ErrClosed)
	}
	return err
}

// retried calls move again after a broken connection, and at once if another transfer moved the same branch
// meanwhile: the merge of an agent's work and the snapshot of its turn fetch at the same time.
func retried(ctx context.Context, move func(context.Context) error) error {
	pause := transferPause
	for attempt := 1; ; attempt++ {
		err := move(ctx)
		switch {
		case ctx.Err() != nil, err == nil, attempt == transferAttempts, errors.Is(err, ErrNoBranch),
			errors.Is(err, ErrTooLarge):
			return err
		case errors.Is(err, workspaces.ErrMoved):
			continue
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(pause):
			pause *= 2
		}
	}
}

var _ runstore.FarFiles = (*Bridges)(nil)

// IsRemote implements [runstore.FarFiles].
func (b *Bridges) IsRemote(agent string) bool { return b.agent(agent).Host != supervisor.LifecycleHere }

func (b *Bridges) agent(id string) supervisor.Agent {
	a, _ := b.Input.loop.Snapshot().Agent(id)
	return a
}

// reach returns the bridge of an agent's host, the link to the repository there, and the number of the agent.
func (b *Bridges) reach(
	ctx context.Context, repo *workspaces.Repo, agent string,
) (*hostBridge, RemoteRepo, int, error) {
	n, err := runstore.Orchestrator(agent)
	if err != nil {
		return nil, RemoteRepo{}, 0, err
	}
	host := b.agent(agent).Host
	usable, release := b.untilParked(ctx, host)
	defer release()
	h, err := b.await(usable, host)
	if err != nil {
		return nil, RemoteRepo{}, 0, err
	}
	url, err := h.host.GitURL(h.info.Cache, git.Serving()...)
	o := Opening{Host: h.host, Run: b.Options().Run} // its mark: a later process of the run finds a link that hangs
	return h, RemoteRepo{Repo: repo, URL: url, Env: o.env()}, n, err
}

// Prepare implements [runstore.FarFiles].
func (b *Bridges) Prepare(
	ctx context.Context, repo *workspaces.Repo, p runconfig.Place, base string,
) (runconfig.Worktree, error) {
	h, link, n, err := b.reach(ctx, repo, p.Agent)
	if err != nil {
		return runconfig.Worktree{}, err
	}
	if err := h.push(ctx, link, base); err != nil {
		return runconfig.Worktree{}, err
	}
	work, err := h.client.PrepareWork(ctx, bridge.PrepareWorkParams{
		Orchestrator: n, Generation: p.Generation, Kind: p.Kind, Base: base, Subdir: repo.Prefix,
	})
	if err != nil {
		return runconfig.Worktree{}, err
	}
	h.works.Store(p.Agent, work)
	return runconfig.Worktree{Branch: work.Branch, Base: work.Base, Isolation: work.Kind}, nil
}

// Bring implements [runstore.FarFiles].
func (b *Bridges) Bring(
	ctx context.Context, repo *workspaces.Repo, agent, message string,
) (work runstore.Brought, err error) {
	err = throughLosses(func() error {
		own := b.agent(agent).Own
		work = runstore.Brought{Worktree: workspaces.Worktree{Branch: own.Branch, Base: own.Base}}
		h, link, n, err := b.reach(ctx, repo, agent)
		if err != nil {
			return err
		}
		done, err := h.client.CommitWork(ctx, bridge.CommitWorkParams{Orchestrator: n, Message: message})
		if err != nil {
			return err
		}
		work.Orchestrator, work.Branch = n, done.Branch
		err = h.transfer(ctx, func(ctx context.Context) (err error) {
			work.Head, err = link.Fetch(ctx, "refs/heads/"+done.Branch)
			return err
		})
		if err != nil {
			return err
		}
		made, err := repo.Commit(ctx, work.Head) // read from this repository: do not trust the host's answer
		work.Tree = made.Tree
		return err
	})
	return work, err
}

// Remove implements [runstore.FarFiles].
func (b *Bridges) Remove(ctx context.Context, repo *workspaces.Repo, agent, head string) error {
	h, _, n, err := b.reach(ctx, repo, agent)
	if err != nil {
		return err
	}
	_, err = h.client.RemoveWork(ctx, bridge.RemoveWorkParams{Orchestrator: n, Head: head})
	return err
}

// Give implements [runstore.FarFiles].
func (b *Bridges) Give(ctx context.Context, repo *workspaces.Repo, agent, commit string) error {
	return throughLosses(func() error {
		h, link, _, err := b.reach(ctx, repo, agent)
		if err != nil {
			return err
		}
		return h.push(ctx, link, commit)
	})
}

// throughLosses calls do, and calls it again with the next bridge when the bridge was lost meanwhile, until ctx
// ends.
func throughLosses(do func() error) error {
	for {
		if err := do(); !errors.Is(err, bridge.ErrClosed) {
			return err
		}
	}
}
