package clients

import (
	"context"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/sourcegraph/jsonrpc2"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/internal/backlog"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

const (
	// look is the interval at which a run that is not live is checked: another terminal may resume it.
	look = 2 * time.Second
	// retry is the delay before the next connection to a live run that does not answer.
	retry = 100 * time.Millisecond
)

// acpFollower reports the events of a run to the client, across all processes that play the run. Only its own
// goroutine calls its methods, except wake, expect and forget. load may be called before that goroutine starts.
type acpFollower struct {
	session *session
	mapper  *mapper
	kick    chan struct{} // capacity 1: check whether prompts have ended
	loading loading       // how events read from the log are handled
	// The events up to number seq of this process of the run were reported. Processes are counted from 1.
	process int
	seq     uint64
	asks    asks

	mu       sync.Mutex
	expected []string // texts that the client itself has shown already
}

// loading says how events that are read from the log are handled.
type loading int

const (
	acpLive loading = iota
	shown           // sent, as history
	silent          // not sent
)

// link is a pair of connections to the process that plays a run: feed receives events, ask sends requests. Two are
// needed because nothing else can be read from feed while a received part is handled.
type link struct {
	feed, ask *control.Client
	status    control.Status
	ctx       context.Context
	close     context.CancelFunc
	parts     chan any
}

// wake makes the follower check whether prompts have ended.
func (f *acpFollower) wake() {
	backlog.Hint(f.kick)
}

// expect records a text of the human that the client shows without an update.
func (f *acpFollower) expect(text string) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.expected = append(f.expected, text)
}

// forget removes a text that expect recorded. It reports whether it was recorded.
func (f *acpFollower) forget(text string) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i, t := range f.expected {
		if strings.TrimSpace(t) == strings.TrimSpace(text) {
			f.expected = append(f.expected[:i:i], f.expected[i+1:]...)
			return true
		}
	}
	return false
}

// run follows the run until the session is closed.
func (f *acpFollower) run() {
	o := f.session
	defer close(o.gone)
	defer f.asks.withdraw(nil)
	var last time.Time // LastActive of a run that is not live, when its log was last read
	for o.ctx.Err() == nil {
		info, err := o.s.run(o.id)
		wait := look
		switch {
		case err != nil:
			o.s.Log.Warn("acp: run not found", "run", o.id, "err", err)
		case info.Live:
			wait = retry // the run does not answer yet, is ending, or was lost
			if l := f.connect(o.ctx); l != nil {
				f.receive(l)
				l.end()
				f.asks.withdraw(nil)
			}
		default:
			f.over(!info.LastActive.Equal(last))
			last = info.LastActive
		}
		select {
		case <-o.ctx.Done():
		case <-f.kick:
		case <-time.After(wait):
		}
	}
}

// connect connects to the process that plays the run. It returns nil if that fails now.
func (f *acpFollower) connect(ctx context.Context) *link {
	o := f.session
	var err error
	l := &link{parts: make(chan any)}
	if l.feed, l.status, err = o.s.Runs.Dial(ctx, o.id); err != nil {
		return nil
	}
	if l.ask, _, err = o.s.Runs.Dial(ctx, o.id); err != nil {
		l.feed.Close()
		return nil
	}
	l.ctx, l.close = context.WithCancel(ctx)
	since, err := f.catchUp(l.ctx, l.status.LogLines)
	if err == nil {
		err = l.feed.Subscribe(l.ctx, control.SubscribeParams{Since: since}, l.receive)
	}
	if err != nil {
		o.s.Log.Info("acp: run not followed", "run", o.id, "err", err)
		l.end()
		return nil
	}
	return l
}

// receive passes on a part of the subscription.
func (l *link) receive(part any) {
	select {
	case l.parts <- part:
	case <-l.ctx.Done():
	}
}

func (l *link) end() {
	l.close()
	l.feed.Close()
	l.ask.Close()
}

// allLines makes catchUp read the whole log.
const allLines = math.MaxUint64

