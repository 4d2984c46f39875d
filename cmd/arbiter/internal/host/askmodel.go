package host

// This part of the package sends the questions of a decider to a model: through a bridge, or over HTTP to a
// provider, within the budget of a run.

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// Querier is the part of a bridge that an asker needs. *bridge.Client implements it.
type Querier interface {
	Query(ctx context.Context, p bridge.QueryParams) (bridge.QueryResult, error)
}

// Asker asks a model, within the budget of the run, through the current bridge: after a lost bridge is replaced, the
// next question goes to the new one. A provider is asked over HTTP; it reports tokens but no prices, so its cost is not
// counted. Asker implements decider.Asker and is safe for concurrent use if its functions are.
type Asker struct {
	Options runconfig.Options
	ModelRun
	api *decider.APIClient // asked instead of the bridge; nil: none
}

// askGrace is how much longer the bridge's timeout is than the decider's.
const askGrace = 5 * time.Second

// Ask implements decider.Asker. Errors of the bridge and the budget are *askError.
func (a Asker) Ask(ctx context.Context, q decider.Question) (decider.Answer, error) {
	o, now := a.Options, &supervisor.State{}
	if a.State != nil {
		now = a.State()
	}
	budget, err := left(now)
	switch {
	case err != nil:
		return decider.Answer{}, err
	case a.api != nil:
		return a.api.Ask(ctx, q)
	}
	p := bridge.QueryParams{
		Model: settings.ModelOf(o), Effort: o.DeciderEffort, CWD: o.CWD,
		SystemPrompt: q.System, Prompt: q.Prompt, JSONSchema: q.Schema,
		SettingSources: []string{"user"}, Env: o.EnvOfArbiter(),
		TimeoutMS: int((o.DeciderTimeout + askGrace).Milliseconds()), MaxBudgetUSD: budget,
		Sandbox: now.Options.Sandbox,
	}
	if o.Trusted {
		p.SettingSources = []string{"user", "project"}
	}
	if o.Provider.MaxTokens > 0 {
		p.Env = with(p.Env, maxOutputTokens, strconv.Itoa(o.Provider.MaxTokens))
	}
	b := a.Bridge()
	if b == nil {
		return decider.Answer{}, &askError{err: bridge.ErrClosed}
	}
	end := func(bool) {}
	if a.Telemetry != nil {
		var parent string
		parent, end = a.Telemetry.Question()
		p.Env = with(p.Env, traceparent, parent)
	}
	r, err := b.Query(ctx, p)
	end(err != nil)
	answer := decider.Answer{Text: cmp.Or(string(r.Output), r.Text), Model: r.Model,
		Usage: decider.Usage{Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead,
			CacheCreation: r.Usage.CacheCreation, CostUSD: r.CostUSD}}
	if err == nil {
		return answer, nil
	}
	failed := &askError{err: err}
	if rpc, ok := errors.AsType[*bridge.RPCError](err); ok {
		failed.category, answer.Usage.CostUSD = rpc.Category, rpc.CostUSD
	}
	return answer, failed
}

// maxOutputTokens is the environment variable with Claude Code's limit for the length of an answer.
const maxOutputTokens = "CLAUDE_CODE_MAX_OUTPUT_TOKENS"

// left returns what a question may cost; 0 means no limit. It is an error if nothing is left.
func left(s *supervisor.State) (float64, error) {
	limit, spent := s.Options.MaxCostUSD, s.Spent() // a human may have changed the limit
	if limit > 0 && spent >= limit {
		return 0, &askError{err: fmt.Errorf("nothing is left of --max-cost %g", limit), category: bridge.CatBudget}
	}
	return max(limit-spent, 0), nil
}

// askError says why a model gave no answer.
type askError struct {
	err      error
	category bridge.Category // empty if the bridge itself failed
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
	case bridge.CatClaudeMissing, bridge.CatUnsupported, bridge.CatAuth, bridge.CatCredit, bridge.CatStart,
		bridge.CatUsageLimit:
		return true
	}
	return false
}

// cachedDecisions is the maximum number of decisions in the cache of a state directory.
const cachedDecisions = 10_000

// cacheName is the cache's directory in the state directory.
const cacheName = "decisions"

