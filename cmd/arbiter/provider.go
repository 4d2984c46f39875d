package main

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/secrets"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/decider/modelapi"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// providers are the names that --decider-provider takes.
var providers = []string{runconfig.ProviderClaude, modelapi.OpenAI, modelapi.Anthropic}

// Variables that hold the keys of providers by their own habit.
var keyVariables = map[string]string{modelapi.OpenAI: "OPENAI_API_KEY", modelapi.Anthropic: "ANTHROPIC_API_KEY"}

// variableName is what a variable of the environment may be called.
var variableName = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)

// mostTokens bounds --decider-max-tokens: no model gives an answer as long.
const mostTokens = 1 << 20

// readProvider checks whom a decider asks. A provider that is asked over HTTP makes the decider stateless where
// nothing says who decides.
func (s *choices) readProvider(c *cli.Context) error {
	o := &s.Options
	p := &o.Provider
	if p.Name == runconfig.ProviderClaude {
		p.Name = ""
	}
	if p.Name != "" && !slices.Contains(providers, p.Name) {
		return command.Usagef("--decider-provider %q: a decider asks %s; other programs and models are reached through "+
			"openai and --decider-base-url, if they serve Chat Completions", p.Name, alternatives(providers))
	}
	if p.OverHTTP() && (!c.IsSet("decider") || o.Decider == "") {
		o.Decider = runconfig.DeciderStateless
		if s.given["decider-provider"] {
			s.given["decider"] = true
		}
	}
	if s.Resume {
		return nil // the rest is checked with what the run began with
	}
	if err := checkProvider(*o); err != nil {
		return err
	}
	if !p.OverHTTP() && p.Temperature != nil {
		if s.given["decider-temperature"] {
			return command.Usagef("--decider-temperature: Claude Code has no switch for it: use --decider-provider openai or " +
				"anthropic, or leave it out")
		}
		s.Unused = "the temperature of the configuration is not used: Claude Code has no switch for it; " +
			"--decider-provider openai and anthropic take one"
	}
	return nil
}

// checkProvider checks the settings of a provider, without reading a key.
func checkProvider(o runconfig.Options) error {
	p := o.Provider
	switch {
	case p.MaxTokens < 0 || p.MaxTokens > mostTokens:
		return command.Usagef("--decider-max-tokens %d: must be between 0 and %d", p.MaxTokens, mostTokens)
	case p.Temperature != nil && !(*p.Temperature >= 0 && *p.Temperature <= 2):
		return command.Usagef("--decider-temperature %g: must be between 0 and 2", *p.Temperature)
	case p.KeyEnv != "" && !variableName.MatchString(p.KeyEnv):
		// It may be a key by mistake, so it is not repeated.
		return command.Usagef("--decider-key-env: name the environment variable that holds the key, such as %s, not the key",
			cmp.Or(keyVariables[p.Name], "OPENAI_API_KEY"))
	case !p.OverHTTP() && (p.BaseURL != "" || p.KeyEnv != ""):
		return command.Usagef("--decider-base-url and --decider-key-env are for --decider-provider openai and anthropic: " +
			"name one; Claude Code has a login of its own")
	}
	if !p.OverHTTP() {
		return nil
	}
	if err := modelapi.CheckBaseURL(p.BaseURL, keyVariable(p) != ""); err != nil {
		return command.Usagef("--decider-base-url %v", err)
	}
	if modelOf(o) == "" {
		return command.Usagef("--decider-base-url %s: name a model of that server with --decider-model", p.BaseURL)
	}
	return nil
}

// keyVariable is the variable that holds the key; empty: none is sent. A server that the user names gets no key
// that was meant for another one.
func keyVariable(p runconfig.Provider) string {
	if p.KeyEnv != "" || p.BaseURL != "" {
		return p.KeyEnv
	}
	return keyVariables[p.Name]
}

// asksProvider reports whether a run's decider asks a provider over HTTP.
func asksProvider(o runconfig.Options) bool {
	return o.Provider.OverHTTP() && (o.Decider == runconfig.DeciderStateless || o.Decider == runconfig.DeciderHybrid)
}

// openProvider makes the client of the decider's provider; in a rehearsal it asks the scripted model, with its key.
func openProvider(o runconfig.Options, rehearsal *stage) (*modelapi.Client, error) {
	p := o.Provider
	c := modelapi.Config{
		Provider: p.Name, BaseURL: p.BaseURL, Model: modelOf(o), MaxTokens: p.MaxTokens, Temperature: p.Temperature,
		Effort: o.DeciderEffort, KeyName: keyVariable(p),
	}
	switch {
	case rehearsal != nil:
		c.BaseURL, c.KeyName = rehearsal.server.URL()+"/v1", ""
		c.Key = modelapi.NewKey(rehearsal.server.Key())
	case c.KeyName != "":
		c.Key = modelapi.NewKey(os.Getenv(c.KeyName))
		if c.Key.Empty() {
			return nil, command.Environmentf("--decider-provider %s: the environment variable %s is not set or empty: set it "+
				"to the API key, or name another variable with --decider-key-env", p.Name, c.KeyName)
		}
	}
	client, err := modelapi.New(c)
	if err != nil {
		return nil, command.Environmentf("decider: %v", err)
	}
	return client, nil
}

// apiAsker asks a provider over HTTP, within the budget of the run. Providers tell tokens and no prices, so what
// they cost is not counted.
type apiAsker struct {
	client  *modelapi.Client
	options runconfig.Options
	spent   func() float64
}

// Ask implements decider.Asker.
func (a apiAsker) Ask(ctx context.Context, q decider.Question) (decider.Answer, error) {
	if _, err := budgetLeft(a.options, a.spent); err != nil {
		return decider.Answer{}, err
	}
	return a.client.Ask(ctx, q)
}

// askedAs says whom a decider asks and how, for the cache of decisions.
func askedAs(o runconfig.Options) []string {
	p := o.Provider
	temperature := ""
	if p.Temperature != nil {
		temperature = fmt.Sprint(*p.Temperature)
	}
	return []string{cmp.Or(p.Name, runconfig.ProviderClaude), p.BaseURL, modelOf(o), o.DeciderEffort,
		fmt.Sprint(p.MaxTokens), temperature}
}

// maskerOf masks the secrets that this process knows, the key of the decider's provider among them.
func maskerOf(o runconfig.Options, there hosts.Config) func(string) string {
	envs := []map[string]string{o.Env, o.ArbiterEnv}
	var named []string
	if name := keyVariable(o.Provider); name != "" {
		named = append(named, name)
	}
	for _, h := range o.Hosts {
		host, _ := there.Find(h.Name)
		named = append(named, slices.DeleteFunc(slices.Clone(host.PassEnv), func(name string) bool {
			return filepath.IsAbs(os.Getenv(name)) // a path is in other texts, and no secret
		})...)
	}
	return secrets.Masker(envs, named...)
}

// alternatives lists words of which one is to be used.
func alternatives(words []string) string {
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}
