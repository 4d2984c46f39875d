package decider

import (
	"context"
	"fmt"
	"time"
)

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

func (b broken) SelectAgent(context.Context, SelectAgentInput) (Decision, error) {
	return Decision{}, b.err
}

func (b broken) EvaluateProgress(context.Context, EvaluateProgressInput) (Decision, error) {
	return Decision{}, b.err
}
