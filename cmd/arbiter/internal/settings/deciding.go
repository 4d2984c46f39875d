package settings

import (
	"cmp"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/urfave/cli/v2"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// deciders are the valid values of --decider.
var deciders = []string{runconfig.DeciderSession, runconfig.DeciderStateless, runconfig.DeciderHybrid,
	runconfig.DeciderRules}

// efforts are the levels of the CLI's --effort (2.1.329).
var efforts = []string{"low", "medium", "high", "xhigh", "max"}

// Providers are the valid values of --decider-provider.
var Providers = []string{runconfig.ProviderClaude, decider.OpenAI, decider.APIAnthropic}

// Default environment variables for the keys of providers.
var keyVariables = map[string]string{decider.OpenAI: "OPENAI_API_KEY", decider.APIAnthropic: "ANTHROPIC_API_KEY"}

// variableName matches a valid name of an environment variable.
var variableName = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`)
})

// mostTokens bounds --decider-max-tokens; no model's answer is that long.
const mostTokens = 1 << 20

// readProvider checks the provider of the decider. If a provider is asked over HTTP and no decider is named, the
// decider is stateless.
func (s *Choices) readProvider(c *cli.Context) error {
	o := &s.Options
	p := &o.Provider
	if p.Name == runconfig.ProviderClaude {
		p.Name = ""
	}
	if p.Name != "" && !slices.Contains(Providers, p.Name) {
		return command.Usagef("--decider-provider %q: a decider asks %s; other programs and models are reached through "+
			"openai and --decider-base-url, if they serve Chat Completions", p.Name, alternatives(Providers))
	}
	if p.OverHTTP() && (!c.IsSet("decider") || o.Decider == "") {
		o.Decider = runconfig.DeciderStateless
		if s.Given["decider-provider"] {
			s.Given["decider"] = true
		}
	}
	o.Decider = cmp.Or(o.Decider, runconfig.DeciderSession)
	if s.Resume {
		return nil // the rest is checked with the original options of the run
	}
	if err := CheckProvider(*o); err != nil {
		return err
	}
	if !p.OverHTTP() && p.Temperature != nil {
		if s.Given["decider-temperature"] {
			return command.Usagef("--decider-temperature: Claude Code has no switch for it: use --decider-provider openai or " +
				"anthropic, or leave it out")
		}
		s.Unused = "the temperature of the configuration is not used: Claude Code has no switch for it; " +
			"--decider-provider openai and anthropic take one"
	}
	return nil
}

// CheckProvider checks the settings of a provider, without reading a key.
func CheckProvider(o runconfig.Options) error {
	p := o.Provider
	switch {
	case p.MaxTokens < 0 || p.MaxTokens > mostTokens:
		return command.Usagef("--decider-max-tokens %d: must be between 0 and %d", p.MaxTokens, mostTokens)
	case p.Temperature != nil && !(*p.Temperature >= 0 && *p.Temperature <= 2):
		return command.Usagef("--decider-temperature %g: must be between 0 and 2", *p.Temperature)
	case p.KeyEnv != "" && !variableName().MatchString(p.KeyEnv):
		// It may be a key by mistake, so do not repeat it.
		return command.Usagef("--decider-key-env: name the environment variable that holds the key, such as %s, not the key",
			cmp.Or(keyVariables[p.Name], "OPENAI_API_KEY"))
	case !p.OverHTTP() && (p.BaseURL != "" || p.KeyEnv != ""):
		return command.Usagef("--decider-base-url and --decider-key-env are for --decider-provider openai and anthropic: " +
			"name one; Claude Code has a login of its own")
	}
	if !p.OverHTTP() {
		return nil
	}
	if err := decider.CheckBaseURL(p.BaseURL, KeyVariable(p) != ""); err != nil {
		return command.Usagef("--decider-base-url %v", err)
	}
	if ModelOf(o) == "" {
		return command.Usagef("--decider-base-url %s: name a model of that server with --decider-model", p.BaseURL)
	}
	return nil
}

// KeyVariable returns the environment variable with the key; empty: no key is sent. A server that the user names
// never gets a key that is meant for another one.
func KeyVariable(p runconfig.Provider) string {
	if p.KeyEnv != "" || p.BaseURL != "" {
		return p.KeyEnv
	}
	return keyVariables[p.Name]
}

// MaskerOf returns a function that masks the secrets known to this process, including the key of the decider's
// provider.
func MaskerOf(o runconfig.Options, there hosts.Config) func(string) string {
	envs := []map[string]string{o.Env, o.ArbiterEnv}
	var named []string
	if name := KeyVariable(o.Provider); name != "" {
		named = append(named, name)
	}
	for _, h := range o.Hosts {
		host, _ := there.Find(h.Name)
		named = append(named, slices.DeleteFunc(slices.Clone(host.PassEnv), func(name string) bool {
			return filepath.IsAbs(os.Getenv(name)) // a path occurs in other texts, and is not a secret
		})...)
	}
	return SecretMasker(envs, named...)
}

// alternatives joins words with commas and "or"; many words are a list.
func alternatives(words []string) string {
	if len(words) > 3 {
		return "one of " + strings.Join(words, ", ")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// claudeModel is the default model of a decider on Claude Code: a small one, because a decision is short and its
// input is complete. The CLI resolves haiku to a model for the user's login.
const claudeModel = "haiku"

// ModelOf returns the model of a decider; empty: it must be named.
func ModelOf(o runconfig.Options) string {
	if o.DeciderModel != "" {
		return o.DeciderModel
	}
	if o.Provider.OverHTTP() {
		return decider.DefaultModel(o.Provider.Name, o.Provider.BaseURL)
	}
	return claudeModel
}
