package host

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// This part of the package serves the control socket of a run: it answers clients from the run's snapshots,
// and passes their requests on to its loop, terminals, subscribers and halter.

// lateClients is how long clients that connect while a run ends may take to receive how it ended. Others have
// disconnected by then, or do not read.
const lateClients = 200 * time.Millisecond

// ControlServer serves the control socket. Create one with [ServeControl].
type ControlServer struct {
	server *control.Server
	socket *Listener
	log    *slog.Logger
}

// ServeControl listens in the directory of a run. The caller closes the server when the run has ended.
func ServeControl(dir string, s *service, log *slog.Logger) (*ControlServer, error) {
	l, err := Listen(dir, control.SocketName)
	if err != nil {
		return nil, err
	}
	return &ControlServer{control.Serve(l.UnixListener, s, log), l, log}, nil
}

// Close closes the connections, after clients that connected late had time to receive the end of the run. Attached
// sessions were given back when the run ended. It does nothing on a nil server.
func (s *ControlServer) Close() {
	if s == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), lateClients)
	defer cancel()
	if err := errors.Join(s.server.Shutdown(ctx), s.socket.Close()); err != nil {
		s.log.Warn("control", "error", err)
	}
}

// service answers the clients of a run. It implements [control.Service].
type service struct {
	*Group    // of the clients
	run, cwd  string
	terminals *Terminals
	input     *Sender
	halter    *Halter
	warned    atomic.Bool // whether the human was warned about an agent
}

var _ control.Service = (*service)(nil)

// channelOf returns the input channel of a client.
func channelOf(frontend string) string {
	if frontend == input.ChannelScreen {
		return input.ChannelScreen
	}
	return input.ChannelSocket
}

func (s *service) Command(ctx context.Context, line json.RawMessage) (control.CommandResult, error) {
	c := contract.ParseCommand(line)
	r := control.CommandResult{Ref: c.Ref}
	var err error
	switch b := c.Body.(type) {
	case contract.Malformed:
		r.Message = b.Problem
	case contract.Attach:
		r.Message = "attach has a method of its own, which carries the terminal"
	case contract.Halt:
		halted := s.halter.Halt(input.ChannelSocket)
		r.Accepted, r.Message = len(halted.Left) == 0, "halted ("+halted.How+")"
	default:
		c.Ref = s.input.NewRef() // several clients may use the same one
		r.Accepted, r.Message, err = s.input.Ask(ctx, c, input.ChannelSocket)
	}
	return r, err
}

func (s *service) Halt(_ context.Context, p control.HaltParams) control.HaltResult {
	return s.halter.Halt(channelOf(p.Frontend))
}

func (s *service) State() (control.StateResult, error) {
	raw, err := jsonl.Marshal(s.input.loop.Snapshot())
	if err != nil {
		return control.StateResult{}, fmt.Errorf("encode state: %w", err)
	}
	return control.StateResult{Version: supervisor.StateVersion, State: raw}, nil
}

func (s *service) Put(ctx context.Context, p control.PutParams) error {
	c, channel := contract.ParseCommand(p.Command), channelOf(p.Frontend)
	switch c.Body.(type) {
	case contract.Halt:
		s.input.Go(func() { s.halter.HaltAs(c, channel) })
		return nil
	case contract.Say: // a run that ends may not look at what it has received
		_, _, err := s.input.Ask(ctx, c, channel)
		return err
	}
	return s.input.Put(ctx, c, channel)
}

func (s *service) Stop(_ context.Context, p control.StopParams) error {
	switch p.Signal {
	case "INT", "TERM", "HUP":
	default:
		return fmt.Errorf("signal %.20q: use INT, TERM or HUP", p.Signal)
	}
	if !s.input.loop.Put(input.Signal{Signal: p.Signal, Fast: p.Fast, ByClient: true}) {
		return runstore.ErrRunOver
	}
	return nil
}

// InputEnded implements [control.Service]. It does nothing while other clients are subscribed, because they may
// answer.
func (s *service) InputEnded(context.Context) error {
	if s.Count() > 1 {
		return nil
	}
	if !s.input.loop.Put(input.InputEnded{}) {
		return runstore.ErrRunOver
	}
	return nil
}

