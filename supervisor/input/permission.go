package input

// This part of the package keeps the permission requests of a run that wait for a human, and the human's
// grants.
//
// A request is open while an agent's process waits for its answer. When that process ended with an earlier
// process of the run, the request becomes unclaimed. It is open again, under the same id, if its agent asks for
// the same action again. A human may answer it meanwhile; the answer is kept for that case.
//
// [PermissionState] is this part of the run's state; its methods change it and collect effects. Package policy judges a
// call by mode and rules; the result comes in as a [PermissionFinding]. In any doubt, a call is denied.
//
// Events: permission_request when a request opens, permission when one is answered.

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"slices"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Deny answers a request that was not opened, or that is removed already.
func Deny(c *Collector, r PermissionRequest, by, reason string) {
	answer(c, r, contract.Permission{Behavior: bridge.Deny, By: by, Reason: reason}, Denial(reason))
}

// answer reports a ruling to the frontends, and to the waiting process with a message for the agent.
func answer(c *Collector, r PermissionRequest, d contract.Permission, message string) {
	c.Emit(r.Params.ID, r.ruled(d))
	c.Do(PermissionRespond{
		Request: r.Params.Request,
		Result:  bridge.PermissionResult{Behavior: d.Behavior, Message: message},
	})
}

// ruled is a ruling with the request that it is about.
func (r *PermissionRequest) ruled(d contract.Permission) contract.Permission {
	d.Request, d.Tool, d.Action, d.Subagent = r.ID, r.Params.Tool, r.Key(), r.Params.Subagent
	return d
}

// Answer carries out a human's command: it answers an open request, or keeps the answer to an unclaimed one
// until the agent asks again. A command that fits no request, or not this one, is rejected. It reports whether
// it was accepted.
func (s *PermissionState) Answer(c *Collector, ref string, given contract.Permit) bool {
	r, known := s.Find(given.Request)
	if !known {
		c.Reject(ref, "no permission request %q is open", given.Request)
		return false
	}
	if why := unfit(&r, given); why != "" {
		c.Reject(ref, "%s", why)
		return false
	}
	reason := cmp.Or(given.Message, "the human said no")
	d, message := contract.Permission{Behavior: bridge.Deny, By: contract.Human, Rule: given.Rule, Reason: reason},
		Denial(reason)
	if given.Scope == contract.ScopeRun {
		d.Scope = given.Scope
	}
	if given.Behavior == bridge.Allow {
		d.Behavior, d.Reason, d.Scope, message = bridge.Allow, "", cmp.Or(given.Scope, contract.ScopeOnce), ""
		if r.Elicits() {
			message = given.Message // what the human says
		}
	}
	if _, open := s.take(c, given.Request); open {
		c.Accept(ref, "permission "+given.Request+": "+given.Behavior)
		answer(c, r, d, message)
	} else {
		c.Accept(ref, "permission "+given.Request+": "+given.Behavior+", when "+r.Params.ID+" asks again")
		s.Unclaimed = slices.DeleteFunc(slices.Clone(s.Unclaimed), func(u PermissionRequest) bool { return u.ID == r.ID })
		s.Answered = append(slices.Clip(s.Answered), PermissionAnswer{
			Agent: r.Params.ID, Action: r.Key(), Behavior: d.Behavior, Message: message,
		})
		c.Emit(r.Params.ID, r.ruled(d))
	}
	if r.Check && d.Behavior == bridge.Allow && d.Scope == contract.ScopeOnce {
		s.Actions = append(slices.Clip(s.Actions), r.Key()) // it is not asked for again, on whatever files
	}
	s.grant(c, &r, given)
	return true
}

// TimedOut denies a request that was not answered in time. The id is what follows [TimerPrefix] in the timer's key.
func (s *PermissionState) TimedOut(c *Collector, id string, wait time.Duration) {
	if r, open := s.take(c, id); open {
		Deny(c, r, contract.ByTimeout, "nobody answered within "+wait.String())
	}
}

// Withdrawn closes a request whose process no longer waits: its turn was interrupted, or it has ended.
func (s *PermissionState) Withdrawn(c *Collector, request string) {
	i := slices.IndexFunc(s.Open, func(r PermissionRequest) bool { return r.Params.Request == request })
	if i < 0 {
		return
	}
	r, _ := s.take(c, s.Open[i].ID)
	c.Emit(r.Params.ID, r.Withdrawal())
}

// Withdrawal is the event that says that nobody waits for the answer any more.
func (r *PermissionRequest) Withdrawal() contract.Permission {
	return r.ruled(contract.Permission{Behavior: bridge.Deny, By: contract.ByWithdrawn})
}

