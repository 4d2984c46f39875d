package bridge

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/sourcegraph/jsonrpc2"
)

// Sandbox makes the fake launcher a [Sandboxer].
func (l *fakeLauncher) Sandbox(_ context.Context, of Owner, p SandboxParams) (SandboxResult, error) {
	return SandboxResult{Reason: of.Run + " in " + p.CWD, Version: "0.8.0"}, nil
}

var oneTrial = SandboxParams{CWD: "/w", Env: map[string]string{"X": "y"},
	Config: SandboxConfig{Program: "/usr/bin/bwrap", Write: []string{"/a"}, Hide: []string{"/b"},
		Reach: []string{"/b/c"}}}

func TestSandboxReachesTheSandboxer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, &fakeLauncher{}, &recorder{})
		defer r.leave(t)
		got, err := r.Sandbox(r.ctx, oneTrial)
		if diff := cmp.Diff(SandboxResult{Reason: "run-1 in /w", Version: "0.8.0"}, got); err != nil || diff != "" {
			t.Errorf("%v, -want +got:\n%s", err, diff)
		}
	})
}

func TestSandboxParametersAreChecked(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := newRig(t, &fakeLauncher{}, &recorder{})
		defer r.leave(t)
		relative := &SandboxConfig{Program: "bwrap"}
		for name, ask := range map[string]func() error{
			"no program": func() error { _, err := r.Sandbox(r.ctx, SandboxParams{CWD: "/w"}); return err },
			"no directory": func() error {
				_, err := r.Sandbox(r.ctx, SandboxParams{Config: oneTrial.Config})
				return err
			},
			"a relative program": func() error {
				_, err := r.Sandbox(r.ctx, SandboxParams{CWD: "/w", Config: *relative})
				return err
			},
			"a relative path": func() error {
				_, err := r.Sandbox(r.ctx,
					SandboxParams{CWD: "/w", Config: SandboxConfig{Program: "/b", Hide: []string{"x"}}})
				return err
			},
			"of an agent": func() error {
				_, err := r.Spawn(r.ctx,
					SpawnParams{AgentRef: AgentRef{"orch-1", 1},
						Config: AgentConfig{SessionID: "s", CWD: "/w", Sandbox: relative}})
				return err
			},
			"of a check": func() error {
				_, err := r.Check(r.ctx, CheckParams{Command: "true", CWD: "/w", Sandbox: relative})
				return err
			},
			"of a query": func() error { q := oneQuery; q.Sandbox = relative; _, err := r.Query(r.ctx, q); return err },
		} {
			var rpc *RPCError
			if err := ask(); !errors.As(err, &rpc) || rpc.Code != jsonrpc2.CodeInvalidParams {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

// TestNoSandboxer: a launcher that cannot try sandboxes does not claim that it can.
func TestNoSandboxer(t *testing.T) {
	bubble(t, func(t *testing.T) {
		r := joinedRigOf(t, noQuerier{&fakeLauncher{}}, &recorder{}, nil)
		defer r.leave(t)
		res, err := r.Initialize(r.ctx, InitializeParams{Client: "test", Run: "run-1"})
		if err != nil || slices.Contains(res.Capabilities, MethodSandbox) {
			t.Errorf("capabilities: %v, %v", res.Capabilities, err)
		}
		if _, err := r.Sandbox(r.ctx, oneTrial); codeOf(err) != CodeUnsupported ||
			!strings.Contains(err.Error(), "no sandbox") {
			t.Errorf("served: %v", err)
		}
	})
}