// Refused implements [control.Service]: it warns the human, once, about the agent whose process was refused.
func (s *service) Refused(p control.Peer, method string) {
	if s.warned.Swap(true) {
		return
	}
	what := "an unknown request"
	if method != "" {
		what = fmt.Sprintf("%.40q", method)
	}
	s.input.Notice(p.Agent, fmt.Sprintf("%s asked the control socket for %s and was refused: %s. Agents may not "+
		"use it. Further attempts are only logged.", p, what, p.Problem))
}

// Status implements [control.Service].
func (s *service) Status() any {
	st := s.input.loop.Snapshot()
	waits := append([]supervisor.InboxItem{}, supervisor.InboxOf(st)...)
	for i := range waits {
		waits[i].Since = waits[i].Since.UTC()
	}
	status := runstore.LiveStatus{LogLines: s.start.Prev.N, Permissions: st.Options.Permissions,
		Ending: st.Ending != nil && s.Last() > 0} // before its first event, a resumed run has its last end
	status.LiveReport = runstore.LiveReport{
		Run: s.run, CWD: s.cwd, PID: os.Getpid(), Title: command.Title(st.Task.Text),
		Began: st.Budget.Runtime.Began.UTC(), Phase: string(st.Task.Phase),
		Does: eventtext.RunState(st, time.Now()), Paused: st.Paused, Halted: st.Halted,
		Seq: s.Last(), CostUSD: contract.RoundUSD(st.Spent()), Agents: []runstore.AgentStatus{}, Inbox: waits,
		Subagents: st.Budget.Subagents, MaxSubagents: st.Options.MaxSubagentsTotal, Rehearsal: st.Options.Rehearsal,
	}
	for _, a := range st.Agents {
		most := 0
		if len(a.Subagents) > 0 {
			most = st.Options.MaxSubagents
		}
		does, since := eventtext.AgentState(st, a, waits)
		status.Agents = append(status.Agents, runstore.AgentStatus{
			ID: a.ID, Name: a.Name, Mode: a.Mode, Status: a.StatusText(), Does: does, Since: since.UTC(), Session: a.SessionID,
			Context: a.Context.Pct, Cost: contract.RoundUSD(a.Spent()), Host: a.Host, Make: a.Make,
			Lacks: a.Lacks, ContextUnknown: a.Make != "" && a.Context.Window == 0, CostUnknown: a.CostUnknown,
			Attached: s.terminals.Holder(a.ID), Subagents: len(a.Subagents), MaxSubagents: most,
		})
		if last := &status.Agents[len(status.Agents)-1]; a.Fuse.USD > 0 {
			last.Fuse, last.FuseSpent = contract.RoundUSD(a.Fuse.USD), contract.RoundUSD(a.FuseSpent())
		}
	}
	return status
}

// This part of the package puts inputs into the loop of a run for callers that do not wait until the loop has
// received them: clients of the control socket, terminals, and the process itself.

// InputLoop is the part of a run's loop that its services need. *runloop.Loop implements it.
type InputLoop interface {
	Put(input.Body) bool // waits until the loop receives it; false: the run is over
	Event(bridge.Event)
	Snapshot() *supervisor.State
	Done() <-chan struct{}
}

// Sender puts inputs into a loop. It is safe for concurrent use. Its owner calls [Sender.Wait] when the loop has ended.
type Sender struct {
	loop  InputLoop
	board *Board // of the run's events
	group
	refs atomic.Uint64
}

// NewSender makes a sender for a loop whose events go to board.
func NewSender(loop InputLoop, board *Board) *Sender { return &Sender{loop: loop, board: board} }

// NewRef returns a new ref for a command. Scripts do not use such refs.
func (s *Sender) NewRef() string { return "socket-" + strconv.FormatUint(s.refs.Add(1), 10) }

// InputAnswers reports whether an event answers the command with a ref: it was accepted or rejected.
func InputAnswers(e contract.Event, ref string) bool {
	switch b := e.Body.(type) {
	case contract.Accepted:
		return b.Ref == ref
	case contract.Rejected:
		return b.Ref == ref
	}
	return false
}

