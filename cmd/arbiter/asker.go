package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// querier is what an asker needs of a bridge. *bridge.Client is one.
type querier interface {
	Query(ctx context.Context, p bridge.QueryParams) (bridge.QueryResult, error)
}

// asker puts questions to a model through whichever bridge is there: one that is lost
// is replaced, and the next question goes to the new one. It is a decider.Asker, safe
// for concurrent use where its functions are.
type asker struct {
	bridge func() querier // nil where there is none at present
	// options are the run's; spent is what it has cost so far, in US dollars.
	options runconfig.Options
	spent   func() float64
	// confined is what confines the run's agents; nil, or nil from it, for nothing.
	confined func() *bridge.SandboxConfig
}

// askGrace is how much later than the decider's patience the bridge's own ends.
const askGrace = 5 * time.Second

// Ask implements decider.Asker. Errors are *askError.
func (a asker) Ask(ctx context.Context, q decider.Question) (decider.Answer, error) {
	o := a.options
	p := bridge.QueryParams{
		Model: modelOf(o), Effort: o.DeciderEffort, CWD: o.CWD,
		SystemPrompt: q.System, Prompt: q.Prompt, JSONSchema: q.Schema,
		SettingSources: []string{"user"}, Env: o.Env, TimeoutMS: int((o.DeciderTimeout + askGrace).Milliseconds()),
	}
	if a.confined != nil {
		p.Sandbox = a.confined()
	}
	if o.Trusted {
		p.SettingSources = []string{"user", "project"}
	}
	if o.MaxCostUSD > 0 {
		if p.MaxBudgetUSD = o.MaxCostUSD - a.spent(); p.MaxBudgetUSD <= 0 {
			return decider.Answer{}, &askError{err: fmt.Errorf("nothing is left of --max-cost %g", o.MaxCostUSD),
				category: bridge.CatBudget}
		}
	}
	b := a.bridge()
	if b == nil {
		return decider.Answer{}, &askError{err: bridge.ErrClosed}
	}
	r, err := b.Query(ctx, p)
	answer := decider.Answer{Text: cmp.Or(string(r.Output), r.Text), Usage: usageOf(r)}
	if err != nil {
		return answer, askErrorOf(err)
	}
	return answer, nil
}

// modelOf is the model of a decider: its own, else the Arbiter's, else every agent's,
// else the CLI's default.
func modelOf(o runconfig.Options) string { return cmp.Or(o.DeciderModel, o.ArbiterModel, o.Model) }

func usageOf(r bridge.QueryResult) decider.Usage {
	return decider.Usage{
		Input: r.Usage.Input, Output: r.Usage.Output,
		CacheRead: r.Usage.CacheRead, CacheCreation: r.Usage.CacheCreation, CostUSD: r.CostUSD,
	}
}

// askError says why a model gave no answer.
type askError struct {
	err      error
	category bridge.Category // empty where the bridge itself is the trouble
}

func askErrorOf(err error) *askError {
	e := &askError{err: err}
	var rpc *bridge.RPCError
	if errors.As(err, &rpc) {
		e.category = rpc.Category
	}
	return e
}

func (e *askError) Error() string { return "ask a model: " + e.err.Error() }

func (e *askError) Unwrap() error { return e.err }

// Transient reports whether asking again may help: API trouble that passes, and a bridge
// that is being replaced.
func (e *askError) Transient() bool {
	switch e.category {
	case bridge.CatOverloaded, bridge.CatRateLimit, bridge.CatServer, bridge.CatTimeout, bridge.CatCrash:
		return true
	case "":
		return errors.Is(e.err, bridge.ErrClosed)
	}
	return false
}

// hopeless reports whether no other question would fare better: the environment is at fault.
func (e *askError) hopeless() bool {
	switch e.category {
	case bridge.CatClaudeMissing, bridge.CatUnsupported, bridge.CatAuth, bridge.CatStart, bridge.CatUsageLimit:
		return true
	}
	return false
}
