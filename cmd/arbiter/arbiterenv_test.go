package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// scriptedModel plays a built-in scenario.
func scriptedModel(t *testing.T, name string) *rehearsal.Server {
	t.Helper()
	scenario := testkit.Must(rehearsal.Builtin(name))(t)
	model := testkit.Must(rehearsal.Start(scenario, rehearsal.Options{}))(t)
	t.Cleanup(func() { _ = model.Close() })
	return model
}

// rolesOf returns the roles that made requests to a server, each once.
func rolesOf(model *rehearsal.Server) []rehearsal.Role {
	var roles []rehearsal.Role
	for _, r := range model.Requests() {
		if r.Role != rehearsal.RoleSide && !slices.Contains(roles, r.Role) {
			roles = append(roles, r.Role)
		}
	}
	return roles
}

// TestEnvironmentOfTheArbiter: the Arbiter and the decider use one gateway, the Orchestrators another. No file
// contains a secret of the environment.
func TestEnvironmentOfTheArbiter(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for decider, asks := range map[string]rehearsal.Role{"session": rehearsal.RoleArbiter,
		"stateless": rehearsal.RoleMain} {
		for _, p := range players(t) {
			t.Run(decider+"/"+p.name, func(t *testing.T) {
				p.long(t)
				t.Parallel()
				workers, gateway := scriptedModel(t, "workflow"), scriptedModel(t, "workflow")
				claude := p.args[len(p.args)-1]
				if !p.real {
					claude = standInProgram(t)
				}
				config := write(t, "arbiter_env:\n  ANTHROPIC_BASE_URL: "+gateway.URL()+"\n  LOOM_TOKEN: "+nameless+
					"\n", t.TempDir(), "config.yaml")
				s := start(t, []string{"ANTHROPIC_BASE_URL=" + workers.URL(), "ANTHROPIC_API_KEY=" + workers.Key(),
					"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1"}, "--json", "--no-input", "--debug", "--claude",
					claude, "--cwd", t.TempDir(), "--allow", "Write", "--allow", "Bash(*)", "--task", "Weave",
					"--decider", decider, "--config", config)
				s.finish(contract.ExitComplete)
				for model, want := range map[*rehearsal.Server]rehearsal.Role{gateway: asks,
					workers: rehearsal.RoleOrchestrator} {
					if got := rolesOf(model); !slices.Equal(got, []rehearsal.Role{want}) {
						t.Errorf("asked by %v, want %v alone; problems %q", got, want, model.Problems())
					}
				}
				filesWithout(t, s.cmd.Dir, nameless)
			})
		}
	}
}

// TestArbiterEnvIsChecked: variables that would separate the Arbiter's session from the others are refused.
func TestArbiterEnvIsChecked(t *testing.T) {
	t.Parallel()
	s := prepare(t, nil)
	for arg, want := range map[string]string{"HOME=/tmp": "--arbiter-env HOME", "CLAUDE_CONFIG_DIR=x": "use --env",
		"odd": "use NAME=VALUE"} {
		_, errs := s.output(int(contract.ExitUsage), "--json", "--no-input", "--task", "Weave", "--arbiter-env", arg)
		if !strings.Contains(errs, want) {
			t.Errorf("%s: %s", arg, errs)
		}
	}
}
