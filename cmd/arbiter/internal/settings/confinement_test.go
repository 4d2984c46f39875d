package settings

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
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
		testkit.Same(t, name, c.want, choices.Sandbox)
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

func TestRootMayNotAllowAll(t *testing.T) {
	t.Setenv("IS_SANDBOX", "1")
	t.Setenv("CLAUDE_CODE_BUBBLEWRAP", "1")
	all := runconfig.Options{Permissions: "allow-all"}
	boxed := all
	boxed.Sandbox = &bridge.SandboxConfig{}
	for name, tt := range map[string]struct {
		o        runconfig.Options
		rehearse bool
		uid      int
		refused  bool
	}{
		"root":               {o: all, refused: true},
		"somebody else":      {o: all, uid: 1000},
		"root in a sandbox":  {o: boxed},
		"root in rehearsal":  {o: all, rehearse: true},
		"root in other mode": {o: runconfig.Options{Permissions: "accept-edits"}},
	} {
		err := refuseUser(tt.o, tt.rehearse, tt.uid)
		if (err != nil) != tt.refused {
			t.Errorf("%s: %v", name, err)
		}
		var e *command.Error
		if err != nil &&
			(!errors.As(err, &e) || e.Code != contract.ExitUsage || !strings.Contains(err.Error(), "--sandbox")) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestRootMayAllowAllInASandbox: a required sandbox counts before it was tried. An optional one does not.
func TestRootMayAllowAllInASandbox(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("anybody else may")
	}
	for mode, refused := range map[string]bool{SandboxOff: true, sandboxAuto: true, SandboxOn: false} {
		c := Choices{Options: runconfig.Options{Permissions: "allow-all"}, Sandbox: confinement{Mode: mode}}
		if err := c.RefuseRoot(false); (err != nil) != refused {
			t.Errorf("--sandbox %s: %v", mode, err)
		}
	}
}
