package decider

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"
)

// Decider decides. An error means that it gave no decision that can be acted on.
type Decider interface {
	Decide(ctx context.Context, in Input) (Decision, error)
}

// Input is what is decided on: a [SelectAgentInput] or an [EvaluateProgressInput].
type Input interface {
	Point() DecisionPoint
	// Rule is the decision of the rules. clear means that it needs no model; an empty decision means that there is no
	// agent.
	Rule() (d Decision, clear bool)
	agents() []AgentDescription // who may be chosen
}

func (SelectAgentInput) Point() DecisionPoint      { return PointSelect }
func (EvaluateProgressInput) Point() DecisionPoint { return PointEvaluate }

func (in TaskInput) agents() []AgentDescription { return in.AvailableAgents }

// ReadInput reads the input of a point, with a function that is given where to.
func ReadInput(p DecisionPoint, read func(any) error) (Input, error) {
	switch p {
	case PointSelect:
		var in SelectAgentInput
		err := read(&in)
		return in, err
	case PointEvaluate:
		var in EvaluateProgressInput
		err := read(&in)
		return in, err
	}
	return nil, fmt.Errorf("no input is built at %q", p)
}

// Decision is a decision, and how it was made.
type Decision struct {
	Decision string `json:"decision"` // SELECT_MODE, CONTINUE, RETRY or COMPLETE
	Mode     string `json:"mode,omitempty"`
	Reason   string `json:"reason"`
	Message  string `json:"message,omitempty"` // to the agent: the brief, or what to do differently
	Summary  string `json:"summary,omitempty"` // with COMPLETE
	Aside    bool   `json:"aside,omitempty"`   // what the agent does is not a step of the plan

	Source   Source   `json:"source"`
	System   string   `json:"system,omitempty"`   // the system prompt, as the model read it
	Prompt   string   `json:"prompt,omitempty"`   // as the model read it; empty if none was asked
	Answer   string   `json:"answer,omitempty"`   // as the model gave it
	Warnings []string `json:"warnings,omitempty"` // problems on the way; a fallback has at least one
	Attempts int      `json:"attempts,omitempty"` // of a model
	Model    string   `json:"model,omitempty"`    // the model that answered, by its own name
	Usage    Usage    `json:"usage,omitzero"`
}

// Source says who decided.
type Source string

const (
	BySession  Source = "session"
	ByModel    Source = "model"
	ByRules    Source = "rules"
	ByCache    Source = "cache"
	ByFallback Source = "fallback"
	ByHuman    Source = "human"
)

// Usage is the tokens and the cost of a decision.
type Usage struct {
	Input         int     `json:"input_tokens,omitempty"`
	Output        int     `json:"output_tokens,omitempty"`
	CacheRead     int     `json:"cache_read_input_tokens,omitempty"`
	CacheCreation int     `json:"cache_creation_input_tokens,omitempty"`
	CostUSD       float64 `json:"cost_usd,omitempty"`
}

// ErrDeferred is not a failure: the decision will be given in the Arbiter's own conversation.
var ErrDeferred = errors.New("decider: the Arbiter rules on it in its own turn")

// Asker puts one prompt to a model that has no other context, and returns its answer.
type Asker interface {
	Ask(ctx context.Context, q Question) (Answer, error)
}

// Question is one prompt. The Asker chooses model and effort.
type Question struct {
	System string
	Prompt string
	Schema []byte // JSON Schema of the answer, flat
}

// Answer is a model's answer: JSON if it followed the schema, perhaps with text or fences around it.
type Answer struct {
	Text    string
	Usage   Usage
	Model   string   // the model that answered; empty: not known
	Problem string   // what is known to be wrong with it, in words for the model; empty: nothing
	Notes   []string // other remarks, such as settings that the model does not accept
}

// The possible decisions. SELECT_MODE spawns the named agent; CONTINUE continues with the one that worked
// last, RETRY lets it try again in another way; COMPLETE ends the task.
const (
	SelectMode = "SELECT_MODE"
	Continue   = "CONTINUE"
	Retry      = "RETRY"
	Complete   = "COMPLETE"
)

