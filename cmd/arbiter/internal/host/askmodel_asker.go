package host

// This part of the package sends the questions of a decider to a model: through a bridge, or over HTTP to a
// provider, within the budget of a run.

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Querier is the part of a bridge that an asker needs. *bridge.Client implements it.
type Querier interface {
	Query(ctx context.Context, p bridge.QueryParams) (bridge.QueryResult, error)
}

// Asker asks a model through the current bridge: after a lost bridge is replaced, the next question goes to the new
// one. It implements decider.Asker and is safe for concurrent use if its functions are.
type Asker struct {
	Bridge func() Querier // returns nil while there is no bridge
	// Options are the run's; Spent returns what the run has cost so far, in US dollars.
	Options runconfig.Options
	Spent   func() float64
	// Confined returns the sandbox of the run's agents. A nil function or result means no sandbox.
	Confined func() *bridge.SandboxConfig
}

// askGrace is how much longer the bridge's timeout is than the decider's.
const askGrace = 5 * time.Second

// Ask implements decider.Asker. Errors are *askError.
func (a Asker) Ask(ctx context.Context, q decider.Question) (decider.Answer, error) {
	o := a.Options
	p := bridge.QueryParams{
		Model: settings.ModelOf(o), Effort: o.DeciderEffort, CWD: o.CWD,
		SystemPrompt: q.System, Prompt: q.Prompt, JSONSchema: q.Schema,
		SettingSources: []string{"user"}, Env: o.EnvOfArbiter(),
		TimeoutMS: int((o.DeciderTimeout + askGrace).Milliseconds()),
	}
	if a.Confined != nil {
		p.Sandbox = a.Confined()
	}
	if o.Trusted {
		p.SettingSources = []string{"user", "project"}
	}
	var err error
	if p.MaxBudgetUSD, err = budgetLeft(o, a.Spent); err != nil {
		return decider.Answer{}, err
	}
	if o.Provider.MaxTokens > 0 {
		p.Env = maps.Clone(p.Env)
		if p.Env == nil {
			p.Env = map[string]string{}
		}
		p.Env[maxOutputTokens] = strconv.Itoa(o.Provider.MaxTokens)
	}
	b := a.Bridge()
	if b == nil {
		return decider.Answer{}, &askError{err: bridge.ErrClosed}
	}
	r, err := b.Query(ctx, p)
	answer := decider.Answer{Text: cmp.Or(string(r.Output), r.Text), Usage: usageOf(r), Model: r.Model}
	if err != nil {
		return answer, askErrorOf(err)
	}
	return answer, nil
}

// maxOutputTokens is the environment variable with Claude Code's limit for the length of an answer.
const maxOutputTokens = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"

// budgetLeft returns what a question may cost; 0 means no limit. It is an error if nothing is left.
func budgetLeft(o runconfig.Options, spent func() float64) (float64, error) {
	if o.MaxCostUSD <= 0 {
		return 0, nil
	}
	left := o.MaxCostUSD - spent()
	if left <= 0 {
		return 0, &askError{err: fmt.Errorf("nothing is left of --max-cost %g", o.MaxCostUSD),
			category: bridge.CatBudget}
	}
	return left, nil
}

func usageOf(r bridge.QueryResult) decider.Usage {
	return decider.Usage{
		Input: r.Usage.Input, Output: r.Usage.Output,
		CacheRead: r.Usage.CacheRead, CacheCreation: r.Usage.CacheCreation, CostUSD: r.CostUSD,
	}
}

// askError says why a model gave no answer.
type askError struct {
	err      error
	category bridge.Category // empty if the bridge itself failed
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

// Transient reports whether asking again may help: after a temporary API error, and while a bridge is being
// replaced.
func (e *askError) Transient() bool {
	switch e.category {
	case bridge.CatOverloaded, bridge.CatRateLimit, bridge.CatServer, bridge.CatTimeout, bridge.CatCrash:
		return true
	case "":
		return errors.Is(e.err, bridge.ErrClosed)
	}
	return false
}

// Hopeless reports whether every other question would fail too, because the cause is the environment.
func (e *askError) Hopeless() bool {
	switch e.category {
	case bridge.CatClaudeMissing, bridge.CatUnsupported, bridge.CatAuth, bridge.CatStart, bridge.CatUsageLimit:
		return true
	}
	return false
}
