package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/decider"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestWorkflowByProviders: with every provider, the same task ends in the same way by the same decisions; these
// can be explained, and are the same when made again.
func TestWorkflowByProviders(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, provider := range settings.Providers {
		for _, p := range players(t) {
			t.Run(provider+"/"+p.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				asks := []string{"--decider-provider", provider, "--decider-max-tokens", "2000"}
				if provider != runconfig.ProviderClaude {
					asks = append(asks, "--decider-temperature", "0.3")
				}
				s := start(t, nil, slices.Concat(p.args, asks, []string{"--json", "--no-input", "--scenario",
					"workflow", "--task", "Weave", "--decider", "hybrid"})...)
				r := s.finish(contract.ExitComplete)
				if diff := cmp.Diff(taskRulings("rules", "rules", "model", "rules", "rules", "model"),
					rulingsOf(s)); diff != "" {
					t.Errorf("decisions (-want +got):\n%s", diff)
				}
				testkit.Same(t, "states", taskMoves, moves(s))
				if !sums(r, "The loom stands in loom.txt.") || r.Iterations != 4 {
					t.Errorf("result %+v", r)
				}
				model := map[string]string{decider.OpenAI: decider.OpenAIModel,
					decider.APIAnthropic: decider.AnthropicModel}[provider]
				out, _ := s.output(0, "decide", "--explain", s.run(), "--number", "3")
				for _, want := range []string{"by         model " + model, "\nprompt, as it was read:\n",
					"\nsystem prompt, as it was read:\nYou ",
					"# What you decide", "answer, as it was given:\n{\"decision\":\"RETRY\""} {
					if !strings.Contains(out, want) {
						t.Errorf("explained without %q:\n%s", want, out)
					}
				}
				out, _ = s.output(0, slices.Concat([]string{"replay", s.run(), "--decisions", "--scenario", "workflow",
					"--decider", "stateless", "--only", "3,6"}, p.args, asks)...)
				if !strings.HasPrefix(out, "stateless: 2 asked, 2 the same") {
					t.Error(out)
				}
			})
		}
	}
}

// TestProvidersAnswersAreCached: answers are cached by provider and settings.
func TestProvidersAnswersAreCached(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	flags := []string{"--stand-in", "--json", "--no-input", "--scenario", "workflow", "--task", "Weave",
		"--decision-cache", "--decider-provider"}
	s := start(t, nil, append(flags, "openai")...)
	s.finish(contract.ExitComplete)
	fresh := taskRulings("model", "model", "model", "model", "model", "model")
	known := taskRulings("cache", "cache", "cache", "cache", "cache", "model")
	for _, c := range []struct {
		args []string
		want []string
	}{
		{[]string{"openai"}, known}, {[]string{"openai", "--decider-temperature", "0"}, fresh},
		{[]string{"anthropic"}, fresh}, {[]string{"anthropic"}, known},
	} {
		again := s.again(append(flags, c.args...)...)
		again.finish(contract.ExitComplete)
		testkit.Same(t, c.args, c.want, rulingsOf(again))
	}
}

// TestProviderSettings: each wrong setting is refused with what to do. A key that is given in place of its
// variable's name is not repeated in the error.
func TestProviderSettings(t *testing.T) {
	t.Parallel()
	s := prepare(t, nil)
	const key = "sk-live-4711-looms-and-threads"
	for _, c := range []struct {
		args  []string
		exit  contract.Exit
		words string
	}{
		{[]string{"--decider-provider", "codex"}, contract.ExitUsage, "claude, openai or anthropic"},
		{[]string{"--decider-base-url", "http://127.0.0.1:1"}, contract.ExitUsage, "--decider-provider openai"},
		{[]string{"--decider-provider", "openai", "--decider-base-url", "http://127.0.0.1:1"}, contract.ExitUsage,
			"--decider-model"},
		{[]string{"--decider-provider", "openai", "--decider-base-url", "ftp://x"}, contract.ExitUsage, "https://"},
		{[]string{"--decider-provider", "openai", "--decider-base-url", "http://models.example/v1", "--decider-key-env",
			"LOOM"}, contract.ExitUsage, "without encryption"},
		{[]string{"--decider-provider", "openai", "--decider-key-env", key}, contract.ExitUsage, "OPENAI_API_KEY"},
		{[]string{"--decider-temperature", "0.3"}, contract.ExitUsage, "Claude Code has no switch"},
		{[]string{"--decider-provider", "openai", "--decider-temperature", "3"}, contract.ExitUsage, "between 0 and 2"},
		{[]string{"--decider-provider", "openai", "--decider-temperature", "NaN"}, contract.ExitUsage,
			"between 0 and 2"},
		{[]string{"--decider-max-tokens", "-1"}, contract.ExitUsage, "between 0 and"},
		{[]string{"--decider-provider", "openai"}, contract.ExitEnvironment, "OPENAI_API_KEY is not set"},
		{[]string{"--decider-provider", "anthropic", "--decider-key-env", "LOOM"}, contract.ExitEnvironment,
			"LOOM is not set"},
	} {
		for _, command := range [][]string{{"--json", "--no-input", "--task", "Weave"}, {"decide", "--input", "-"}} {
			if command[0] == "decide" && c.exit == contract.ExitEnvironment {
				continue // it reads its input first
			}
			out, errs := s.output(int(c.exit), append(command, c.args...)...)
			if command[0] == "decide" && !strings.Contains(errs, "input") && !strings.Contains(errs, c.words) ||
				command[0] != "decide" && !strings.Contains(errs, c.words) || strings.Contains(out+errs, key) {
				t.Errorf("%v %v: %s%s", command, c.args, out, errs)
			}
		}
	}
}