// catchUp reports the events in the first limit lines of the log that were not reported yet. If those are the lines
// before the process that plays the run, it returns the event number of that process after which to continue.
func (f *acpFollower) catchUp(ctx context.Context, limit uint64) (since int64, err error) {
	log, err := f.session.s.Runs.Log(f.session.id)
	if err != nil {
		return 0, err
	}
	defer log.Close()
	process, seq := 0, uint64(0)
	_, err = log.Each(ctx, journal.LogPosition{}, func(e journal.LogEntry) error {
		if e.N > limit {
			return journal.ErrEnough
		}
		if e.Line == nil {
			return nil
		}
		if contract.EventNameOf(e.Line) == (contract.Session{}).EventName() {
			process, seq = process+1, 0
		}
		seq++
		if process > f.process || process == f.process && seq > f.seq {
			f.report(e.Line)
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	if f.process > process {
		return int64(f.seq), nil // events of the process that plays the run were reported already
	}
	return 0, nil
}

// report reports an event to the client. It returns whether the items that wait for the human may have changed.
func (f *acpFollower) report(line []byte) bool {
	event, err := contract.DecodeWritten(line)
	if _, first := event.Body.(contract.Session); first {
		f.process, f.seq = f.process+1, 0
	}
	f.seq++
	if err != nil {
		f.session.s.Log.Warn("acp: event not read", "run", f.session.id, "err", err)
		return false
	}
	if b, ok := event.Body.(contract.Session); ok && f.loading != acpLive {
		f.session.learnMode(b.Permissions)
	}
	frames := f.mapper.add(event)
	if f.loading == silent {
		return false
	}
	if f.loading == shown { // notices are not part of the history
		frames = slices.DeleteFunc(frames, func(x frame) bool { _, is := x.Update.(acpNotice); return is })
	}
	if m, ok := event.Body.(contract.Message); ok && m.From == contract.Human && len(frames) > 0 && f.forget(m.Text) {
		frames = frames[1:]
	}
	f.session.s.send(frames)
	return !contract.Narrates(event.Body)
}

// load reads the events so far, and shows them to the client if show is set.
func (o *session) load(ctx context.Context, show bool) error {
	f := &o.follow
	if f.loading = silent; show {
		f.loading = shown
	}
	_, err := f.catchUp(ctx, allLines)
	f.loading = acpLive
	return err
}

// receive reports what the run sends, until the run or the connection ends.
func (f *acpFollower) receive(l *link) {
	f.syncInbox(l)
	for {
		changed := false
		select {
		case <-l.ctx.Done():
			return
		case <-l.feed.Done():
			return
		case <-f.kick:
			changed = true
		case part := <-l.parts:
			switch part := part.(type) {
			case control.Events:
				f.seq += part.Skipped
				for _, line := range part.Lines {
					changed = f.report([]byte(line)) || changed
				}
			case control.RunEnded:
				return
			}
		}
		if changed {
			f.syncInbox(l)
		}
	}
}

// over ends the prompts of a run that no process plays. If grown is set or prompts are open, it first reports the
// events that were not reported yet.
func (f *acpFollower) over(grown bool) {
	o := f.session
	armed, cancelled := o.waiting()
	if !grown && len(armed)+len(cancelled) == 0 {
		return
	}
	if _, err := f.catchUp(o.ctx, allLines); err != nil {
		o.s.Log.Warn("acp: event log not read", "run", o.id, "err", err)
	}
	err := f.loginNeeded()
	stop := stopEndTurn
	switch r := f.mapper.ended; {
	case err != nil:
	case r == nil:
		err = fmt.Errorf("the process of run %s ended before the work was done: send another prompt to resume it", o.id)
	case r.Status == contract.StatusLimit:
		stop = stopLimit
	}
	o.end(append(armed, cancelled...), stop, err)
}

// loginNeeded returns an error if the last error of the run was that Claude is not logged in.
func (f *acpFollower) loginNeeded() error {
	if !f.mapper.login {
		return nil
	}
	return &jsonrpc2.Error{Code: codeAuthRequired,
		Message: "Claude is not logged in: run claude auth login, and send the prompt again"}
}

// statusTimeout is how long a run may take to report its status.
const statusTimeout = 10 * time.Second

// The options of a permission request.
const (
	optionOnce   = "once"
	optionRun    = "run"
	optionAlways = "always"
	optionDeny   = "deny"
	optionNever  = "deny-run"
)

// asks holds the pending requests to the client, by the id of the inbox item that each request is about. An item
// stays in it if its request was declined without an answer, so that it is not asked again before the next prompt.
type asks struct {
	mu   sync.Mutex
	open map[string]*acpAsk
}

type acpAsk struct {
	withdraw context.CancelFunc
	declined bool
}

// begin registers a request about an item. It returns false if one is registered already.
func (a *asks) begin(ctx context.Context, item string) (context.Context, *acpAsk, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.open[item] != nil {
		return nil, nil, false
	}
	if a.open == nil {
		a.open = map[string]*acpAsk{}
	}
	mine := &acpAsk{}
	ctx, mine.withdraw = context.WithCancel(ctx)
	a.open[item] = mine
	return ctx, mine, true
}

// decline marks a request as declined.
func (a *asks) decline(mine *acpAsk) {
	a.mu.Lock()
	defer a.mu.Unlock()
	mine.declined = true
}

// waits reports whether the client is being asked about an item.
func (a *asks) waits(item string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.open[item] != nil && !a.open[item].declined
}

// withdraw cancels the requests about items that are no longer open.
func (a *asks) withdraw(open []control.InboxItem) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for item, x := range a.open {
		if !slices.ContainsFunc(open, func(i control.InboxItem) bool { return i.ID == item }) {
			x.withdraw()
			delete(a.open, item)
		}
	}
}

// askAgain removes the declined requests, so that their items are asked about again.
func (a *asks) askAgain() {
	a.mu.Lock()
	defer a.mu.Unlock()
	for item, x := range a.open {
		if x.declined {
			delete(a.open, item)
		}
	}
}

// syncInbox handles the items that wait for the human: it asks the client about them, cancels requests about settled
// items, and ends the prompts that no agent is still working on.
func (f *acpFollower) syncInbox(l *link) {
	o := f.session
	armed, _ := o.waiting() // before the status: the run has received these
	ctx, cancel := context.WithTimeout(l.ctx, statusTimeout)
	defer cancel()
	st, err := l.ask.Status(ctx)
	if err != nil {
		return // the connection is ending
	}
	o.showMode(st.Permissions)
	f.asks.withdraw(st.Inbox)
	waiting := false
	for _, i := range st.Inbox {
		waiting = f.ask(l, i) || waiting
	}
	if waiting {
		o.end(armed, stopEndTurn, f.loginNeeded())
	}
	busy := func(a control.AgentStatus) bool { return a.Status == string(supervisor.AgentBusy) }
	if !f.mapper.works() && !slices.ContainsFunc(st.Agents, busy) {
		_, cancelled := o.waiting()
		o.end(cancelled, stopCancelled, nil)
	}
}

// ask asks the client about an inbox item. It reports whether a prompt ends because of the item. If the event of
// the item was not reported to the client yet, ask does nothing; settle runs again after that event.
func (f *acpFollower) ask(l *link, i control.InboxItem) (ends bool) {
	kind := supervisor.InboxKind(i.Kind)
	switch {
	case kind == supervisor.InboxPermission:
		t, shown := f.mapper.asked[i.ID]
		var r contract.PermissionRequest
		if shown && json.Unmarshal(i.Request, &r) == nil {
			session, _ := f.mapper.home(i.Agent)
			f.asking(l, i.ID, func(ctx context.Context) bool { return f.askPermission(ctx, session, t, r) })
		}
		return false
	case i.Optional:
		return false
	case kind == supervisor.InboxQuestion || kind == supervisor.InboxAcceptance:
		if _, shown := f.mapper.shownTexts[i.ID]; !shown {
			return false
		}
	}
	if f.mapper.can.elicits {
		f.asking(l, i.ID, func(ctx context.Context) bool { return f.elicit(ctx, i) })
	}
	return !f.asks.waits(i.ID)
}

// asking asks the client on a new goroutine. The function how returns false if the request was declined.
func (f *acpFollower) asking(l *link, item string, how func(context.Context) bool) {
	ctx, mine, ok := f.asks.begin(l.ctx, item)
	if !ok {
		return
	}
	f.session.s.work.Go(func() {
		defer mine.withdraw()
		if !how(ctx) {
			f.asks.decline(mine)
			f.wake()
		}
	})
}

// askPermission asks the client about a tool call and hands the answer to the run.
func (f *acpFollower) askPermission(
	ctx context.Context,
	session string,
	t toolCall,
	r contract.PermissionRequest,
) bool {
	t.Update = ""
	var result permissionResult
	err := f.session.s.call(ctx, methodPermission, permissionParams{session, t, permissionOptions(r)}, &result)
	if err != nil || result.Outcome.Outcome != "selected" {
		return ctx.Err() != nil
	}
	permit := contract.Permit{Request: r.Request, Action: r.Action, Behavior: bridge.Allow, Scope: contract.ScopeOnce}
	switch result.Outcome.OptionID {
	case optionOnce:
	case optionRun:
		permit.Scope = contract.ScopeRun
	case optionAlways:
		permit.Scope = contract.ScopeAlways
		if len(r.Suggestions) > 0 {
			permit.Rule = r.Suggestions[0]
		}
	case optionDeny:
		permit.Behavior = bridge.Deny
	case optionNever:
		permit.Behavior, permit.Scope = bridge.Deny, contract.ScopeRun
	default:
		return false
	}
	return f.sendAnswer(permit)
}

// permissionOptions returns the answers that a human can choose from. The first rule that is offered with the
// call can be allowed permanently.
func permissionOptions(r contract.PermissionRequest) []permissionOption {
	list := []permissionOption{
		{optionOnce, "Allow once", "allow_once"},
		{optionRun, "Allow this for the rest of the run", "allow_always"},
	}
	if len(r.Suggestions) > 0 {
		rule := sanitize.Line(r.Suggestions[0]+" ("+words.Rules(r.Suggestions[0])+")", maxTitle)
		list = append(list,
			permissionOption{optionAlways, "Always allow " + rule + " in this workspace", "allow_always"})
	}
	return append(list, permissionOption{optionDeny, "Deny", "reject_once"},
		permissionOption{optionNever, "Deny this for the rest of the run", "reject_always"})
}

// elicit shows the client a form for an item and hands the answer to the run.
func (f *acpFollower) elicit(ctx context.Context, i control.InboxItem) bool {
	field := elicitField{Type: "string", Title: "Answer", Enum: i.Choices}
	p := elicitParams{Mode: "form", SessionID: f.mapper.root, Message: sanitize.Text(i.Text)}
	p.RequestedSchema = elicitSchema{Type: "object", Properties: map[string]elicitField{"answer": field},
		Required: []string{"answer"}}
	var result elicitResult
	err := f.session.s.call(ctx, methodElicit, p, &result)
	answer := strings.TrimSpace(result.Content.Answer)
	switch {
	case ctx.Err() != nil:
		return true
	case err != nil || result.Action != "accept" || answer == "":
		return false
	case len(i.Choices) > 0 && !slices.Contains(i.Choices, answer):
		return false
	case len(i.Choices) > 0:
		return f.sendAnswer(contract.Choose{Option: answer})
	}
	return f.sendAnswer(contract.Say{Text: answer})
}

// sendAnswer sends an answer to the run. An answer that comes too late changes nothing.
func (f *acpFollower) sendAnswer(body contract.CommandBody) bool {
	ctx, cancel := context.WithTimeout(f.session.ctx, commandTimeout) // outlives the request, which it settles
	defer cancel()
	err := f.session.command(ctx, body)
	if err != nil {
		f.session.s.Log.Warn("acp: answer not accepted", "run", f.session.id, "err", err)
	}
	f.wake()
	return err == nil
}

// learnMode stores the permission mode that the run had, unless the client has chosen another mode for it.
func (o *session) learnMode(mode string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if mode != "" && !o.chosen {
		o.mode = mode
	}
}

// showMode reports a changed permission mode to the client, if another client has set it.
func (o *session) showMode(mode string) {
	o.mu.Lock()
	changed := mode != "" && mode != o.mode && !o.chosen
	if changed {
		o.mode = mode
	}
	o.mu.Unlock()
	if changed {
		options := currentOptions{optionsChanged, o.s.options(mode)}
		o.s.send([]frame{{o.id, currentMode{modeChanged, mode}}, {o.id, options}})
	}
}
