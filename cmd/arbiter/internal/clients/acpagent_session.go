package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/machine"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

const (
	// commandTimeout is how long a run may take to accept a command, including starting it for that.
	commandTimeout = 60 * time.Second
	// again is the delay before the next look at a run that is ending or starting.
	again = 50 * time.Millisecond
)

// session is a run as the client sees it.
type session struct {
	s      *server
	id     string // also the id of the run
	dir    string
	follow acpFollower
	turn   chan struct{} // capacity 1: lock for sending a group of commands
	ctx    context.Context
	close  context.CancelFunc
	gone   chan struct{} // closed when the follower has ended

	mu sync.Mutex
	standing
	prompts []*prompt // that have not ended
}

// standing is the state of a session.
type standing struct {
	begun   bool   // the run exists
	own     bool   // this connection started its process: the session's end ends it
	started bool   // the follower was started
	mode    string // permission mode
	chosen  bool   // mode was chosen while the run was not live: resume with it
}

// prompt is a running prompt.
type prompt struct {
	armed     bool // the run has received it
	cancelled bool
	ended     chan error // capacity 1
	stop      string     // the stop reason, if there was no error
}

func newSession(s *server, id, dir string, can features) *session {
	open := &session{s: s, id: id, dir: dir, turn: make(chan struct{}, 1), gone: make(chan struct{})}
	open.ctx, open.close = context.WithCancel(s.ctx)
	open.follow = acpFollower{session: open, mapper: newMapper(id, can, s.Words), kick: make(chan struct{}, 1)}
	return open
}

// start starts following the run.
func (o *session) start() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if !o.started {
		o.started = true
		o.s.work.Go(o.follow.run)
	}
}

// leave closes a session and waits until no more updates are sent about it.
func (o *session) leave() {
	o.close()
	o.mu.Lock()
	started := o.started
	o.started = true // so that start never starts it
	o.mu.Unlock()
	if started {
		<-o.gone
	}
}

func (o *session) currentMode() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.mode
}

// hold locks the sending of a group of commands.
func (o *session) hold(ctx context.Context) error {
	select {
	case o.turn <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	case <-o.ctx.Done():
		return errors.New("the session was closed")
	}
}

func (o *session) release() { <-o.turn }

// add registers a prompt. The order is that in which the client sent them.
func (o *session) add() *prompt {
	p := &prompt{ended: make(chan error, 1)}
	o.mu.Lock()
	defer o.mu.Unlock()
	o.prompts = append(o.prompts, p)
	return p
}

// waiting returns the prompts that the run has received, and those that were cancelled.
func (o *session) waiting() (armed, cancelled []*prompt) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.prompts {
		if p.armed {
			armed = append(armed, p)
		}
		if p.cancelled {
			cancelled = append(cancelled, p)
		}
	}
	return armed, cancelled
}

// end ends prompts. Cancelled ones end as cancelled.
func (o *session) end(list []*prompt, stop string, err error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range list {
		i := slices.Index(o.prompts, p)
		if i < 0 {
			continue // it has ended already
		}
		o.prompts = slices.Delete(o.prompts, i, i+1)
		if p.cancelled {
			p.stop = stopCancelled
			p.ended <- nil
			continue
		}
		p.stop = stop
		p.ended <- err
	}
}

// cancelPrompts marks all prompts as cancelled. They end when the work has stopped.
func (o *session) cancelPrompts() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.prompts {
		p.cancelled = true
	}
}

// deliver hands a prompt to the run: as its first task, as a new task, or as a message.
func (o *session) deliver(ctx context.Context, p *prompt, text string) error {
	if err := o.hold(ctx); err != nil {
		return err
	}
	defer o.release()
	if o.isCancelled(p) {
		return nil
	}
	o.follow.asks.askAgain()
	o.follow.expect(text)
	err := o.send(ctx, text)
	if err != nil {
		o.follow.forget(text)
		return err
	}
	o.mu.Lock()
	p.armed = true
	o.mu.Unlock()
	o.start()
	o.follow.wake()
	return nil
}

func (o *session) isCancelled(p *prompt) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return p.cancelled
}