// Later sends an input without waiting. The channel receives whether the loop got it.
func (s *Sender) Later(b input.Body) <-chan bool {
	taken := make(chan bool, 1)
	s.Go(func() { taken <- s.loop.Put(b) }) // until the loop receives it, or is over
	return taken
}

// Put sends a command and waits until the loop has received it or ctx ends. In the latter case the loop still gets
// it.
func (s *Sender) Put(ctx context.Context, c contract.Command, channel string) error {
	select {
	case ok := <-s.Later(input.Command{Command: c, Channel: channel}):
		if !ok {
			return runstore.ErrRunOver
		}
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// Ask sends a command and waits for the answer to its ref.
func (s *Sender) Ask(
	ctx context.Context, c contract.Command, channel string,
) (accepted bool, message string, err error) {
	answers, end := s.board.Subscribe(func(e contract.Event) bool { return InputAnswers(e, c.Ref) })
	defer end()
	if err := s.Put(ctx, c, channel); err != nil {
		return false, "", err
	}
	var e contract.Event
	select {
	case e = <-answers:
	case <-ctx.Done():
		return false, "", context.Cause(ctx)
	case <-s.loop.Done():
		select {
		case e = <-answers: // it came just before
		default:
			return false, "", runstore.ErrRunOver
		}
	}
	if b, ok := e.Body.(contract.Accepted); ok {
		return true, b.Message, nil
	}
	return false, e.Body.(contract.Rejected).Message, nil
}

// Notice notifies the human of something about an agent, as if its bridge had reported it. If the run does not have
// the agent, the notice is about the Arbiter.
func (s *Sender) Notice(agent, text string) {
	ref := bridge.AgentRef{ID: contract.Arbiter}
	for _, a := range s.loop.Snapshot().Agents {
		if a.ID == agent || ref.Generation == 0 && a.ID == ref.ID {
			ref = a.AgentRef
		}
	}
	s.Go(func() { s.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Notice{Text: text}}) })
}

// group is a set of goroutines that wait for a loop while their callers continue. Each goroutine ends at the latest
// when the loop ends. Then the owner of the group waits for them.
type group struct {
	mu   sync.Mutex
	over bool
	work sync.WaitGroup
}

// Go runs f in a goroutine of the group. After [group.Wait] was called it runs f at once: the loop has ended, so f
// does not wait.
func (g *group) Go(f func()) {
	g.mu.Lock()
	if g.over {
		g.mu.Unlock()
		f()
		return
	}
	g.work.Go(f)
	g.mu.Unlock()
}

// Wait returns when all goroutines have ended. It may be called more than once.
func (g *group) Wait() {
	g.mu.Lock()
	g.over = true
	g.mu.Unlock()
	g.work.Wait()
}

// This part of the package adapts a bridge to the interface that the loop of a run uses. It adds to requests
// that start processes: the secrets that the journal does not hold, the parent span of the trace, and the
// size of the terminal.

// Port is a runloop.Port: a bridge, plus what the run adds to its requests.
type Port struct {
	*bridge.Client
	Terminals *Terminals
	Hooks     string            // the socket for sessions in terminals; "" for none
	Options   runconfig.Options // with the secrets of --env and --arbiter-env
	Telemetry *Exporter         // nil: no spans
	far       *hostBridge       // of another host; nil: the bridge is on this machine
}

// adapt gives the environment of a process its secrets and, if an agent has the process, the variable that makes the
// agent's span the parent of the process's spans. It gives a sandbox, if there is one, the values of another host.
func (p Port) adapt(ref bridge.AgentRef, env *map[string]string, sandbox **bridge.SandboxConfig) error {
	given := p.Options.Env
	if ref.ID == contract.Arbiter {
		given = p.Options.EnvOfArbiter()
	}
	*env = settings.RevealedSecrets(*env, given)
	if p.Telemetry != nil && ref.ID != "" {
		*env = with(*env, traceparent, p.Telemetry.trace.Traceparent(ref.ID, ref.Generation))
	}
	if p.far == nil || *sandbox == nil {
		return nil
	}
	c := **sandbox
	*sandbox = &c
	return p.far.confine(ref.ID, &c)
}