// TurnOver denies what an agent still waits for when its turn is over, and what its earlier process waited for:
// the agent did not ask again. An answer that was given meanwhile does not hold for later turns.
func (s *PermissionState) TurnOver(c *Collector, agent string) {
	s.closeUnclaimed(c, agent, contract.ByWithdrawn, "it was not asked again")
	s.Answered = slices.DeleteFunc(slices.Clone(s.Answered), func(a PermissionAnswer) bool { return a.Agent == agent })
	s.DenyOpen(c, agent, "the turn is over")
}

// DenyOpen denies the open requests of an agent, except those for checks of its documents.
func (s *PermissionState) DenyOpen(c *Collector, agent, why string) {
	for _, r := range s.Open {
		if r.Params.ID == agent && !r.Check {
			s.take(c, r.ID)
			Deny(c, r, contract.ByWithdrawn, why)
		}
	}
}

// CheckOver denies the request to run a check that is over, or whose result is no longer needed.
func (s *PermissionState) CheckOver(c *Collector, request, why string) {
	for _, r := range s.Open {
		if request == "" || r.Params.Request != request {
			continue
		}
		s.take(c, r.ID)
		Deny(c, r, contract.ByWithdrawn, why)
	}
}

// DenyAll denies all open requests, and drops the unclaimed ones.
func (s *PermissionState) DenyAll(c *Collector, by, reason string) {
	s.closeUnclaimed(c, "", by, reason)
	for _, r := range s.Open {
		c.StopTimer(TimerPrefix + r.ID)
		Deny(c, r, by, reason)
	}
	s.Open = nil
}

// Shutdown denies all requests in a run that ends: they are asked again when it is resumed. It stops no timers: they
// end with the run.
func (s *PermissionState) Shutdown(c *Collector, reason string) {
	all := s.All()
	s.closeUnclaimed(c, "", contract.ByShutdown, reason)
	for _, r := range s.Open {
		Deny(c, r, contract.ByShutdown, reason)
	}
	s.Unclaimed, s.Open = all, nil
}

// Resume makes the requests that were open when the last process ended unclaimed, and closes those whose agents are
// not restarted.
func (s *PermissionState) Resume(c *Collector, comesBack func(agent string) bool) {
	s.Unclaimed, s.Open, s.Reconsidering = s.All(), nil, 0
	for _, r := range s.Unclaimed {
		if !comesBack(r.Params.ID) {
			s.closeUnclaimed(c, r.Params.ID, contract.ByWithdrawn, "its agent does not come back")
		}
	}
}

// closeUnclaimed drops the unclaimed requests of an agent, or all. No process waits for an answer.
func (s *PermissionState) closeUnclaimed(c *Collector, agent, by, reason string) {
	var left []PermissionRequest
	for _, r := range s.Unclaimed {
		if agent != "" && r.Params.ID != agent {
			left = append(left, r)
			continue
		}
		c.Emit(r.Params.ID, r.ruled(contract.Permission{Behavior: bridge.Deny, By: by, Reason: reason}))
	}
	s.Unclaimed = left
}

// Grant is what a human always allows in a workspace: the calls that a rule covers, or without a rule one exact
// action.
type Grant struct {
	Rule   string `json:",omitempty"`
	Action string `json:",omitempty"` // Request.Key
	Tool   string // that it was given for
}

// unfit says why an answer does not fit a request; empty: it does.
func unfit(r *PermissionRequest, c contract.Permit) string {
	switch {
	case c.Action != "" && c.Action != r.Key():
		return "the answer is for another action than request " + r.ID + " is about: look at it again"
	case c.Behavior == bridge.Allow && r.Elicits():
		return unsaid(r, c)
	case c.Behavior != bridge.Allow && c.Scope == contract.ScopeAlways:
		return "a denial ends with its run: give scope run, and start later runs with --deny"
	case c.Rule == "":
		return ""
	case c.Scope != contract.ScopeRun && c.Scope != contract.ScopeAlways:
		return "a rule goes with scope run or always"
	}
	for _, rule := range policy.SplitRules(c.Rule) {
		if _, err := policy.ParseRule(rule); err != nil {
			return "the rule " + err.Error()
		}
	}
	return ""
}

// Elicits reports whether the request is a question of an MCP server: what allows it is an answer.
func (r PermissionRequest) Elicits() bool { return r.Params.Tool == bridge.ElicitTool }

