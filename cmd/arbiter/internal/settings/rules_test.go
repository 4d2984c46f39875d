package settings

import (
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

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