// PTYOpen implements runloop.Port.
func (p Port) PTYOpen(ctx context.Context, params bridge.PTYOpenParams) (r bridge.PTYOpenResult, err error) {
	if err = p.adapt(params.AgentRef, &params.Config.Env, &params.Config.Sandbox); err != nil {
		return r, err
	}
	h := p.Terminals.Of(params.ID)
	if h != nil {
		size := h.Size()
		params.Cols, params.Rows = size.Cols, size.Rows
		if params.Term == "" {
			params.Term = h.term
		}
	}
	if c := params.Config.Sandbox; c != nil && p.Hooks != "" {
		confined := *c // its hooks connect to the socket of this process
		confined.Reach = append(slices.Clone(c.Reach), p.Hooks)
		params.Config.Sandbox = &confined
	}
	r, err = p.Client.PTYOpen(ctx, params)
	if err == nil && h != nil {
		h.Opened(ctx, p.Client, params)
	}
	return r, err
}

// Spawn implements runloop.Port.
func (p Port) Spawn(ctx context.Context, params bridge.SpawnParams) (r bridge.SpawnResult, err error) {
	if err = p.adapt(params.AgentRef, &params.Config.Env, &params.Config.Sandbox); err == nil {
		r, err = p.Client.Spawn(ctx, params)
	}
	return r, err
}

// Check implements runloop.Port.
func (p Port) Check(ctx context.Context, params bridge.CheckParams) (r bridge.CheckResult, err error) {
	if err = p.adapt(bridge.AgentRef{}, &params.Env, &params.Sandbox); err == nil {
		r, err = p.Client.Check(ctx, params)
	}
	return r, err
}

// Inspect implements runloop.Port.
func (p Port) Inspect(ctx context.Context, params bridge.InspectParams) (r bridge.InspectResult, err error) {
	if err = p.adapt(bridge.AgentRef{}, &params.Env, &params.Sandbox); err == nil {
		r, err = p.Client.Inspect(ctx, params)
	}
	return r, err
}

// traceparent is the environment variable that names the parent span of a process's spans.
const traceparent = "TRACEPARENT"

// with returns a copy of an environment with one more variable.
func with(env map[string]string, name, value string) map[string]string {
	more := map[string]string{}
	maps.Copy(more, env)
	more[name] = value
	return more
}

// This file stops all agents of a run, even if the run's loop or its bridge does not answer: it asks the
// loop, then the bridges, and finally kills the processes that have the mark of the run.

const (
	// haltByLoop is how long the run's loop has to stop its agents, and haltByBridge how long the bridge has after
	// that. Then every process with the run's mark is killed.
	haltByLoop   = 1500 * time.Millisecond
	haltByBridge = 3 * time.Second
	haltLook     = 25 * time.Millisecond
)

// GraceMS is how long a bridge waits for agents that it stops for a halt, in milliseconds.
const GraceMS = 200

// Halter halts a run. It is safe for concurrent use.
type Halter struct {
	ID        string // of the run
	Input     *Sender
	Bridge    func() *bridge.Client // of this machine; nil while there is none
	Elsewhere HaltedElsewhere
	Log       *slog.Logger

	turn      sync.Mutex                    // one halt at a time
	bridgePID atomic.Int64                  // of the current bridge of this machine
	ended     atomic.Pointer[bridge.Client] // the bridge that the last halt ended
	before    atomic.Int64                  // the run's Halts when that halt began
}

// HaltedElsewhere stops and lists the agents of a run on other hosts.
type HaltedElsewhere interface {
	Halt(ctx context.Context) // asks the bridges there to stop everything
	Agents() []string         // agents that have a process, as far as the run knows
	Lost() []string           // agents on lost hosts that may still have a process
}

// Ended reports whether a halt ended this bridge of this machine.
func (h *Halter) Ended(c *bridge.Client) bool { return h.ended.Load() == c }

// HaltApplied reports whether the run's loop has applied the last halt.
func (h *Halter) HaltApplied() bool { return h.Input.loop.Snapshot().Halts > int(h.before.Load()) }

// Halt stops every agent. It returns within about ten seconds. The run remains live, and `continue` starts the
// agents again.
func (h *Halter) Halt(channel string) control.HaltResult {
	return h.HaltAs(contract.Command{Ref: h.Input.NewRef(), Body: contract.Halt{}}, channel)
}