func (o *session) send(ctx context.Context, text string) error {
	o.mu.Lock()
	begun, mode := o.begun, o.mode
	o.mu.Unlock()
	if !begun {
		args := append(o.s.Args[:len(o.s.Args):len(o.s.Args)], o.modeArgs(mode)...)
		more, err := o.beside(ctx)
		if err != nil {
			return err
		}
		args = append(args, more...)
		if _, err := o.s.Runs.Start(ctx, Start{Dir: o.dir, Task: text, Args: args, Run: o.id}); err != nil {
			if _, none := o.s.run(o.id); none == nil {
				o.mu.Lock()
				o.begun = true // starting failed after the run existed: the next prompt resumes it
				o.mu.Unlock()
			}
			return err
		}
		o.mu.Lock()
		o.begun, o.own, o.chosen = true, true, false
		o.mu.Unlock()
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, commandTimeout)
	defer cancel()
	for {
		done, err := o.trySend(ctx, text)
		if done || err != nil {
			return err
		}
		select {
		case <-time.After(again): // the run's process is just ending, or not ready yet
		case <-ctx.Done():
			return fmt.Errorf("run %s did not accept the prompt in time; send it again", o.id)
		}
	}
}

// Ways to begin in a directory in which another run works.
const (
	besideApart    = "apart"
	besideTogether = "together"
	besideNot      = "not"
)

// beside asks how a run begins in a directory in which another one works, and returns the flags for that.
func (o *session) beside(ctx context.Context) ([]string, error) {
	const share = "--share-workspace"
	list, err := o.s.Runs.List()
	i := slices.IndexFunc(list, func(x journal.Info) bool {
		return x.Live && !x.Rehearsal && command.SameDir(x.CWD, o.dir)
	})
	if err != nil || i < 0 || slices.Contains(o.s.Args, share) {
		return nil, nil // if the runs cannot be read, Start says why
	}
	where := "Another run works in this directory: " + sanitize.Line(list[i].Title, maxTitle)
	var r permissionResult
	err = o.s.call(ctx, methodPermission, permissionParams{o.id, toolCall{
		ToolCallID: "begin-" + o.id, Title: where, Kind: "other", Status: "pending",
		Content: []toolContent{{Type: "content", Content: &textBlock{Type: "text",
			Text: "To go on with that run, open its session, " + list[i].Run + ", from the list of sessions."}}},
	}, []permissionOption{
		{besideApart, "Begin in a worktree of its own", "allow_once"},
		{besideTogether, "Begin in the same files", "allow_once"},
		{besideNot, "Do not begin", "reject_once"},
	}}, &r)
	switch {
	case err != nil:
		return nil, err
	case r.Outcome.OptionID == besideApart:
		return []string{share, "--isolation", "worktree"}, nil
	case r.Outcome.OptionID == besideTogether:
		return []string{share}, nil
	}
	return nil, invalid("%s. Nothing was begun", where)
}

// endProcess stops the process of the run in order, if this connection started it: another run may begin in the
// directory, and the session can be loaded again.
func (o *session) endProcess(ctx context.Context) {
	o.mu.Lock()
	own := o.own
	o.mu.Unlock()
	if !own {
		return
	}
	client, _, err := o.s.Runs.Dial(ctx, o.id)
	if err == nil {
		err = client.Stop(ctx, control.StopParams{Signal: "TERM"})
		client.Close()
	}
	if err != nil {
		o.s.Log.Info("acp: the run was not stopped", "run", o.id, "err", err)
	}
}

// trySend hands a text to the run, and resumes the run for it if it is not live. If it returns false and no error,
// the caller may try again.
func (o *session) trySend(ctx context.Context, text string) (done bool, err error) {
	info, err := o.s.run(o.id)
	if err != nil {
		return false, err
	}
	if !info.Live {
		o.mu.Lock()
		var args []string
		if o.chosen {
			args = o.modeArgs(o.mode)
		}
		o.mu.Unlock()
		task := ""
		if info.Finished {
			task = text
		}
		if err := o.s.Runs.ResumeWith(ctx, o.id, task, args); err != nil {
			return false, err
		}
		o.mu.Lock()
		o.own, o.chosen = true, false
		o.mu.Unlock()
		return info.Finished, nil
	}
	client, st, err := o.s.Runs.Dial(ctx, o.id)
	if err != nil {
		return false, nil
	}
	defer client.Close()
	list := answers(st, text)
	if !slices.ContainsFunc(list, func(b contract.CommandBody) bool { _, said := b.(contract.Say); return said }) {
		o.follow.forget(text) // no message event will repeat the text
	}
	for _, body := range list {
		r, err := sendCommand(ctx, client, body)
		var refused *control.Refusal
		switch {
		case ctx.Err() != nil:
			return false, ctx.Err()
		case errors.As(err, &refused), errors.Is(err, control.ErrSilent):
			return false, nil // the run is over
		case err != nil:
			return false, err
		case !r.Accepted && endsNow(ctx, client):
			return false, nil // the next attempt resumes the run
		case !r.Accepted:
			return false, invalid("%s", r.Message)
		}
	}
	return true, nil
}

