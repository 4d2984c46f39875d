package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// This part of the package serves Arbiter's runs to a client of the Model Context Protocol, so that a model
// can start long work, wait for it, and answer its questions.
//
// # Ownership
//
// Each run is a separate process. The server keeps no state of runs: each call asks the run, or reads its event
// log. So the server can be killed and restarted at any time, and a client continues where it was: a cursor is the
// number of a line in the run's event log, which does not change when any process restarts.
//
// # Who answers
//
// The model that calls the tools may answer questions. Permission requests and trust in a workspace are for the
// human: the server shows them as a form (elicitation) if the client supports it, and otherwise says which command
// the human must type. Only with [MCPOptions.ModelAnswers] the model answers permission requests, and then each answer
// holds once.
//
// # Two ways to wait
//
// Clients with the capability io.modelcontextprotocol/tasks get a task from start_run: its id is the run's, and
// items that wait for a human become its input requests. All other clients call wait repeatedly.
//
// # Reading order
//
// mcpserver_server.go has the options and the table of tools, mcpserver_start.go and this file the tools;
// mcpserver_view.go is what a model sees of a run and its events; mcpserver_form.go has the forms for the human and
// their answers; mcpserver_tasks.go the tasks.
//
// # Goroutines
//
// The SDK runs each call in a goroutine and waits for all of them at the end. The package starts one more
// goroutine: it watches the run while a form is shown, and ends with the form.

const (
	// usualWait fits into the usual time limit of clients for a call: one minute.
	usualWait   = 50 * time.Second
	longestWait = time.Hour
	// maxForms is how many forms one call shows, because clients limit how often a call may be repeated.
	maxForms = 5
	// processTimeout is how long the process of a run may take to end, or a resumed run to answer.
	processTimeout = 15 * time.Second
	// minInterval is the minimum time between two checks of a run.
	minInterval = 100 * time.Millisecond
)

type waitIn struct {
	Run     string `json:"run" jsonschema:"the run's id, or the beginning of it"`
	Since   uint64 `json:"since,omitempty" jsonschema:"the cursor of the last result; absent: from the beginning"`
	Timeout int    `json:"timeout,omitempty" jsonschema:"seconds to wait at most: 50 unless given, 3600 at most"`
}

// waiter is one call of wait.
type waiter struct {
	s        *MCPServer
	req      *mcp.CallToolRequest
	run      string
	news     *news
	asked    []string // items whose form was shown in this call
	reported uint64   // the cursor of the last progress notification
	within   time.Duration
}

func (s *MCPServer) waitTool(
	ctx context.Context,
	req *mcp.CallToolRequest,
	in waitIn,
) (*mcp.CallToolResult, MCPView, error) {
	info, err := s.find(in.Run)
	if err != nil {
		return nil, MCPView{}, err
	}
	w := &waiter{s: s, req: req, run: info.Run, within: usualWait}
	if in.Timeout > 0 {
		w.within = min(time.Duration(in.Timeout)*time.Second, longestWait)
	}
	if req.Params.RequestState != "" {
		w.asked = strings.Split(req.Params.RequestState, " ")
	}
	if w.news, err = s.openNews(ctx, info.Run, in.Since); err != nil {
		return nil, MCPView{}, err
	}
	defer w.news.log.Close()
	ctx, cancel := context.WithTimeout(ctx, w.within+formStays)
	defer cancel()
	return w.wait(ctx)
}

func (w *waiter) wait(ctx context.Context) (*mcp.CallToolResult, MCPView, error) {
	until := time.Now().Add(w.within)
	for {
		l, err := w.s.dial(ctx, w.run)
		if err != nil {
			v, ended, gone := w.s.ended(ctx, w.run, w.news, err)
			if ended || gone != nil {
				return nil, v, gone
			}
			select {
			case <-time.After(minInterval): // it may be about to end
			case <-ctx.Done():
			}
			continue
		}
		res, v, done, err := w.attend(ctx, l, until)
		l.Close()
		if done || err != nil {
			return res, v, err
		}
	}
}

// attend waits on one connection. done is true when there is something to return, and false when the connection is
// lost.
func (w *waiter) attend(
	ctx context.Context,
	l *mcpLive,
	until time.Time,
) (res *mcp.CallToolResult, v MCPView, done bool,
	err error) {
	if err := w.take(ctx, l); err != nil {
		return nil, v, false, err
	}
	for {
		// Read the news first: an item that they report is then in the inbox, if it is still open.
		if err := w.news.read(ctx); err != nil {
			return nil, v, false, err
		}
		st, err := l.Status(ctx)
		if err != nil {
			return nil, v, false, ctx.Err()
		}
		w.progress(ctx)
		v = w.s.liveView(st)
		w.news.fill(&v)
		res, shown, err := w.ask(ctx, l, st)
		switch {
		case err != nil || res != nil:
			return res, v, true, err
		case shown:
			continue
		case v.More || awaits(st.Inbox, w.news.at) || !time.Now().Before(until):
			return nil, v, true, nil
		}
		rest, cancel := context.WithDeadline(ctx, until)
		l.pause(rest)
		cancel()
		select {
		case <-l.Done():
			return nil, v, false, nil
		case <-ctx.Done():
			return nil, v, false, ctx.Err()
		case <-time.After(min(minInterval, max(time.Until(until), 0))):
		}
	}
}

