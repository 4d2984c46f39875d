package supervisor

// This part of the package lists what waits for a human in a run: questions, decisions about acceptance,
// permission requests, trust in the workspace, cost limits, and choices after a failure.
//
// The list depends only on the run's state. So it is the same for every client, and after a resume it contains
// what is really open. The badge, the bell, the title and notifications are derived from it.

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
)

// InboxKind is the subject of an item, and determines which command answers it.
type InboxKind string

const (
	InboxQuestion InboxKind = "question" // a message to the Arbiter answers it, together with the other questions
	// a COMPLETE was rejected too often: a message to the Arbiter says what else to do
	InboxAcceptance InboxKind = "acceptance"
	InboxPermission InboxKind = "permission" // a permission command answers it
	InboxTrust      InboxKind = "trust"      // a choose command answers it
	InboxRecovery   InboxKind = "recovery"   // a choose command answers it
	InboxLimit      InboxKind = "limit"      // a cost limit is reached: a choose command answers it
)

// InboxItem is one thing that waits for a human.
type InboxItem struct {
	// ID names the item as long as it is open: the id of a permission request, or what a question's event
	// names.
	ID    string    `json:"id"`
	Kind  InboxKind `json:"kind"`
	Agent string    `json:"agent"` // the agent that asks or failed
	// Host is the host that the agent runs on, or that is out of use; empty: the one that Arbiter runs on.
	Host  string    `json:"host,omitempty"`
	Text  string    `json:"text"`
	Since time.Time `json:"since"`
	// Choices are the options for a choose command.
	Choices []string `json:"choices,omitempty"`
	// Request is the permission request as its event contains it.
	Request *contract.PermissionRequest `json:"request,omitempty"`
	// Optional says that an agent may settle it as well: the run does not wait for the human.
	Optional bool `json:"optional,omitempty"`
}

// Chosen reports whether a choose command answers items of a kind.
func (k InboxKind) Chosen() bool { return k == InboxTrust || k == InboxRecovery || k == InboxLimit }

// Age returns how long an item has waited.
func (i InboxItem) Age(now time.Time) time.Duration { return max(now.Sub(i.Since), 0) }

// InboxOf lists what waits in a run, oldest first. For a run that has ended it lists what a resume asks again.
func InboxOf(s *State) []InboxItem {
	if s == nil || s.Completed() {
		return nil
	}
	var list []InboxItem
	for _, p := range s.Question.Open {
		item := InboxItem{ID: p.ID(), Kind: InboxQuestion, Agent: p.asker(), Text: p.Text, Since: p.At}
		if p.Kind == KindAcceptance {
			item.Kind = InboxAcceptance
		}
		list = append(list, item)
	}
	for _, r := range s.Permission.All() {
		e := r.Event()
		text := r.Params.Tool
		if what := ToolSubject(r.Params.Input); what != "" {
			text += ": " + what
		}
		list = append(list, InboxItem{
			ID: r.ID, Kind: InboxPermission, Agent: r.Params.ID, Text: text, Since: r.At, Request: &e,
		})
	}
	if s.Ending == nil {
		list = append(list, choices(s)...)
	}
	for i := range list {
		if list[i].Host != "" {
			continue
		}
		if a, ok := s.Agent(list[i].Agent); ok {
			list[i].Host = a.Host
		}
	}
	slices.SortStableFunc(list, func(a, b InboxItem) int { return a.Since.Compare(b.Since) })
	return list
}

// waiting returns the ids of what waits for the human, except permission requests, and whom each is about.
func waiting(s *State) map[string]string {
	var open map[string]string
	for _, i := range InboxOf(s) {
		if i.Kind != InboxPermission {
			if open == nil {
				open = map[string]string{}
			}
			open[i.ID] = i.Agent
		}
	}
	return open
}

// settle reports what no longer waits for the human. The end of a permission request is reported where it is decided.
func (st *step) settle() {
	if len(st.waited) == 0 {
		return
	}
	open := waiting(&st.State)
	for _, id := range slices.Sorted(maps.Keys(st.waited)) {
		if _, still := open[id]; !still {
			st.emit(st.waited[id], contract.Settled{Item: id})
		}
	}
	st.waited = nil
}

// recoveryPrefix begins the id of the choice after a failure of an agent.
const recoveryPrefix = "recovery-"