// unsaid says why an answer does not answer what an MCP server asks; empty: it does.
func unsaid(r *PermissionRequest, c contract.Permit) string {
	var e bridge.Elicitation
	if err := json.Unmarshal(r.Params.Input, &e); err != nil {
		return "the question of the MCP server cannot be read: deny it"
	}
	if c.Scope != "" && c.Scope != contract.ScopeOnce || c.Rule != "" {
		return "a question of an MCP server is answered once"
	}
	if _, err := e.Content(c.Message); err != nil {
		return err.Error()
	}
	return ""
}

// grant records a human's answer that applies more than once. The rule is valid; a rule that denies is kept
// with the run's other rules, by the caller.
func (s *PermissionState) grant(c *Collector, r *PermissionRequest, given contract.Permit) {
	if given.Scope != contract.ScopeRun && given.Scope != contract.ScopeAlways {
		return
	}
	defer s.PolicyChanged(c)
	rules := policy.SplitRules(given.Rule)
	if given.Behavior != bridge.Allow {
		if len(rules) == 0 {
			s.Denied = append(slices.Clip(s.Denied), r.Key())
		}
		return
	}
	if len(rules) == 0 {
		s.Actions = append(slices.Clip(s.Actions), r.Key())
	}
	for _, rule := range rules {
		if !slices.Contains(s.Rules, rule) {
			s.Rules = append(slices.Clip(s.Rules), rule)
		}
	}
	if given.Scope == contract.ScopeAlways {
		if len(rules) == 0 {
			c.Do(Remember{Grant{Action: r.Key(), Tool: r.Params.Tool}})
		}
		for _, rule := range rules {
			c.Do(Remember{Grant{Rule: rule, Tool: r.Params.Tool}})
		}
	}
	s.AllowOffered(c, given.Rule)
}

// AllowOffered allows the open requests with which the CLI offered a rule that a human has just allowed: the CLI would
// not ask about them any more.
func (s *PermissionState) AllowOffered(c *Collector, rule string) {
	for _, o := range s.Open {
		if rule != "" && slices.Contains(o.Suggestions, rule) {
			s.take(c, o.ID)
			answer(c, o, contract.Permission{Behavior: bridge.Allow, By: contract.Human, Rule: rule,
				Scope: contract.ScopeRun}, "")
		}
	}
}

// PolicyChanged gives the agents the present rules, and checks the waiting requests again, because mode, rules or
// grants have changed.
func (s *PermissionState) PolicyChanged(c *Collector) {
	s.Changes++
	c.Do(GiveRules{})
	if len(s.Open)+len(s.Unclaimed) > 0 {
		s.reconsider(c)
	}
}

func (s *PermissionState) reconsider(c *Collector) {
	s.Reconsidering++
	c.Do(Reconsider{})
}

// PermissionResolution is what mode, rules and grants say about a waiting request.
type PermissionResolution struct {
	Request  string // Request.ID
	Asked    string // Request.Params.Request: another process may have the id now
	Behavior string // allow, deny
	By, Rule string
	Reason   string
}

// Reconsidered answers the requests that mode, rules and grants decide now. For an unclaimed one it only
// informs the frontends: when its agent asks again, mode, rules and grants decide again. changes is the
// State.Changes that the resolutions were found with: older ones do not count, because all requests are also
// checked against the present rules.
func (s *PermissionState) Reconsidered(
	c *Collector,
	resolutions []PermissionResolution,
	changes int,
	h PermissionHuman,
) {
	s.Reconsidering = max(s.Reconsidering-1, 0)
	for _, of := range resolutions {
		same := func(r PermissionRequest) bool { return r.ID == of.Request && r.Params.Request == of.Asked }
		if changes != s.Changes {
			continue
		}
		found := PermissionFinding{of.Behavior, of.By, of.Rule, of.Reason}
		if i := slices.IndexFunc(s.Unclaimed, same); i >= 0 {
			u := s.Unclaimed[i]
			s.Decided(c, u.Params.ID, u.Key(), found)
			continue
		}
		if !slices.ContainsFunc(s.Open, same) {
			continue
		}
		r, _ := s.take(c, of.Request)
		answer(c, r, found.event(), found.message())
	}
	s.NobodyAnswers(c, h)
}

// NobodyAnswers denies the open requests if no human is present, once it is known that no rule allows them.
func (s *PermissionState) NobodyAnswers(c *Collector, h PermissionHuman) {
	if !h.Present && s.Reconsidering == 0 {
		s.DenyAll(c, contract.ByNobody, "no human is present to allow it")
	}
}

