package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// sandboxOf answers the trial of a host's sandbox.
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
		want string // in the error; empty: no error
	}{
		"none is wanted":  {nil, bridge.RemoteInfo{SandboxReason: "no bwrap"}, nil, ""},
		"it holds":        {&bridge.SandboxConfig{}, bwrap, holds, ""},
		"there is none":   {&bridge.SandboxConfig{}, bridge.RemoteInfo{SandboxReason: "no bwrap"}, nil, "no bwrap"},
		"it does not":     {&bridge.SandboxConfig{}, bwrap, sandboxOf(leaks), "a file got out"},
		"it is not tried": {&bridge.SandboxConfig{}, bwrap, sandboxOf(fails), "could not be tried"},
	} {
		b := NewBridges(RemoteRun{Options: func() runconfig.Options { return runconfig.Options{Sandbox: c.here} },
			Log: slog.New(slog.DiscardHandler)})
		failed := b.trySandbox(t.Context(), "box", c.try, c.info)
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
