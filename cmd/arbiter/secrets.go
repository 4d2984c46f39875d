package main

import (
	"cmp"
	"context"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
)

// masker masks secrets: those of known formats, and the values that variables of this
// process and of --env hold under names such as *_TOKEN.
func masker(env map[string]string) func(string) string {
	var values []string
	note := func(name, value string) {
		if secretVariable(name, value) && tellingApart(value) {
			values = append(values, value)
		}
	}
	for _, entry := range os.Environ() {
		name, value, _ := strings.Cut(entry, "=")
		note(name, value)
	}
	for name, value := range env {
		note(name, value)
	}
	slices.SortFunc(values, func(a, b string) int { return cmp.Or(cmp.Compare(len(b), len(a)), cmp.Compare(a, b)) })
	values = slices.Compact(values)
	return func(s string) string {
		for _, v := range values {
			if strings.Contains(s, v) {
				s = strings.ReplaceAll(s, v, maskOf(v))
			}
		}
		return sanitize.Redact(s)
	}
}

func maskOf(value string) string { return "*redacted:" + strconv.Itoa(len(value)) + "*" }

// secretVariable says whether a variable holds a secret, by its name or by its value.
func secretVariable(name, value string) bool {
	pair := name + "=" + value
	return value != "" && sanitize.Redact(pair) != pair
}

// tellingApart says whether a value is one to look for in other texts: not a word that
// stands there for itself.
func tellingApart(value string) bool {
	return len(value) >= 12 && (strings.ContainsAny(value, "0123456789") || len(value) >= 24) && !strings.HasPrefix(value, "/")
}

// withoutSecrets is an environment as the journal keeps it. Those who start processes get
// the values from [port]; a run that is taken up is given them again.
func withoutSecrets(env map[string]string) map[string]string {
	kept := maps.Clone(env)
	for name, value := range env {
		if secretVariable(name, value) {
			kept[name] = maskOf(value)
		}
	}
	return kept
}

// secretMark says whether a value is what withoutSecrets put in a secret's place.
func secretMark(value string) bool {
	n, ok := strings.CutPrefix(value, "*redacted:")
	if !ok {
		return false
	}
	n, ok = strings.CutSuffix(n, "*")
	_, err := strconv.Atoi(n)
	return ok && err == nil
}

// recorded are the run's options as the journal keeps them.
func (r *runtimeRun) recorded() supervisor.Options {
	o := r.choices.Options
	if o.Env != nil {
		o.Env = withoutSecrets(o.Env)
	}
	return o
}

// forgotten removes from an environment what an earlier life did not record, and names it.
func forgotten(env map[string]string) (kept map[string]string, names []string) {
	kept = map[string]string{}
	for name, value := range env {
		if secretMark(value) {
			names = append(names, name)
		} else {
			kept[name] = value
		}
	}
	slices.Sort(names)
	if names == nil {
		return env, nil
	}
	return kept, names
}

// revealed has the values again that withoutSecrets took out.
func (p port) revealed(env map[string]string) map[string]string {
	if !slices.ContainsFunc(slices.Collect(maps.Values(env)), secretMark) {
		return env
	}
	out := maps.Clone(env)
	for name, value := range env {
		if real, ok := p.env[name]; ok {
			out[name] = real
		} else if secretMark(value) {
			delete(out, name)
		}
	}
	return out
}

// Spawn implements supervisor.Port.
func (p port) Spawn(ctx context.Context, params bridge.SpawnParams) (bridge.SpawnResult, error) {
	params.Config.Env = p.revealed(params.Config.Env)
	return p.Client.Spawn(ctx, params)
}

// Check implements supervisor.Port.
func (p port) Check(ctx context.Context, params bridge.CheckParams) (bridge.CheckResult, error) {
	params.Env = p.revealed(params.Env)
	return p.Client.Check(ctx, params)
}

// Survey implements supervisor.Port.
func (p port) Survey(ctx context.Context, params bridge.SurveyParams) (bridge.SurveyResult, error) {
	params.Env = p.revealed(params.Env)
	return p.Client.Survey(ctx, params)
}