// progress notifies the client of the last news, if the client asked for progress.
func (w *waiter) progress(ctx context.Context) {
	token := w.req.Params.GetProgressToken()
	if token == nil || len(w.news.lines) == 0 || w.news.cursor <= w.reported {
		return
	}
	w.reported = w.news.cursor
	// The error is ignored: an unreachable client gets no result either.
	_ = w.req.Session.NotifyProgress(ctx, &mcp.ProgressNotificationParams{ProgressToken: token,
		Progress: float64(w.reported), Message: w.news.lines[len(w.news.lines)-1]})
}

// ask shows the form of the oldest item that is for the human and was not shown in this call. A non-nil result must
// be returned to the client. shown reports that the form was answered, or that its item is no longer open.
func (w *waiter) ask(ctx context.Context, l *mcpLive, st control.Status) (_ *mcp.CallToolResult, shown bool, _ error) {
	if !showsForms(w.req.ClientCapabilities()) || len(w.asked) >= maxForms {
		return nil, false, nil
	}
	at := slices.IndexFunc(st.Inbox, func(i control.InboxItem) bool {
		return w.s.forHuman(i) && !slices.Contains(w.asked, i.ID)
	})
	if at < 0 {
		return nil, false, nil
	}
	w.asked = append(w.asked, st.Inbox[at].ID)
	res, _, _, err := w.s.askHuman(ctx, l, w.req, st.Inbox[at])
	if res != nil {
		res.RequestState = strings.Join(w.asked, " ")
	}
	return res, err == nil, err
}

// take sends the human's answers to the forms of the previous call to the run.
func (w *waiter) take(ctx context.Context, l *mcpLive) error {
	responses := w.req.Params.InputResponses
	if len(responses) == 0 {
		return nil
	}
	st, err := l.Status(ctx)
	if err != nil {
		return ctx.Err() // the next connection tries again
	}
	w.req.Params.InputResponses = nil
	for _, i := range st.Inbox {
		if res, ok := responses[i.ID].(*mcp.ElicitResult); ok {
			if _, _, err := w.s.sendAnswer(ctx, l, i, res); err != nil {
				return err
			}
		}
	}
	return nil
}

// askHuman shows the form of an item, and sends the answer to the run with [MCPServer.obey]. A non-nil result must be
// returned to the client: the answer comes with its next call.
func (s *MCPServer) askHuman(ctx context.Context, l *mcpLive, req *mcp.CallToolRequest, i control.InboxItem) (
	result *mcp.CallToolResult, answer string, taken bool, err error) {
	f, err := s.formOf(l.run, i)
	if err != nil {
		return nil, "", false, err
	}
	if !elicits(req) {
		return &mcp.CallToolResult{InputRequests: mcp.InputRequestMap{i.ID: f.params()}}, "", false, nil
	}
	res, err := l.elicit(ctx, req, i.ID, f)
	if err != nil || res == nil {
		return nil, "", false, err
	}
	answer, taken, err = s.sendAnswer(ctx, l, i, res)
	return nil, answer, taken, err
}

// sendAnswer sends a human's answer to the form of an item to the run, and returns the run's reply. It sends nothing if
// the human has not decided. The run rejects the answer if the item was answered in another way in the meantime.
func (s *MCPServer) sendAnswer(
	ctx context.Context,
	l *mcpLive,
	i control.InboxItem,
	res *mcp.ElicitResult,
) (answer string,
	taken bool, err error) {
	f, err := s.formOf(l.run, i)
	if err != nil {
		return "", false, err
	}
	body := f.command(res)
	if body == nil {
		return "", false, nil
	}
	return l.send(ctx, body)
}

// ended returns the view of a run that cannot be connected to: it has ended, or its process is about to start or to
// end.
func (s *MCPServer) ended(ctx context.Context, run string, n *news, cause error) (MCPView, bool, error) {
	late := time.NewTimer(processTimeout)
	defer late.Stop()
	tick := time.NewTicker(minInterval)
	defer tick.Stop()
	for {
		info, err := s.o.Runs.Find(run)
		if err != nil {
			return MCPView{}, false, err
		}
		if !info.Live {
			v, err := s.lastView(ctx, info, n)
			return v, true, err
		}
		c, _, err := s.o.Runs.Dial(ctx, run)
		var refused *control.Refusal
		switch {
		case err == nil:
			c.Close()
			return MCPView{}, false, nil
		case errors.As(err, &refused):
			return MCPView{}, false, err
		}
		select {
		case <-tick.C:
		case <-late.C:
			return MCPView{}, false, cause
		case <-ctx.Done():
			return MCPView{}, false, ctx.Err()
		}
	}
}

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
