package decider

import (
	"context"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/decision"
)

// Options say which decider is built.
type Options struct {
	Name    string // session (or empty), stateless, hybrid, rules
	Ask     Asker  // these two for stateless and hybrid
	Prompts Prompts
	BuiltIn Prompts       // taken where Prompts fail, with a warning; may be nil
	Timeout time.Duration // for one answer; 0: none
	Store   Store         // nil: every question is asked
	// Asked says whom Ask asks and how: its provider, model and settings. With Templates (a hash of them) it is part
	// of the cache's key: another model's answer is another answer.
	Asked     []string
	Templates string
	// Strict has failures come back as errors instead of falling back to the rules, for
	// trying a model out.
	Strict bool
	Warn   func(string) // told of each fallback; may be nil
}

// Build chains the deciders that a name stands for. With an unknown name every decision is an
// error: the rules decide, and report it.
func Build(o Options) Decider {
	var first Decider
	switch o.Name {
	case "", "session":
		return Session{}
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

// model is the same for every name, so that they share what is cached.
func (o Options) model() Decider {
	m := Model{Ask: o.Ask, Prompts: o.Prompts, BuiltIn: o.BuiltIn, Timeout: o.Timeout}
	if o.Store == nil {
		return m
	}
	return Cached{Of: m, Store: o.Store, Salt: fmt.Sprintf("%q %q", o.Asked, o.Templates)}
}

// broken decides nothing.
type broken struct{ err error }

func (b broken) SelectAgent(context.Context, decision.SelectAgentInput) (Decision, error) {
	return Decision{}, b.err
}

func (b broken) EvaluateProgress(context.Context, decision.EvaluateProgressInput) (Decision, error) {
	return Decision{}, b.err
}
