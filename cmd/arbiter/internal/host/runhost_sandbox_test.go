package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// trial is the answer to a trial of a sandbox.
type trial struct {
	bridge.SandboxResult
	err error
}

func (t trial) Sandbox(context.Context, bridge.SandboxParams) (bridge.SandboxResult, error) {
	return t.SandboxResult, t.err
}

// TestConfinement: the agents' sandbox after a trial, and whether agents may work.
func TestConfinement(t *testing.T) {
	holds, copies, leaks := trial{SandboxResult: bridge.SandboxResult{Holds: true, ScratchReason: "no overlay"}},
		trial{SandboxResult: bridge.SandboxResult{Holds: true, Scratch: true}},
		trial{SandboxResult: bridge.SandboxResult{Reason: "a file got out"}}
	for name, c := range map[string]struct {
		mode, missing string
		had           bool // the last bridge had a sandbox that held
		trial         trial
		sandboxed     bool
		scratch       bool
		reason        string // in the options
		refused       string // in the failure; empty: agents may work
		unsandboxed   string
	}{
		"off":              {mode: settings.SandboxOff, trial: leaks},
		"off from now on":  {mode: settings.SandboxOff, had: true},
		"it holds":         {mode: "auto", trial: holds, sandboxed: true},
		"checks on copies": {mode: "auto", trial: copies, sandboxed: true, scratch: true},
		"off, with copies": {mode: settings.SandboxOff, trial: copies},
		"it leaks":         {mode: "auto", trial: leaks, reason: "a file got out", unsandboxed: "a file got out"},
		"it leaks, and must not": {
			mode: settings.SandboxOn, trial: leaks, reason: "a file got out", refused: "a file got out"},
		"there is none": {
			mode: "auto", missing: "no bwrap", trial: holds, reason: "no bwrap", unsandboxed: "no bwrap"},
		"there must be one":     {mode: settings.SandboxOn, missing: "no bwrap", reason: "no bwrap", refused: "no bwrap"},
		"no copies from now on": {mode: "auto", had: true, trial: holds, sandboxed: true},
		"it leaks from now on": {mode: "auto", had: true, trial: leaks, sandboxed: true, scratch: true,
			refused: "a file got out"},
		"it cannot be tried again": {
			mode: "auto", had: true, trial: trial{err: errors.New("gone")}, sandboxed: true, scratch: true,
			refused: "be tried: gone"},
	} {
		var agents confinement
		if c.had {
			agents.set(&bridge.SandboxConfig{Program: "bwrap"}, "", true)
		}
		w := wanted{mode: c.mode, config: bridge.SandboxConfig{Program: "bwrap"}, missing: c.missing}
		unsandboxed, failed := agents.try(t.Context(), c.trial, w, runconfig.Options{}, slog.New(slog.DiscardHandler))
		var o runconfig.Options
		agents.apply(&o)
		if unsandboxed != c.unsandboxed || (o.Sandbox != nil) != c.sandboxed || o.ScratchChecks != c.scratch ||
			o.SandboxReason != c.reason {
			t.Errorf("%s: %q, %+v, reason %q", name, unsandboxed, o.Sandbox, o.SandboxReason)
		}
		if (failed != nil) != (c.refused != "") ||
			failed != nil && (failed.Category != bridge.CatSandbox || !strings.Contains(failed.Message, c.refused)) {
			t.Errorf("%s: failed with %+v", name, failed)
		}
	}
}