// choices are the items that a choose command answers.
func choices(s *State) []InboxItem {
	var list []InboxItem
	if q := s.Lifecycle.TrustQuestion; q != nil {
		text := "The workspace is not as it was trusted. No agent starts until you have looked at it."
		switch {
		case q.Host != LifecycleHere && q.Hash == "":
			text = "What agents on host " + q.Host + " bring along cannot be read. None starts there until you have chosen."
		case q.Host != LifecycleHere:
			text = "Agents on host " + q.Host + " have settings that you have not trusted. None starts there until you " +
				"have looked at it."
		case q.Hash == "":
			text = "What the workspace brings along cannot be read. No agent starts until you have chosen."
		}
		list = append(list, InboxItem{
			ID: "trust", Kind: InboxTrust, Agent: contract.Supervisor, Text: text, Since: q.At, Choices: q.Choices(),
		})
	}
	if options := s.LimitOptions(); options != nil {
		list = append(list, InboxItem{ID: LimitQuestion, Kind: InboxLimit, Agent: contract.Supervisor,
			Text: s.LimitText(), Since: s.Budget.AskedAt, Choices: options})
	}
	for _, a := range s.Agents {
		parked := a.Role == RoleArbiter && a.Status == AgentParked
		options := s.Question.Recovery.Options
		switch {
		case parked:
			options = ParkedOptions()
		case len(options) == 0 || a.Role == RoleArbiter || a.ID != s.Question.Recovery.Agent:
			continue
		}
		list = append(list, InboxItem{
			ID: recoveryPrefix + a.ID, Kind: InboxRecovery, Agent: a.ID, Since: a.Since, Choices: options, Optional: !parked,
			Text: fmt.Sprintf("%s What can be done: %s.", failure(s, a), strings.Join(options, ", ")),
		})
	}
	for _, host := range s.Lifecycle.Retriable() {
		b, text := s.Lifecycle.Bridge(host), "Host %s cannot be used: %s. Mend that, and have it tried again: %s."
		if !b.Parked {
			text = "Host %s is out of reach: %s. It is tried again with growing pauses. To have it tried now: %s."
		}
		list = append(list, InboxItem{
			ID: "host-" + host, Kind: InboxRecovery, Agent: contract.Supervisor, Host: host, Since: b.Since,
			Choices: []string{RetryOption(host)}, Optional: !b.Parked,
			Text: fmt.Sprintf(text, host, strings.TrimRight(b.Reason, "."), RetryOption(host)),
		})
	}
	return list
}

// failure says why an agent needs a choice.
func failure(s *State, a *Agent) string {
	if s.Question.Recovery.Agent != a.ID || s.Question.Recovery.Text == "" {
		return a.Name + " failed."
	}
	return strings.TrimRight(s.Question.Recovery.Text, ".") + "."
}

// Awaited lists the items that only a human can settle: bell, badge and title are about them.
func Awaited(list []InboxItem) []InboxItem {
	return slices.DeleteFunc(slices.Clone(list), func(i InboxItem) bool { return i.Optional })
}

// Covered lists the ids of the open permission requests with which a rule was offered: to allow the rule answers
// them all.
func Covered(s *State, rule string) []string {
	if s == nil {
		return nil
	}
	var ids []string
	for _, r := range s.Permission.All() {
		if slices.Contains(r.Suggestions, rule) {
			ids = append(ids, r.ID)
		}
	}
	return ids
}

// answerWords are the words that begin an answer to a permission request.
var answerWords = map[string]struct{ behavior, scope string }{
	"y": {bridge.Allow, contract.ScopeOnce}, "yes": {bridge.Allow, contract.ScopeOnce},
	"allow": {bridge.Allow, contract.ScopeOnce}, "once": {bridge.Allow, contract.ScopeOnce},
	"run": {bridge.Allow, contract.ScopeRun}, "always": {bridge.Allow, contract.ScopeAlways},
	"n": {bridge.Deny, ""}, "no": {bridge.Deny, ""}, "deny": {bridge.Deny, ""},
}

// AnswerWord returns what a word that begins an answer to a permission request decides.
func AnswerWord(word string) (behavior, scope string, known bool) {
	w, known := answerWords[strings.ToLower(word)]
	return w.behavior, w.scope, known
}

// OfferedRules is how many of a request's rules can be named by a letter.
const OfferedRules = 9

// Answer turns what a person writes about an item into the command that answers it. Nothing may follow a word that
// allows, except a rule (its letter, or all of it), and the answer to what an MCP server asks.
func (i InboxItem) Answer(text string) (contract.CommandBody, error) {
	text = strings.TrimSpace(text)
	switch {
	case i.Request != nil:
		return i.permit(text)
	case len(i.Choices) > 0 && !slices.Contains(i.Choices, text):
		return nil, fmt.Errorf("answer with %s", strings.Join(i.Choices, ", or "))
	case len(i.Choices) > 0:
		return contract.Choose{Option: text}, nil
	case text == "":
		return nil, errors.New("write the answer")
	}
	return contract.Say{Text: text}, nil
}

func (i InboxItem) permit(text string) (contract.CommandBody, error) {
	word, rest, _ := strings.Cut(text, " ")
	behavior, scope, known := AnswerWord(word)
	p := contract.Permit{Request: i.ID, Action: i.Request.Action, Behavior: behavior, Scope: scope}
	switch rest = strings.TrimSpace(rest); {
	case !known:
		return nil, errors.New("answer with y, run, always, or n REASON")
	case behavior == bridge.Deny || i.Request.Tool == bridge.ElicitTool:
		p.Message = rest
	case rest != "":
		if p.Rule = i.rule(rest); p.Rule == "" || scope == contract.ScopeOnce {
			return nil, fmt.Errorf("nothing was allowed: write %s and nothing more, or a rule behind run or always", word)
		}
	}
	return p, nil
}

// rule returns the rule that a letter or a text names; empty: there is none.
func (i InboxItem) rule(text string) string {
	if len(text) == 1 {
		n := int(text[0]|0x20) - 'a'
		if n < 0 || n >= min(len(i.Request.Suggestions), OfferedRules) {
			return ""
		}
		return i.Request.Suggestions[n]
	}
	if r, err := policy.ParseRule(text); err != nil || !r.Known() {
		return ""
	}
	return text
}
