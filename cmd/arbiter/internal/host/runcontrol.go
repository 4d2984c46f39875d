package host

// This part of the package serves the control socket of a run: it answers clients from the run's snapshots,
// and passes their requests on to its loop, terminals, subscribers and halter.

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
)

// lateClients is how long clients that connect while a run ends may take to receive how it ended. Others have
// disconnected by then, or do not read.
const lateClients = 200 * time.Millisecond

// ControlRun is the run that clients talk to.
type ControlRun struct {
	ID, CWD string
	Loop    InputLoop
	Input   *Sender
	Clients *Group
	Opener  Opener
	Halter  *Halter
}

// ControlServer serves the control socket. Create one with [ServeControl].
type ControlServer struct {
	server *control.Server
	socket *Listener
	log    *slog.Logger
}

// ServeControl listens in the directory of a run. The caller closes the server when the run has ended.
func ServeControl(dir string, run ControlRun, log *slog.Logger) (*ControlServer, error) {
	l, err := Listen(dir, control.SocketName)
	if err != nil {
		return nil, err
	}
	return &ControlServer{control.Serve(l.UnixListener, &service{run: run}, log), l, log}, nil
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
	run    ControlRun
	warned atomic.Bool // whether the human was warned about an agent
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
	switch b := c.Body.(type) {
	case contract.Malformed:
		return control.CommandResult{Ref: c.Ref, Message: b.Problem}, nil
	case contract.Attach:
		return control.CommandResult{Ref: c.Ref, Message: "attach has a method of its own, which carries the terminal"},
			nil
	case contract.Halt:
		r := s.run.Halter.Halt(input.ChannelSocket)
		return control.CommandResult{Ref: c.Ref, Accepted: len(r.Left) == 0, Message: "halted (" + r.How + ")"}, nil
	}
	accepted, message, err := s.run.Input.Ask(ctx, c, input.ChannelSocket)
	if err != nil {
		return control.CommandResult{}, err
	}
	return control.CommandResult{Ref: c.Ref, Accepted: accepted, Message: message}, nil
}

// Attach implements [control.Service].
func (s *service) Attach(
	ctx context.Context, who string, p control.AttachParams, progress func(string),
) (control.Attachment, error) {
	channel := channelOf(p.Frontend)
	if channel == input.ChannelScreen {
		who = "the screen"
	}
	a, err := s.run.Opener.Attach(ctx, channel, who, p, progress)
	if err != nil {
		return nil, err
	}
	return a, nil
}

func (s *service) Halt(_ context.Context, p control.HaltParams) control.HaltResult {
	return s.run.Halter.Halt(channelOf(p.Frontend))
}

func (s *service) State() (control.StateResult, error) {
	raw, err := jsonl.Marshal(s.run.Loop.Snapshot())
	if err != nil {
		return control.StateResult{}, fmt.Errorf("encode state: %w", err)
	}
	return control.StateResult{Version: supervisor.StateVersion, State: raw}, nil
}

func (s *service) Put(ctx context.Context, p control.PutParams) error {
	c, channel := contract.ParseCommand(p.Command), channelOf(p.Frontend)
	if _, halt := c.Body.(contract.Halt); halt {
		s.run.Input.Go(func() { s.run.Halter.HaltAs(c, channel) })
		return nil
	}
	return s.run.Input.Put(ctx, c, channel)
}

func (s *service) Stop(_ context.Context, p control.StopParams) error {
	switch p.Signal {
	case "INT", "TERM", "HUP":
	default:
		return fmt.Errorf("signal %.20q: use INT, TERM or HUP", p.Signal)
	}
	if !s.run.Loop.Put(input.Signal{Signal: p.Signal, Fast: p.Fast, ByClient: true}) {
		return runstore.ErrRunOver
	}
	return nil
}

// InputEnded implements [control.Service]. It does nothing while other clients are subscribed, because they may
// answer.
func (s *service) InputEnded(context.Context) error {
	if s.run.Clients.Count() > 1 {
		return nil
	}
	if !s.run.Loop.Put(input.InputEnded{}) {
		return runstore.ErrRunOver
	}
	return nil
}

func (s *service) Subscribe(ctx context.Context, p control.SubscribeParams, send func(any) error) {
	s.run.Clients.Subscribe(ctx, p, send)
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
	s.run.Input.Notice(p.Agent, fmt.Sprintf("%s asked the control socket for %s and was refused: %s. Agents may not "+
		"use it. Further attempts are only logged.", p, what, p.Problem))
}

func (s *service) Status() control.Status {
	st := s.run.Loop.Snapshot()
	status := control.Status{
		Run: s.run.ID, CWD: s.run.CWD, PID: os.Getpid(), Title: command.Title(st.Task.Text),
		Began: st.Budget.Runtime.Began.UTC(), Phase: string(st.Task.Phase),
		Does: eventtext.RunState(st, time.Now()), Paused: st.Paused, Halted: st.Halted,
		Seq: s.run.Clients.Last(), Cost: contract.RoundUSD(st.Spent()), Agents: []control.AgentStatus{},
		Subagents: st.Budget.Subagents, MaxSubagents: st.Options.MaxSubagentsTotal,
		Rehearsal: st.Options.Rehearsal, LogLines: s.run.Clients.LogLines(), Permissions: st.Options.Permissions,
	}
	waits := supervisor.InboxOf(st)
	for _, a := range st.Agents {
		most := 0
		if len(a.Subagents) > 0 {
			most = st.Options.MaxSubagents
		}
		status.Agents = append(status.Agents, control.AgentStatus{
			ID: a.ID, Name: a.Name, Mode: a.Mode, Status: a.StatusText(),
			Does: eventtext.AgentState(st, a, waits), Since: a.Since.UTC(), Session: a.SessionID,
			Context: a.Context.Pct, Cost: contract.RoundUSD(a.Spent()), Host: a.Host, Make: a.Make,
			Lacks: a.Lacks, ContextUnknown: a.Make != "" && a.Context.Window == 0, CostUnknown: a.CostUnknown,
			Attached: s.run.Opener.Terminals.Holder(a.ID), Subagents: len(a.Subagents), MaxSubagents: most,
		})
		if last := &status.Agents[len(status.Agents)-1]; a.Fuse.USD > 0 {
			last.Fuse, last.FuseSpent = contract.RoundUSD(a.Fuse.USD), contract.RoundUSD(a.FuseSpent())
		}
	}
	status.Inbox = inboxItems(waits)
	return status
}

// inboxItems returns the items that wait for a human, in the form for clients of the socket.
func inboxItems(waits []supervisor.InboxItem) []control.InboxItem {
	items := append([]supervisor.InboxItem{}, waits...)
	for i := range items {
		items[i].Since = items[i].Since.UTC()
	}
	var list []control.InboxItem // the same JSON
	raw, err := json.Marshal(items)
	if err = errors.Join(err, json.Unmarshal(raw, &list)); err != nil {
		panic(err) // our own types, from parsed input
	}
	return list
}
