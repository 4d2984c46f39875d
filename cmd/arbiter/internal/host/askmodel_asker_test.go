package host

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// scriptedBridge answers one query.
type scriptedBridge struct {
	asked  []bridge.QueryParams
	answer bridge.QueryResult
	err    error
}

func (b *scriptedBridge) Query(_ context.Context, p bridge.QueryParams) (bridge.QueryResult, error) {
	b.asked = append(b.asked, p)
	return b.answer, b.err
}

// stateOf is a run with a limit, as far as that was spent.
func stateOf(limit, spent float64) func() *supervisor.State {
	return func() *supervisor.State {
		s := &supervisor.State{}
		s.Options.MaxCostUSD, s.Budget.CostUSD = limit, spent
		return s
	}
}

func TestAskerAsksAsAgentsAre(t *testing.T) {
	b := &scriptedBridge{answer: bridge.QueryResult{
		Output: []byte(`{"decision":"CONTINUE"}`), Text: "prose", CostUSD: 0.25,
		Usage: bridge.Usage{Input: 1, Output: 2, CacheRead: 3, CacheCreation: 4},
	}}
	a := Asker{
		ModelRun: ModelRun{Bridge: func() Querier { return b }, State: stateOf(2, 1.5)},
		Options: runconfig.Options{
			CWD: "/w", Model: "every", ArbiterModel: "arbiters", DeciderEffort: "low", DeciderTimeout: time.Minute,
			Trusted: true, Env: map[string]string{"A": "b"},
		},
	}
	got := testkit.Must(a.Ask(context.Background(), decider.Question{System: "s", Prompt: "p", Schema: []byte(`{}`)}))(t)
	want := decider.Answer{Text: `{"decision":"CONTINUE"}`,
		Usage: decider.Usage{Input: 1, Output: 2, CacheRead: 3, CacheCreation: 4, CostUSD: 0.25}}
	testkit.Same(t, "", want, got)
	asked := []bridge.QueryParams{{
		Model: "haiku", Effort: "low", CWD: "/w", SystemPrompt: "s", Prompt: "p", JSONSchema: []byte(`{}`),
		SettingSources: []string{"user", "project"}, MaxBudgetUSD: 0.5, Env: map[string]string{"A": "b"},
		TimeoutMS: 65_000,
	}}
	testkit.Same(t, "", asked, b.asked)
}

func TestDecidersModel(t *testing.T) {
	for want, o := range map[string]runconfig.Options{
		"d":                {DeciderModel: "d", ArbiterModel: "a", Model: "m"},
		"haiku":            {ArbiterModel: "a", Model: "m"},
		"claude-haiku-4-5": {Provider: runconfig.Provider{Name: "anthropic", BaseURL: "http://localhost"}},
		"gpt-4.1-mini":     {Provider: runconfig.Provider{Name: "openai"}},
		"":                 {Provider: runconfig.Provider{Name: "openai", BaseURL: "http://localhost"}},
	} {
		testkit.Same(t, o, want, settings.ModelOf(o))
	}
}

func TestAskerReportsTransientErrors(t *testing.T) {
	for _, c := range []struct {
		name                string
		err                 error
		transient, hopeless bool
	}{
		{"overloaded", &bridge.RPCError{Category: bridge.CatOverloaded}, true, false},
		{"rate limit", &bridge.RPCError{Category: bridge.CatRateLimit}, true, false},
		{"server", &bridge.RPCError{Category: bridge.CatServer}, true, false},
		{"crash", &bridge.RPCError{Category: bridge.CatCrash}, true, false},
		{"no output", &bridge.RPCError{Category: bridge.CatVerdict, CostUSD: 0.5}, false, false},
		{"refusal", &bridge.RPCError{Category: bridge.CatRefusal}, false, false},
		{"login", &bridge.RPCError{Category: bridge.CatAuth}, false, true},
		{"no credit", &bridge.RPCError{Category: bridge.CatCredit}, false, true},
		{"usage limit", &bridge.RPCError{Category: bridge.CatUsageLimit}, false, true},
		{"no claude", &bridge.RPCError{Category: bridge.CatClaudeMissing}, false, true},
		{"lost bridge", fmt.Errorf("query: %w", bridge.ErrClosed), true, false},
		{"called off", context.Canceled, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := Asker{ModelRun: ModelRun{Bridge: func() Querier { return &scriptedBridge{err: c.err} }}}
			answer, err := a.Ask(context.Background(), decider.Question{})
			rpc, _ := errors.AsType[*bridge.RPCError](c.err)
			testkit.Check(t, rpc == nil || answer.Usage.CostUSD == rpc.CostUSD, "it has cost %v", answer.Usage.CostUSD)
			var asked *askError
			testkit.Need(t, errors.As(err, &asked) && errors.Is(err, c.err), "%v is not an askError over %v", err,
				c.err)
			testkit.Check(t, asked.Transient() == c.transient && asked.Hopeless() == c.hopeless,
				"transient %v, hopeless %v", asked.Transient(), asked.Hopeless())
		})
	}
}

func TestAskerWithoutBridgeOrBudget(t *testing.T) {
	a := Asker{ModelRun: ModelRun{Bridge: func() Querier { return nil }}}
	_, err := a.Ask(context.Background(), decider.Question{})
	var asked *askError
	testkit.Check(t, errors.As(err, &asked) && asked.Transient(), "without a bridge: %v", err)
	b := &scriptedBridge{}
	limit := 1.0
	a = Asker{Options: runconfig.Options{MaxCostUSD: limit}, ModelRun: ModelRun{Bridge: func() Querier { return b },
		State: func() *supervisor.State { return stateOf(limit, 1)() }}}
	_, err = a.Ask(context.Background(), decider.Question{})
	testkit.Check(t, errors.As(err, &asked) && !asked.Transient() && len(b.asked) == 0,
		"without a budget: %v, %d asked", err, len(b.asked))
	limit = 3 // a human raises it
	testkit.Works(t, "with a higher limit", testkit.Err(a.Ask(context.Background(), decider.Question{})))
	testkit.Check(t, len(b.asked) == 1 && b.asked[0].MaxBudgetUSD == 2, "asked %+v", b.asked)
}
