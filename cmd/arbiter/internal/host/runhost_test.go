package host

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
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

// TestOneRunInADirectory: only one run works in a directory, until its storage is closed.
func TestOneRunInADirectory(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	var notices notice
	open := func() storage {
		s := testkit.Must(openStorage(root, journal.Options{}, &notices))(t)
		t.Cleanup(func() { s.store.Close() })
		return s
	}
	first, second := open(), open()
	testkit.OK(t, first.lockPlace(dir, "11111111-aaaa"))
	if err := second.lockPlace(dir, "22222222-bbbb"); err == nil || !strings.Contains(err.Error(), "run 11111111") {
		t.Errorf("the second run: %v", err)
	}
	first.close(nil)
	if err := second.lockPlace(dir, "22222222-bbbb"); err != nil {
		t.Errorf("after the end of the first: %v", err)
	}
	second.close(nil)
	if notices.String() != "" {
		t.Errorf("said %q", notices.String())
	}
}

// TestFinish: the journal records how a run ended, and which runs may be resumed.
func TestFinish(t *testing.T) {
	s := testkit.Must(openStorage(t.TempDir(), journal.Options{}, &notice{}))(t)
	defer s.store.Close()
	for n, c := range []struct {
		ending   *supervisor.Ending
		status   string
		finished bool
	}{
		{nil, "", false},
		{&supervisor.Ending{Said: true, Status: contract.StatusComplete}, runstore.NeverBegan, true},
	} {
		testkit.OK(t, s.create(journal.Meta{Run: "run-" + string(rune('a'+n))}))
		state := &supervisor.State{}
		state.Ending = c.ending
		if err := s.finish(t.Context(), state); err != nil {
			t.Error(err)
		}
		if m := s.journal.Meta(); m.Status != c.status || m.Finished != c.finished {
			t.Errorf("%+v: status %q, finished %v", c.ending, m.Status, m.Finished)
		}
		s.close(nil)
	}
}
