package settings

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestResumeSandbox: a run keeps what confined it, and one that began without a sandbox gets none, unless a setting
// is given again.
func TestResumeSandbox(t *testing.T) {
	now := confinement{Mode: sandboxAuto, Network: bridge.NetworkProxy}
	was := &bridge.SandboxConfig{Write: []string{"/w"}, Network: bridge.NetworkNone, Hosts: []string{"a.example"}}
	for name, c := range map[string]struct {
		old   runconfig.Options
		given []string
		want  confinement
	}{
		"confined": {runconfig.Options{Sandbox: was}, nil,
			confinement{Mode: SandboxOn, Write: was.Write, Network: bridge.NetworkNone, Hosts: was.Hosts}},
		"with new settings": {runconfig.Options{Sandbox: was},
			[]string{"network", "allow-host", "sandbox", "sandbox-write"}, now},
		"before there was a network": {runconfig.Options{Sandbox: &bridge.SandboxConfig{}}, nil,
			confinement{Mode: SandboxOn, Network: bridge.NetworkProxy}},
		"unconfined":          {runconfig.Options{}, nil, confinement{Mode: SandboxOff, Network: bridge.NetworkProxy}},
		"unconfined, but now": {runconfig.Options{}, []string{"sandbox"}, now},
		"it did not hold":     {runconfig.Options{SandboxReason: "why"}, nil, now},
	} {
		given := map[string]bool{}
		for _, flag := range c.given {
			given[flag] = true
		}
		choices := Choices{Sandbox: now, Given: given}
		choices.ResumeSandbox(c.old)
		if diff := cmp.Diff(c.want, choices.Sandbox); diff != "" {
			t.Errorf("%s: -want +got:\n%s", name, diff)
		}
	}
}

// TestHiddenLogin: agents are not confined by default if they could not log in then.
func TestHiddenLogin(t *testing.T) {
	for _, c := range []struct {
		env    map[string]string
		hidden string
	}{
		{nil, ""}, {map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1"}, "Bedrock"},
		{map[string]string{"CLAUDE_CODE_USE_BEDROCK": "1", "AWS_ACCESS_KEY_ID": "x"}, ""},
		{map[string]string{"CLAUDE_CODE_USE_VERTEX": "1"}, "Vertex"},
	} {
		got := Choices{Options: runconfig.Options{Env: c.env}}.hiddenLogin()
		if !strings.Contains(got, c.hidden) || (got == "") != (c.hidden == "") {
			t.Errorf("%v: %q", c.env, got)
		}
	}
}
