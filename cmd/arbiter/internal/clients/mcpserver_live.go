package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

const (
	// mcpTakes is how long a run may take to accept a command, which it first writes to disk.
	mcpTakes = 15 * time.Second
	// looks is the interval at which a waiter checks the run, even if nothing was reported.
	looks = 2 * time.Second
	// formStays is how long a form without an answer is shown.
	formStays = 10 * time.Minute
	// newest is the first version of the protocol in which a server asks through the result of a call, not with a
	// request.
	newest = "2026-07-28"
)

// mcpLive is a connection to a live run that wakes its holder when something happens in the run.
type mcpLive struct {
	*control.Client
	run  string
	wake chan struct{} // capacity 1
}

// dial connects to a live run. The caller closes the connection.
func (s *MCPServer) dial(ctx context.Context, run string) (*mcpLive, error) {
	client, _, err := s.o.Runs.Dial(ctx, run)
	if err != nil {
		return nil, err
	}
	l := &mcpLive{Client: client, run: run, wake: make(chan struct{}, 1)}
	err = client.Subscribe(ctx, control.SubscribeParams{Since: -1}, func(any) {
		backlog.Hint(l.wake)
	})
	if err != nil {
		client.Close()
		return nil, err
	}
	return l, nil
}

// pause waits until something has happened, some time has passed, or the connection is lost. It returns false if
// the connection is lost or ctx has ended.
func (l *mcpLive) pause(ctx context.Context) bool {
	timer := time.NewTimer(looks)
	defer timer.Stop()
	select {
	case <-l.wake:
		return true
	case <-timer.C:
		return true
	case <-l.Done():
	case <-ctx.Done():
	}
	return false
}

// awaitAnswered returns when an item is no longer open, or when the run does not answer.
func (l *mcpLive) awaitAnswered(ctx context.Context, id string) {
	for l.pause(ctx) {
		st, err := l.Status(ctx)
		if err != nil || !slices.ContainsFunc(st.Inbox, func(i control.InboxItem) bool { return i.ID == id }) {
			return
		}
	}
}

// send sends a command, and returns the run's answer and whether the run accepted the command.
func (l *mcpLive) send(ctx context.Context, body contract.CommandBody) (answer string, taken bool, err error) {
	line, err := contract.MarshalCommand(contract.Command{Body: body})
	if err != nil {
		return "", false, err
	}
	ctx, cancel := context.WithTimeout(ctx, mcpTakes)
	defer cancel()
	r, err := l.Command(ctx, line)
	var refused *control.Refusal
	switch {
	case errors.As(err, &refused):
		return "", false, fmt.Errorf("run %s: %w", shortID(l.run), refused)
	case err != nil:
		return "", false, fmt.Errorf("run %s: %w: whether it accepted this is not known; status shows it", shortID(l.run),
			err)
	}
	return sanitize.Line(r.Message, mcpMaxLine), r.Accepted, nil
}

// elicits reports whether a form can be shown during a call. A newer client gets the form as the result of the
// call, and repeats the call with the answer.
func elicits(req *mcp.CallToolRequest) bool { return req.ProtocolVersion() < newest }

// elicit shows a form during a call, while its item is open. It returns no result if the item was settled or the
// form was not answered in time.
func (l *mcpLive) elicit(ctx context.Context, req *mcp.CallToolRequest, id string, f form) (*mcp.ElicitResult, error) {
	ctx, cancel := context.WithTimeout(ctx, formStays)
	var watching sync.WaitGroup
	watching.Go(func() {
		defer cancel()
		l.awaitAnswered(ctx, id)
	})
	res, err := req.Session.Elicit(ctx, f.params())
	over := ctx.Err() != nil
	cancel()
	watching.Wait()
	if err != nil && over {
		return nil, nil
	}
	return res, err
}