// TestProviderInTheConfiguration: the configuration's blocks for the decider, in its own form and in that of
// the decision record, and for agents.
func TestProviderInTheConfiguration(t *testing.T) {
	s := prepare(t, []string{"LOOM=tapestry-4711"})
	for name, c := range map[string]struct {
		text, args string
		exit       contract.Exit
		words      string // of stderr
	}{
		"a block": {"decider: {kind: hybrid, provider: openai, base_url: http://127.0.0.1:1/v1, key_env: LOOM2, " +
			"model: m, max_tokens: 9, temperature: 0.5, effort: low, timeout: 5s}", "", contract.ExitEnvironment,
			"LOOM2 is not set"},
		"an unknown key": {"decider:\n  base-url: x", "", contract.ExitUsage, ":2: decider: unknown key \"base-url\""},
		"a wrong value": {"decider: {max_tokens: many}", "", contract.ExitUsage,
			"decider.max_tokens: \"many\" is not"},
		"twice": {"decider: {model: a}\ndecider-model: b", "", contract.ExitUsage,
			":2: decider-model: given twice"},
		"a plain value": {"decider: oracle", "", contract.ExitUsage, "decider \"oracle\""},
		"the record's": {"arbiter: {provider: openai, model: m, maxTokens: 1024, temperature: 0.3}", "",
			contract.ExitEnvironment, "OPENAI_API_KEY is not set"},
		"another agent": {"provider:\n  default: opencode", "", contract.ExitUsage,
			":2: provider.default: there is no make \"opencode\": configure it under makes; there are claude"},
		"another arbiter": {"arbiter: {provider: codex}", "", contract.ExitUsage, "claude, openai or anthropic"},
		"this agent": {"provider: {default: claude}\narbiter: {provider: codex}", "", contract.ExitUsage,
			"\"codex\""},
		"no mapping": {"arbiter: opus", "", contract.ExitUsage, "arbiter"},
		// A key is not sent to an address that comes from another source.
		"a key for another address": {"decider: {provider: openai, key_env: LOOM, base_url: http://127.0.0.1:1/v1}",
			"--decider-provider anthropic", contract.ExitEnvironment, "ANTHROPIC_API_KEY is not set"},
	} {
		file := write(t, c.text+"\n", t.TempDir(), "config.yaml")
		args := append([]string{"--json", "--no-input", "--task", "Weave", "--config", file}, strings.Fields(c.args)...)
		if _, errs := s.output(int(c.exit), args...); !strings.Contains(errs, c.words) {
			t.Errorf("%s: %s", name, errs)
		}
	}
	t.Run("is played", func(t *testing.T) {
		s := prepare(t, nil, "--json", "--no-input", "--stand-in", "--scenario", "workflow", "--task", "Weave")
		dir := filepath.Join(s.cmd.Dir, ".config", "arbiter")
		testkit.OK(t, os.MkdirAll(dir, 0o700))
		write(t, "provider: {default: claude-code}\narbiter: {provider: claude, maxTokens: 1024, temperature: 0.3}\n"+
			"decider: rules\n", dir, "config.yaml")
		s.launch()
		s.finish(contract.ExitComplete)
		if got := s.stderr.String(); !strings.Contains(got, "temperature of the configuration is not used") {
			t.Error(got)
		}
	})
}