// answers returns the commands for a prompt: stopped work continues, an offered option is chosen, and any other
// text is a message to the Arbiter. While agents work, the message is added to the running turn.
func answers(st control.Status, text string) []contract.CommandBody {
	var list []contract.CommandBody
	if st.Halted { // no agent process runs that could receive a message
		list = append(list, contract.Continue{})
	}
	waits := st.Paused && !st.Halted
	open := slices.ContainsFunc(st.Inbox, func(i control.InboxItem) bool {
		return i.Kind == string(supervisor.InboxQuestion) || i.Kind == string(supervisor.InboxAcceptance)
	})
	retry := false
	for _, i := range st.Inbox {
		for _, c := range i.Choices {
			if sameWord(c, text) && !(open && i.Optional) {
				if waits {
					list = append(list, contract.Continue{})
				}
				return append(list, contract.Choose{Option: c})
			}
			retry = retry || c == "retry" && !i.Optional
		}
	}
	if retry { // a failed agent gets the message after it was restarted
		list = append(list, contract.Choose{Option: "retry"})
	}
	say := contract.Say{Text: text}
	if !open && !retry && !st.Paused && !st.Halted {
		say.Strength = contract.Steer
	}
	list = append(list, say)
	if waits { // after the message: an agent that continues without it may end the run
		list = append(list, contract.Continue{})
	}
	return list
}

// endsNow reports whether a run has just ended or does not answer.
func endsNow(ctx context.Context, client *control.Client) bool {
	st, err := client.Status(ctx)
	return err != nil || !machine.State(st.Phase).Live()
}

// modeArgs returns the flags for a permission mode.
func (o *session) modeArgs(mode string) []string {
	args := []string{"--permissions", mode}
	if mode == allowAll {
		args = append(args, "--i-accept-the-risk")
	}
	return args
}

// setMode changes the permission mode; at once if the run is live.
func (o *session) setMode(ctx context.Context, to string) error {
	if err := o.hold(ctx); err != nil {
		return err
	}
	defer o.release()
	o.mu.Lock()
	begun := o.begun
	o.mu.Unlock()
	live := false
	if begun {
		info, err := o.s.run(o.id)
		if err != nil {
			return err
		}
		live = info.Live
	}
	if live {
		if err := o.command(ctx, contract.Configure{Permissions: to, AcceptRisk: to == allowAll}); err != nil {
			return err
		}
	}
	o.mu.Lock()
	o.mode, o.chosen = to, !live
	o.mu.Unlock()
	return nil
}

// command sends a command to the live run.
func (o *session) command(ctx context.Context, body contract.CommandBody) error {
	client, _, err := o.s.Runs.Dial(ctx, o.id)
	if err != nil {
		return err
	}
	defer client.Close()
	r, err := sendCommand(ctx, client, body)
	if err == nil && !r.Accepted {
		err = invalid("%s", r.Message)
	}
	return err
}

func sendCommand(ctx context.Context, client *control.Client,
	body contract.CommandBody) (control.CommandResult, error) {
	line, err := contract.MarshalCommand(contract.Command{Body: body})
	if err != nil {
		return control.CommandResult{}, err
	}
	return client.Command(ctx, line)
}

// stopTimeout is how long the agents' turns may take to end after a prompt was cancelled.
const stopTimeout = 15 * time.Second

// prompt starts a prompt. It registers it before the next line is read, so that a later cancellation finds it.
func (s *server) prompt(req *jsonrpc2.Request, p sessionParams) {
	open, agent, err := s.session(p.SessionID)
	if err == nil && agent != "" {
		err = invalid("an Orchestrator takes no prompts: send it in the session of the run")
	}
	var text string
	if err == nil {
		if text, err = promptText(p.Prompt); err != nil {
			err = invalid("%v", err)
		}
	}
	if err != nil {
		s.answer(req, nil, err)
		return
	}
	mine := open.add()
	s.mu.Lock()
	s.serving[req.ID] = func() { s.cancel(open.id) }
	s.mu.Unlock()
	s.work.Go(func() {
		result, err := open.await(mine, text)
		s.mu.Lock()
		delete(s.serving, req.ID)
		s.mu.Unlock()
		s.answer(req, result, err)
	})
}

