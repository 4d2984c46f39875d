package supervisor

// This file tracks the succession of the Arbiter: a new session replaces its session when its context is
// full.
//
// The Arbiter is asked for a document between two turns, and gives it with the decision HANDOFF; if it cannot, the
// supervisor generates one. Meanwhile, messages to the Arbiter wait for its successor, which receives the document
// with its first message ([State.RenewalBrief]).

import (
	"fmt"
	"slices"

	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// RenewalStage is the progress of a renewal.
type RenewalStage string

const (
	RenewalNone  RenewalStage = ""
	RenewalAsked RenewalStage = "asked" // the Arbiter was asked for its document
	RenewalGiven RenewalStage = "given" // it gave one, or one was generated; its successor is being started
)

// RenewalState tracks the renewals of the Arbiter.
type RenewalState struct {
	Stage          RenewalStage
	Count          int // of the Arbiter so far
	GeneratedInRow int // renewals in a row without a document of its own
	Rulings        int // since the last renewal
	ShortInRow     int // renewals in a row that were due again at once
}

const (
	// MaxGenerated is how often in a row an Arbiter may be renewed without its own document. One that never
	// rules would otherwise be renewed for ever.
	MaxGenerated = 2
	// MaxShort is how often in a row a renewal may be due again after a single ruling. If what an Arbiter
	// inherits, or has to read, fills its window, another renewal does not help.
	MaxShort = 3
)

// Withholds reports whether a message of this kind waits for the Arbiter's successor.
func (s *RenewalState) Withholds(kind string) bool {
	switch s.Stage {
	case RenewalAsked:
		return kind != KindRenewal && kind != KindCorrection && kind != KindRetry
	case RenewalGiven:
		return true
	}
	return false
}

// Lapse withdraws the request to the Arbiter if it can no longer answer: its turn ended with the run, or
// without a result.
func (s *RenewalState) Lapse(a *Agent, c *ConversationState) {
	if s.Stage != RenewalAsked || a.Status != AgentReady || a.Troubles > 0 {
		return
	}
	if !slices.ContainsFunc(slices.Concat(c.Mail, c.InTurn), func(m Mail) bool {
		return m.To == a.ID && !s.Withholds(m.Kind)
	}) {
		s.Stage = RenewalNone
	}
}

// IsDue reports whether the Arbiter's context is nearly full, between two turns. A turn that was cut off, or
// needs a correction, comes first.
func (s *RenewalState) IsDue(a *Agent, c *ConversationState) bool {
	if s.Stage != RenewalNone || a.Role != RoleArbiter || a.Status != AgentReady || !a.HasHistory || !a.ContextLow() ||
		a.Troubles > 0 {
		return false
	}
	return !slices.ContainsFunc(c.Mail, func(m Mail) bool { return m.To == a.ID && m.OfSession() })
}

// DemandText asks the Arbiter for its document.
func DemandText(a *Agent) string {
	return fmt.Sprintf("Your context is nearly full (%s). A successor "+
		"takes your place. It gets the task, the plan, the acceptance criteria, the decisions and the last messages "+
		"from the supervisor, and your document. "+
		"Use HANDOFF now. Write into the document: the goal, what was decided and rejected and why, what the human "+
		"said that still holds, how far each Orchestrator is, and what you were about to do. "+
		"Start nothing else; your successor decides on the messages that wait.", fullness(a))
}

// fullness says how full the Arbiter's context is, or why it is renewed although nobody knows.
func fullness(a *Agent) string {
	if a.Context.Window == 0 && a.ReachedLimit != "" {
		return a.ReachedLimit
	}
	return fmt.Sprintf("%.0f%% of %d tokens", a.Context.Pct, a.Context.Window)
}

// Objection says why a ruling does not fit the renewal; empty: it does. The end of the task needs no successor.
func (s *RenewalState) Objection(v verdict.Arbiter) string {
	switch {
	case v.Decision == verdict.Handoff && s.Stage != RenewalAsked:
		return "HANDOFF is taken only after a message of kind renewal, and you got none. Use another decision."
	case v.Decision != verdict.Handoff && v.Decision != verdict.Complete && s.Stage == RenewalAsked:
		return "Your context is nearly full. Use HANDOFF with your document: no other decision is taken now."
	}
	return ""
}