// kinds lists the decisions that are possible at a point. When an agent is to be selected, no agent works,
// so none can continue (ADR-0005's prompts). An evaluation may name the next
// agent at once: ADR-0005's interface allows it and its prompt omits it.
func kinds(p DecisionPoint) []string {
	switch p {
	case PointSelect:
		return []string{SelectMode, Complete, Retry}
	case PointEvaluate:
		return []string{Continue, Complete, Retry, SelectMode}
	default:
		return nil
	}
}

func known(agents []AgentDescription, name string) bool {
	return slices.ContainsFunc(agents, func(a AgentDescription) bool { return a.Name == name })
}

// actionable reports whether a decision on an input can be acted on.
func actionable(d Decision, in Input) bool {
	return slices.Contains(kinds(in.Point()), d.Decision) && d.Reason != "" &&
		(d.Decision != SelectMode || known(in.agents(), d.Mode))
}

func names(agents []AgentDescription) []string {
	list := make([]string, len(agents))
	for i, a := range agents {
		list[i] = a.Name
	}
	return list
}

// Record is a decision with its input, or the question before there is a decision.
type Record struct {
	Number int           // of the run's decisions, counted from 1; at a Decide effect, the one it will be
	Serial int           `json:",omitempty"` // of the question it answers; 0: it is only recorded
	Point  DecisionPoint // which question
	About  string        `json:",omitempty"` // the agent whose document was judged, or who was chosen
	// Input is a SelectAgentInput or EvaluateProgressInput; absent at PointTalk.
	Input    json.RawMessage `json:",omitempty"`
	Decision Decision
	// Failed says why there is no decision; Deferred says that the Arbiter's session will give it.
	Failed   string `json:",omitempty"`
	Deferred bool   `json:",omitempty"`
}

// Ask puts a recorded input to a decider, and returns its decision.
func Ask(ctx context.Context, d Decider, point DecisionPoint, input json.RawMessage) (Decision, error) {
	if d == nil {
		return Decision{}, errors.New("there is no decider")
	}
	in, err := ReadInput(point, func(to any) error { return json.Unmarshal(input, to) })
	if err != nil {
		return Decision{}, fmt.Errorf("input of a decision: %w", err)
	}
	return d.Decide(ctx, in)
}

// Options say which decider to build.
type Options struct {
	Name    string // session (or empty), stateless, hybrid, rules
	Ask     Asker  // Ask and Prompts: for stateless and hybrid
	Prompts Prompts
	BuiltIn Prompts       // used where Prompts fail, with a warning; may be nil
	Timeout time.Duration // for one answer; 0: none
	Store   Store         // nil: every question is asked
	// Asked describes what Ask asks: its provider, model and settings. With Templates (a hash of them) it is
	// part of the cache's key: the answer of another model is a different answer.
	Asked     []string
	Templates string
	// Strict returns failures as errors instead of falling back to the rules. It is for trying out a model.
	Strict bool
	Warn   func(string) // called for each fallback; may be nil
}

// Build chains the deciders of a name. With an unknown name every decision is an error: the rules decide, and
// report it.
func Build(o Options) Decider {
	var first Decider
	switch o.Name {
	case "", "session":
		return broken{ErrDeferred} // the Arbiter's own conversation decides
	case "rules":
		return Rules{}
	case "stateless":
		first = o.model()
	case "hybrid":
		first = Hybrid{Rest: o.model()}
	default:
		first = broken{fmt.Errorf("decider: there is no decider %s", quote(o.Name))}
	}
	if o.Strict {
		return first
	}
	return Fallback{First: first, Warn: o.Warn}
}

// model is the same for every name, so that all names share the cache.
func (o Options) model() Decider {
	m := Model{Ask: o.Ask, Prompts: o.Prompts, BuiltIn: o.BuiltIn, Timeout: o.Timeout}
	if o.Store == nil {
		return m
	}
	return Cached{Of: m, Store: o.Store, Salt: fmt.Sprintf("%q %q", o.Asked, o.Templates)}
}

// broken never decides: its error says why.
type broken struct{ err error }

func (b broken) Decide(context.Context, Input) (Decision, error) { return Decision{}, b.err }