// ModelRun is the run that a decider works for, or the command that asks one. Its functions are called when a question
// is asked.
type ModelRun struct {
	StateDir string                   // of the decision cache
	Stage    *Stage                   // nil unless it is a rehearsal
	State    func() *supervisor.State // of the run now, with its limit and its sandbox; nil: there is no run
	Bridge   func() Querier           // returns nil while there is no bridge
	// Telemetry makes each question a span; nil: there are none.
	Telemetry *Exporter
	Strict    bool // a failing decider is not replaced by the rules
	Log       *slog.Logger
}

// Opened is the decider of a run with the resources that it holds. The zero value holds none.
type Opened struct {
	Decider decider.Decider
	closers []func()
}

// OpenDecider makes the decider of a run from its final options: a later change of the model applies to agents only.
// The caller closes it.
func OpenDecider(o runconfig.Options, run ModelRun) (opened Opened, err error) {
	defer func() {
		if err != nil {
			opened.Close()
		}
	}()
	set, err := decider.NewSet(o.Templates)
	if err != nil {
		return opened, command.Usagef("prompt templates: %v", err)
	}
	p, temperature := o.Provider, ""
	if p.Temperature != nil {
		temperature = fmt.Sprint(*p.Temperature)
	}
	// The decision cache distinguishes templates, and the provider and the model with its settings.
	raw, _ := json.Marshal(o.Templates) // strings only; keys are sorted
	templates := sha256.Sum256(append(raw, command.Version()...))
	d := decider.Options{Name: o.Decider, Prompts: set, Timeout: o.DeciderTimeout,
		Asked: []string{cmp.Or(p.Name, runconfig.ProviderClaude), p.BaseURL, settings.ModelOf(o), o.DeciderEffort,
			fmt.Sprint(p.MaxTokens), temperature},
		Templates: hex.EncodeToString(templates[:]), Strict: run.Strict}
	if o.DecisionCache {
		failed := func(err error) { run.Log.Warn("decision cache", "error", err) }
		cache, err := decider.OpenDirStore(filepath.Join(run.StateDir, cacheName), cachedDecisions, failed)
		if err != nil {
			return opened, command.Environmentf("decision cache: %v", err)
		}
		opened.closers = append(opened.closers, func() { _ = cache.Close() }) // it was only read
		d.Store = cache
	}
	ask := Asker{Options: o, ModelRun: run}
	if OverHTTP(o) {
		if ask.api, err = OpenProvider(o, run.Stage); err != nil {
			return opened, err
		}
		opened.closers = append(opened.closers, ask.api.Close)
	}
	d.Ask = ask
	opened.Decider = decider.Build(d)
	return opened, nil
}

// Close releases the decider's resources. It may be called more than once.
func (o *Opened) Close() {
	for _, end := range o.closers {
		end()
	}
	o.closers = nil
}

// OverHTTP reports whether a run's decider asks a provider over HTTP.
func OverHTTP(o runconfig.Options) bool {
	return o.Provider.OverHTTP() && (o.Decider == runconfig.DeciderStateless || o.Decider == runconfig.DeciderHybrid)
}

// OpenProvider makes the client of the decider's provider; in a rehearsal it asks the scripted model, with its key.
func OpenProvider(o runconfig.Options, rehearsal *Stage) (*decider.APIClient, error) {
	p := o.Provider
	c := decider.APIConfig{
		Provider: p.Name, BaseURL: p.BaseURL, Model: settings.ModelOf(o), MaxTokens: p.MaxTokens, Temperature: p.Temperature,
		Effort: o.DeciderEffort, KeyName: settings.KeyVariable(p),
	}
	switch {
	case rehearsal != nil:
		c.BaseURL, c.KeyName = rehearsal.Server.URL()+"/v1", ""
		c.Key = decider.NewKey(rehearsal.Server.Key())
	case c.KeyName != "":
		c.Key = decider.NewKey(os.Getenv(c.KeyName))
		if c.Key.Empty() {
			return nil, command.Environmentf("--decider-provider %s: the environment variable %s is not set or empty: set it "+
				"to the API key, or name another variable with --decider-key-env", p.Name, c.KeyName)
		}
	}
	client, err := decider.NewAPIClient(c)
	if err != nil {
		return nil, command.Environmentf("decider: %v", err)
	}
	return client, nil
}
