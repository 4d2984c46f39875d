package clients

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

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
		rule := sanitize.Line(r.Suggestions[0]+" ("+policy.Words(r.Suggestions[0])+")", maxTitle)
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
