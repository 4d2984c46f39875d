package host

import (
	"cmp"
	"context"
	"fmt"
	"os"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

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

// HTTPAsker asks a provider over HTTP, within the budget of the run. Providers report tokens but no prices, so
// their cost is not counted.
type HTTPAsker struct {
	Client  *decider.APIClient
	Options runconfig.Options
	Spent   func() float64
}

// Ask implements decider.Asker.
func (a HTTPAsker) Ask(ctx context.Context, q decider.Question) (decider.Answer, error) {
	if _, err := budgetLeft(a.Options, a.Spent); err != nil {
		return decider.Answer{}, err
	}
	return a.Client.Ask(ctx, q)
}

// askedAs identifies the provider and the model settings of a decider, for the decision cache.
func askedAs(o runconfig.Options) []string {
	p := o.Provider
	temperature := ""
	if p.Temperature != nil {
		temperature = fmt.Sprint(*p.Temperature)
	}
	return []string{cmp.Or(p.Name, runconfig.ProviderClaude), p.BaseURL, settings.ModelOf(o), o.DeciderEffort,
		fmt.Sprint(p.MaxTokens), temperature}
}
