package decider

import (
	"context"
	"errors"
)

// Decider decides. An error means that it gave no decision that can be acted on.
type Decider interface {
	SelectAgent(ctx context.Context, in SelectAgentInput) (Decision, error)
	EvaluateProgress(ctx context.Context, in EvaluateProgressInput) (Decision, error)
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

// The sources of decisions.
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

// errUnclear says that rules do not cover the case.
var errUnclear = errors.New("decider: no rule covers the case")

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