// await hands a prompt to the run and waits for its end.
func (o *session) await(p *prompt, text string) (any, error) {
	if err := o.deliver(o.ctx, p, text); err != nil {
		o.end([]*prompt{p}, "", err)
	}
	select {
	case err := <-p.ended:
		if err != nil {
			return nil, err
		}
		return promptResult{p.stop}, nil
	case <-o.ctx.Done():
		return promptResult{stopCancelled}, nil
	}
}

// cancelRequest cancels a prompt by its request id. Other requests are short and are not cancelled.
func (s *server) cancelRequest(req *jsonrpc2.Request) {
	var p cancelRequestParams
	var id jsonrpc2.ID
	if params(req, &p) != nil || json.Unmarshal(p.RequestID, &id) != nil {
		return
	}
	s.mu.Lock()
	cancel := s.serving[id]
	s.mu.Unlock()
	if cancel != nil {
		cancel()
	}
}

// cancel stops the work of a session, or the turn of an Orchestrator.
func (s *server) cancel(id string) {
	open, agent, err := s.session(id)
	if err != nil {
		s.Log.Debug("acp: nothing to cancel", "err", err)
		return
	}
	if agent == "" {
		open.cancelPrompts()
	}
	s.work.Go(func() {
		ctx, cancel := context.WithTimeout(open.ctx, commandTimeout)
		defer cancel()
		if agent != "" {
			if err := open.command(ctx, contract.Interrupt{ID: agent}); err != nil {
				s.Log.Warn("acp: an agent was not interrupted", "agent", agent, "err", err)
			}
			return
		}
		open.stopWork(ctx)
		select {
		case <-time.After(stopTimeout):
			_, cancelled := open.waiting()
			open.end(cancelled, stopCancelled, nil)
		case <-open.ctx.Done():
		}
	})
}

// stopWork pauses the run and interrupts its agents. Running prompts end as cancelled when no agent works any more,
// or at once if the run cannot be stopped.
func (o *session) stopWork(ctx context.Context) {
	err := o.hold(ctx)
	if err == nil {
		err = o.command(ctx, contract.Pause{})
		if err == nil {
			err = o.command(ctx, contract.Interrupt{})
		}
		o.release()
	}
	if err != nil {
		o.s.Log.Info("acp: nothing was interrupted", "err", err)
		_, cancelled := o.waiting()
		o.end(cancelled, stopCancelled, nil)
		return
	}
	o.follow.wake()
}

// sameWord reports whether a typed text is a choice, regardless of case and surrounding punctuation.
func sameWord(choice, text string) bool {
	clean := func(s string) string { return strings.ToLower(strings.Trim(strings.TrimSpace(s), ".!\"'`")) }
	return clean(choice) == clean(text)
}

// maxPrompt bounds a prompt, in bytes. It is also the limit for a message from the human.
const maxPrompt = 1 << 20

// promptText converts a prompt to the text that the Arbiter gets. It refuses content types that were not
// advertised.
func promptText(blocks []contentBlock) (string, error) {
	var b strings.Builder
	for _, c := range blocks {
		switch {
		case c.Type == "text":
			b.WriteString(c.Text)
		case c.Type == "resource_link" && c.URI != "":
			b.WriteString(placeACP(c.URI))
		case c.Type == "resource" && c.Resource != nil && c.Resource.Text != nil:
			fmt.Fprintf(&b, "\n\n%s:\n%s\n", placeACP(c.Resource.URI), words.Fenced(*c.Resource.Text))
		case c.Type == "resource":
			return "", fmt.Errorf("a prompt cannot contain a resource that is not text: name its file instead")
		default:
			return "", fmt.Errorf("a prompt cannot hold content of type %.40q: send text, or name a file", c.Type)
		}
	}
	text := strings.TrimSpace(b.String())
	switch {
	case text == "":
		return "", fmt.Errorf("the prompt is empty: say what is to be done")
	case len(text) > maxPrompt:
		return "", fmt.Errorf("the prompt has %d bytes; at most %d are accepted: put it into a file and name that",
			len(text), maxPrompt)
	}
	return text, nil
}

// placeACP returns a resource in a form that agents can open: a file by its path, anything else by its URI.
func placeACP(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" {
		return uri
	}
	if u.Fragment != "" {
		return u.Path + "#" + u.Fragment
	}
	return u.Path
}
