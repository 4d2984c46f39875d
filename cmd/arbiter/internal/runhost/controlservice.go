package runhost

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/socket"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/inbox"
	"github.com/arbiter-cli/arbiter/supervisor/input"
)

// openControl serves other processes of the same user. Without a socket the run continues
// alone: the screen and stdin reach it all the same.
func (r *runtimeRun) openControl() {
	l, err := socket.Listen(r.journal.Dir(), control.SocketName)
	if err == nil {
		r.controls, r.controlSocket = control.Serve(l.UnixListener, controlService{r}, r.log), l
		return
	}
	r.log.Warn("control", "error", err)
}

// closeControl ends the connections. What is attached was given back with the run.
func (r *runtimeRun) closeControl() {
	if r.controls == nil {
		return
	}
	if err := errors.Join(r.controls.Close(), r.controlSocket.Close()); err != nil {
		r.log.Warn("control", "error", err)
	}
	r.controls = nil
}

// controlService has a run speak for itself. It implements control.Service.
type controlService struct{ run *runtimeRun }

// Status implements control.Service.
func (h controlService) Status() control.Status {
	s := h.run.loop.Snapshot()
	st := control.Status{
		Run: h.run.choices.Options.Run, CWD: h.run.choices.Place, PID: os.Getpid(), Title: command.Title(s.Task.Text),
		Began: s.Budget.Runtime.Began.UTC(), Phase: string(s.Task.Phase), Paused: s.Paused, Halted: s.Halted,
		Seq: h.run.clients.hub.Last(), Cost: contract.RoundUSD(s.Spent()), Agents: []control.AgentStatus{},
		Rehearsal: s.Options.Rehearsal, LogLines: h.run.clients.start.Prev.N, Permissions: s.Options.Permissions,
	}
	for _, a := range s.Agents {
		st.Agents = append(st.Agents, control.AgentStatus{
			ID: a.ID, Name: a.Name, Mode: a.Mode, Status: string(a.Status), Since: a.Since.UTC(), Session: a.SessionID,
			Context: a.Context.Pct, Cost: contract.RoundUSD(a.Spent()), Host: a.Host, Attached: h.run.terminals.Holder(a.ID),
		})
	}
	st.Inbox = inboxItems(s)
	return st
}

// inboxItems returns what waits for a human, as clients of the socket get it.
func inboxItems(s *supervisor.State) []control.InboxItem {
	list := []control.InboxItem{}
	for _, i := range inbox.Of(s) {
		item := control.InboxItem{
			ID: i.ID, Kind: string(i.Kind), Agent: i.Agent, Host: i.Host, Text: i.Text, Since: i.Since.UTC(),
			Choices: i.Choices, Optional: i.Optional,
		}
		if i.Request != nil {
			raw, err := json.Marshal(i.Request)
			if err != nil {
				panic(err) // our own type, of input that was parsed
			}
			item.Request = raw
		}
		list = append(list, item)
	}
	return list
}

// Command implements control.Service. The answer is found by a ref that the service makes: two clients may
// use the same.
func (h controlService) Command(ctx context.Context, line json.RawMessage) (control.CommandResult, error) {
	c := contract.ParseCommand(line)
	switch c.Body.(type) {
	case contract.Malformed:
		return control.CommandResult{Ref: c.Ref, Message: c.Body.(contract.Malformed).Problem}, nil
	case contract.Attach:
		return control.CommandResult{Ref: c.Ref, Message: "attach has a method of its own, which carries the terminal"},
			nil
	case contract.Halt:
		r := h.Halt(ctx, control.HaltParams{})
		return control.CommandResult{Ref: c.Ref, Accepted: len(r.Left) == 0, Message: "halted (" + r.How + ")"}, nil
	}
	ref := c.Ref
	c.Ref = h.run.newRef()
	w := h.run.board.Subscribe(func(e contract.Event) bool {
		switch b := e.Body.(type) {
		case contract.Accepted:
			return b.Ref == c.Ref
		case contract.Rejected:
			return b.Ref == c.Ref
		}
		return false
	})
	defer w.Close()
	if err := h.run.put(ctx, c, input.ChannelSocket); err != nil {
		return control.CommandResult{}, err
	}
	select {
	case e := <-w.News():
		if b, ok := e.Body.(contract.Accepted); ok {
			return control.CommandResult{Ref: ref, Accepted: true, Message: b.Message}, nil
		}
		return control.CommandResult{Ref: ref, Message: e.Body.(contract.Rejected).Message}, nil
	case <-h.run.loop.Done():
		return control.CommandResult{}, runstore.ErrRunOver
	case <-ctx.Done():
		return control.CommandResult{}, context.Cause(ctx)
	}
}

// Attach implements control.Service.
func (h controlService) Attach(ctx context.Context, who string, p control.AttachParams,
	say func(string)) (control.Attachment, error) {
	channel := input.ChannelSocket
	if p.Frontend == input.ChannelScreen {
		channel, who = input.ChannelScreen, "the screen"
	}
	a, err := h.run.attach(ctx, channel, who, p, say)
	if err != nil {
		return nil, err
	}
	return a, nil
}

// Halt implements control.Service.
func (h controlService) Halt(_ context.Context, p control.HaltParams) control.HaltResult {
	if p.Frontend == input.ChannelScreen {
		return h.run.halt(input.ChannelScreen)
	}
	return h.run.halt(input.ChannelSocket)
}

// Refused implements control.Service: the human is notified once. That is an event of the agent
// whose process it was, as if its bridge had seen it.
func (h controlService) Refused(p control.Peer, method string) {
	if h.run.warned.Swap(true) {
		return
	}
	ref, what := bridge.AgentRef{ID: contract.Arbiter}, "an unknown request"
	for _, a := range h.run.loop.Snapshot().Agents {
		if a.ID == p.Agent || ref.Generation == 0 && a.ID == ref.ID {
			ref = a.AgentRef
		}
	}
	if method != "" {
		what = fmt.Sprintf("%.40q", method)
	}
	text := fmt.Sprintf("%s asked the control socket for %s and was refused: %s. Agents have no say there. Further "+
		"attempts are in the log alone.", p, what, p.Trouble)
	h.run.attached.Go(func() {
		h.run.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Notice{Text: text}})
	})
}
