package runhost

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/hosts"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// sandboxOf answers a host's trial.
type sandboxOf func(p bridge.SandboxParams) (bridge.SandboxResult, error)

func (f sandboxOf) Sandbox(_ context.Context, p bridge.SandboxParams) (bridge.SandboxResult, error) {
	return f(p)
}

// TestSandboxOnAHost: a host whose sandbox is missing or does not hold is refused, if agents have one.
func TestSandboxOnAHost(t *testing.T) {
	bwrap := bridge.RemoteInfo{Dir: "/srv/far", Sandbox: "/usr/bin/bwrap"}
	holds := func(p bridge.SandboxParams) (bridge.SandboxResult, error) {
		if p.CWD != "/srv/far" || p.Config.Program != "/usr/bin/bwrap" {
			t.Errorf("tried %+v", p)
		}
		return bridge.SandboxResult{Holds: true}, nil
	}
	for name, c := range map[string]struct {
		here *bridge.SandboxConfig
		info bridge.RemoteInfo
		try  sandboxOf
		want string // in the error; empty: there is none
	}{
		"none is wanted":  {nil, bridge.RemoteInfo{SandboxReason: "no bwrap"}, nil, ""},
		"it holds":        {&bridge.SandboxConfig{}, bwrap, holds, ""},
		"there is none":   {&bridge.SandboxConfig{}, bridge.RemoteInfo{SandboxReason: "no bwrap"}, nil, "no bwrap"},
		"it does not":     {&bridge.SandboxConfig{}, bwrap, sandboxOf(leaks), "a file got out"},
		"it is not tried": {&bridge.SandboxConfig{}, bwrap, sandboxOf(fails), "could not be tried"},
	} {
		r := &runtimeRun{log: slog.New(slog.DiscardHandler)}
		r.choices.Options.Sandbox = c.here
		failed := r.confineOn(t.Context(), "box", c.try, c.info)
		switch {
		case c.want == "" && failed != nil:
			t.Errorf("%s: %+v", name, failed)
		case c.want != "" && (failed == nil || failed.Category != bridge.CatSandbox ||
			!strings.Contains(failed.Message, c.want) || !strings.Contains(failed.Message, "host box")):
			t.Errorf("%s: %+v", name, failed)
		}
	}
}

func leaks(bridge.SandboxParams) (bridge.SandboxResult, error) {
	return bridge.SandboxResult{Reason: "a file got out"}, nil
}

func fails(bridge.SandboxParams) (bridge.SandboxResult, error) {
	return bridge.SandboxResult{}, errors.New("no answer")
}

// TestPassedValuesAreMasked: whatever a variable is called whose value agents on a host get.
func TestPassedValuesAreMasked(t *testing.T) {
	t.Setenv("LOOM_PASS", "warp-and-weft-41")
	t.Setenv("LOOM_DIR", "/srv/looms/west")
	there := hosts.Config{Hosts: []hosts.Host{{Name: "box", PassEnv: []string{"LOOM_PASS", "LOOM_DIR"}}}}
	text := "the host said warp-and-weft-41 in /srv/looms/west"
	if got := settings.MaskerOf(runconfig.Options{}, there)(text); got != text {
		t.Errorf("of a host that the run does not use: %q", got)
	}
	got := settings.MaskerOf(runconfig.Options{Hosts: []runconfig.Host{{Name: "box"}}}, there)(text)
	if strings.Contains(got, "warp-and-weft") || !strings.Contains(got, "/srv/looms/west") {
		t.Errorf("masked: %q", got)
	}
}