// PermissionRequest is a tool call that waits for a human.
type PermissionRequest struct {
	ID     string // of the first request for the action: it is kept if the process that asked ends
	Params bridge.PermissionParams
	Action string // [PermissionKey] of the call with its secrets, which Params does not contain
	Why    string `json:",omitempty"` // why a human is asked: a rule, or the mode
	At     time.Time
	// Suggestions are rules that the CLI offers with the call.
	Suggestions []string
	Place       *contract.CallPlace `json:",omitempty"`
	Deadline    string              `json:",omitempty"` // as in its event
	// Check marks the supervisor's own request to run a check of a hand-off document. It ends with the
	// check, not with the turn of the agent whose document it is.
	Check bool `json:",omitempty"`
}

// Key names the requested action exactly.
func (r *PermissionRequest) Key() string {
	if r.Action != "" {
		return r.Action
	}
	return PermissionKey(r.Params.Tool, r.Params.Input)
}

// Event is the event that asks a human.
func (r *PermissionRequest) Event() contract.PermissionRequest {
	var meanings []string
	for _, rules := range r.Suggestions {
		meanings = append(meanings, words.Rules(rules))
	}
	return contract.PermissionRequest{
		Meanings: meanings,
		Request:  r.ID, Tool: r.Params.Tool, Input: r.Params.Input,
		Subagent: r.Params.Subagent, Reason: r.Params.Reason, Action: r.Key(), Suggestions: r.Suggestions,
		Place: r.Place, Deadline: r.Deadline,
	}
}

// PermissionKey names an exact action: the SHA-256 of a tool and its input, byte by byte, in hexadecimal. A grant of an
// action covers the same tool with the same input, and nothing wider.
func PermissionKey(tool string, input []byte) string {
	h := sha256.New()
	h.Write([]byte(tool))
	h.Write([]byte{0})
	h.Write(input)
	return hex.EncodeToString(h.Sum(nil))
}

// PermissionFinding is what mode, rules and grants say about a call.
type PermissionFinding struct {
	Behavior string // allow, deny, ask
	By, Rule string
	Reason   string
}

// event is a finding as the event about it has it.
func (f PermissionFinding) event() contract.Permission {
	return contract.Permission{Behavior: f.Behavior, By: f.By, Rule: f.Rule, Reason: f.Reason}
}

// message is what the agent reads; empty: nothing.
func (f PermissionFinding) message() string {
	if f.Behavior == bridge.Deny {
		return Denial(f.Reason)
	}
	return ""
}

// Denial is what an agent reads about a denied call.
func Denial(reason string) string {
	if reason == "" {
		reason = "not permitted"
	}
	return "Denied: " + reason + ". Do not try to get around it; find another way, or report that you cannot."
}

// PermissionState is the permission part of a run. It is a value: slices are cloned before they are written.
type PermissionState struct {
	Open      []PermissionRequest `json:",omitempty"` // they wait for a human, oldest first
	Unclaimed []PermissionRequest `json:",omitempty"` // of agents' processes that ended with an earlier process of the run
	Answered  []PermissionAnswer  `json:",omitempty"` // a human's answers to unclaimed requests
	// Changes counts how often mode, rules or grants were changed. What was found with an older count may be
	// wrong now.
	Changes       int
	Reconsidering int      `json:",omitempty"` // [Reconsider] effects that have not ended
	Actions       []string `json:",omitempty"` // keys of actions that the human allowed for the whole run
	Rules         []string `json:",omitempty"` // rules that the human allowed for the whole run
	Denied        []string `json:",omitempty"` // keys of actions that the human denied for the whole run
}

// PermissionAnswer is a human's answer that waits until its request is made again.
type PermissionAnswer struct {
	Agent    string
	Action   string // Request.Key
	Behavior string
	Message  string
}

// PermissionHuman says whether a human can answer, and how long a request waits for the answer.
type PermissionHuman struct {
	Present bool
	Wait    time.Duration
}

type (
	// PermissionRespond answers a waiting process.
	PermissionRespond struct {
		Request string // Params.Request
		Result  bridge.PermissionResult
	}
	// Reconsider checks the open requests against the present mode, rules and grants. It ends with
	// [PermissionState.Reconsidered].
	Reconsider struct{}
	// GiveRules gives the present mode and rules to the CLIs of all agents that run, or of one.
	GiveRules struct{ Agent bridge.AgentRef }
	// Remember keeps what the human always allows in the workspace.
	Remember struct{ Grant Grant }
)

// TimerPrefix begins the key of the timer that denies a request without an answer; the request's id follows.
const TimerPrefix = "permit/"

// Find returns the request with that id, if it is open or unclaimed.
func (s *PermissionState) Find(id string) (PermissionRequest, bool) {
	for _, r := range s.All() {
		if r.ID == id {
			return r, true
		}
	}
	return PermissionRequest{}, false
}