// HaltAs is like Halt, for a command that the run answers.
func (h *Halter) HaltAs(c contract.Command, channel string) control.HaltResult {
	h.turn.Lock()
	defer h.turn.Unlock()
	loop := h.Input.loop
	before := loop.Snapshot().Halts
	h.before.Store(int64(before))
	queued := h.Input.Later(input.Command{Command: c, Channel: channel})
	result := control.HaltResult{How: "loop"}
	ctx, cancel := context.WithTimeout(context.Background(), haltByLoop)
	defer cancel()
	continued := func() bool { // a client has continued the run in the meantime
		s := loop.Snapshot()
		return s.Halts > before && !s.Halted
	}
	halted := func() bool { return loop.Snapshot().Halted && len(h.Elsewhere.Agents()) == 0 }
	if !h.awaitStill(ctx, halted, continued) && !continued() {
		result.How, result.Swept = h.haltBridge()
	}
	select {
	case <-queued:
	case <-time.After(haltLook):
	}
	result.Halted = loop.Snapshot().Halted
	result.Left = slices.Concat(h.aliveHere(), h.Elsewhere.Agents(), h.Elsewhere.Lost())
	h.Log.Warn("halted", "by", channel, "how", result.How, "swept", result.Swept, "left", result.Left, "told",
		result.Halted)
	return result
}

// OnStdin halts the run for a command `halt` on stdin, without waiting for a loop that may be stuck. It returns
// false for any other command, and after the end of the run.
func (h *Halter) OnStdin(c contract.Command) bool {
	if _, ok := c.Body.(contract.Halt); !ok {
		return false
	}
	select {
	case <-h.Input.loop.Done():
		return false // nothing is left to stop
	default:
	}
	h.Input.Go(func() { h.HaltAs(c, input.ChannelStdin) })
	return true
}

// haltBridge makes the bridge stop everything, and kills it if it does not. After a halt, a bridge starts nothing
// any more, so it is ended as well, and a new bridge follows.
func (h *Halter) haltBridge() (how string, swept int) {
	ctx, cancel := context.WithTimeout(context.Background(), haltByBridge)
	defer cancel()
	var elsewhere sync.WaitGroup
	elsewhere.Go(func() { h.Elsewhere.Halt(ctx) })
	defer elsewhere.Wait()
	client := h.Bridge()
	switch {
	case h.Input.loop.Snapshot().Halted && len(h.aliveHere()) == 0:
		return "loop", 0 // only other hosts are still awaited
	case client == nil:
		return "bridge", 0
	}
	h.ended.Store(client)
	_, err := client.Shutdown(ctx, bridge.ShutdownParams{GraceMS: GraceMS})
	if err == nil && h.awaitStill(ctx, func() bool { return true }, func() bool { return false }) {
		h.Input.Go(func() { _ = client.Close() }) // the watch of the bridge reports how it ended
		return "bridge", 0
	}
	// The bridge has the mark, too. Processes on other hosts are stopped by the bridges there.
	swept = proctree.SweepMarked(proctree.Mark{Run: h.ID, Bridge: LocalBridge})
	h.Input.Go(func() { _ = client.Close() })
	return "killed", swept
}

// awaitStill waits until no agent has a process here and the condition `and` holds. It gives up when ctx ends or
// when unwanted returns true.
func (h *Halter) awaitStill(ctx context.Context, and, unwanted func() bool) bool {
	for {
		switch {
		case and() && len(h.aliveHere()) == 0:
			return true
		case unwanted():
			return false
		}
		select {
		case <-ctx.Done():
			return false
		case <-time.After(haltLook):
		}
	}
}

// aliveHere returns the run's processes on this host, except the bridge.
func (h *Halter) aliveHere() (alive []string) {
	for _, p := range proctree.SurvivorsMarked(proctree.Mark{Run: h.ID, Bridge: LocalBridge}) {
		if int64(p.PID) != h.bridgePID.Load() {
			alive = append(alive, fmt.Sprintf("%s (%d)", p.Name, p.PID))
		}
	}
	return alive
}