// All returns the requests that are open, and then those that are unclaimed.
func (s *PermissionState) All() []PermissionRequest { return slices.Concat(s.Open, s.Unclaimed) }

// Awaits reports whether a request of an agent waits for the human.
func (s *PermissionState) Awaits(agent string) bool {
	return slices.ContainsFunc(s.Open, func(r PermissionRequest) bool { return r.Params.ID == agent })
}

// Asked answers a request according to a finding, or makes it wait for the human. changes is the State.Changes
// that the finding was made with.
func (s *PermissionState) Asked(
	c *Collector,
	r PermissionRequest,
	f PermissionFinding,
	changes int,
	h PermissionHuman,
) {
	if slices.Contains(s.Denied, r.Key()) {
		f = PermissionFinding{Behavior: bridge.Deny, By: contract.Human, Reason: "the human denied it for this run"}
	}
	if f.Behavior != bridge.Ask {
		if earlier, waited := s.unclaim(r.Params.ID, r.Key()); waited {
			r.ID = earlier.ID // frontends that show the earlier request must get the answer
		}
	}
	switch {
	case f.Behavior != bridge.Ask:
		if f.Behavior != bridge.Allow {
			f.Behavior = bridge.Deny
		}
		answer(c, r, f.event(), f.message())
	case slices.Contains(s.Actions, r.Key()):
		answer(c, r, contract.Permission{Behavior: bridge.Allow, By: contract.Human, Scope: contract.ScopeRun}, "")
	case s.claim(c, r, h.Wait):
		if changes != s.Changes {
			s.reconsider(c)
		}
	case s.known(r.ID):
		Deny(c, r, contract.ByNobody, "another request goes by the same name")
	case !h.Present && changes == s.Changes:
		Deny(c, r, contract.ByNobody, "no human is present to allow it")
	default:
		s.open(c, r, h.Wait)
		if changes != s.Changes {
			s.reconsider(c) // the rules that require asking may have changed meanwhile
		}
	}
}

func (s *PermissionState) known(id string) bool {
	_, ok := s.Find(id)
	return ok
}

// open makes a request wait for the human.
func (s *PermissionState) open(c *Collector, r PermissionRequest, wait time.Duration) {
	if wait > 0 {
		r.Deadline = r.At.Add(wait).UTC().Format(time.RFC3339)
		c.Do(SetTimer{Key: TimerPrefix + r.ID, After: wait})
	}
	s.Open = append(slices.Clone(s.Open), r)
	c.Emit(r.Params.ID, r.Event())
}

// Decided closes an unclaimed request whose action was decided without a new request.
func (s *PermissionState) Decided(c *Collector, agent, action string, f PermissionFinding) {
	if r, waited := s.unclaim(agent, action); waited {
		c.Emit(r.Params.ID, r.ruled(f.event()))
	}
}

// unclaim removes an agent's unclaimed request for an action.
func (s *PermissionState) unclaim(agent, action string) (PermissionRequest, bool) {
	return takeFirst(&s.Unclaimed, func(r PermissionRequest) bool { return r.Params.ID == agent && r.Key() == action })
}

// claim handles a request that an earlier process of the agent had made already: it is opened again under the
// earlier id, or gets the answer that was given since. It reports whether it did.
func (s *PermissionState) claim(c *Collector, r PermissionRequest, wait time.Duration) bool {
	key := r.Key()
	if earlier, waited := s.unclaim(r.Params.ID, key); waited {
		r.ID = earlier.ID
		s.open(c, r, wait)
		return true
	}
	a, answered := takeFirst(&s.Answered,
		func(a PermissionAnswer) bool { return a.Agent == r.Params.ID && a.Action == key })
	if answered {
		answer(c, r, contract.Permission{Behavior: a.Behavior, By: contract.Human}, a.Message)
	}
	return answered
}

// take removes an open request and stops its timer.
func (s *PermissionState) take(c *Collector, id string) (PermissionRequest, bool) {
	r, ok := takeFirst(&s.Open, func(r PermissionRequest) bool { return r.ID == id })
	if ok {
		c.StopTimer(TimerPrefix + id)
	}
	return r, ok
}

// takeFirst removes the first element that is wanted from a list that others share, and returns it; false: there is
// none.
func takeFirst[T any](list *[]T, wanted func(T) bool) (x T, ok bool) {
	i := slices.IndexFunc(*list, wanted)
	if i < 0 {
		return x, false
	}
	x = (*list)[i]
	*list = slices.Delete(slices.Clone(*list), i, i+1)
	return x, true
}
