package host

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
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
			agents.Store(&confined{sandbox: &bridge.SandboxConfig{Program: "bwrap"}, scratch: true})
		}
		unsandboxed, failed := agents.try(t.Context(), c.trial, c.mode, bridge.SandboxConfig{Program: "bwrap"}, c.missing,
			runconfig.Options{}, slog.New(slog.DiscardHandler))
		now := agents.now()
		testkit.Check(t, unsandboxed == c.unsandboxed && (now.sandbox != nil) == c.sandboxed && now.scratch == c.scratch &&
			now.reason == c.reason, "%s: %q, %+v, reason %q", name, unsandboxed, now.sandbox, now.reason)
		testkit.Check(t, (failed != nil) == (c.refused != "") &&
			(failed == nil || failed.Category == bridge.CatSandbox && strings.Contains(failed.Message, c.refused)),
			"%s: failed with %+v", name, failed)
	}
}

// TestOneRunInADirectory: only one run works in a directory, until its storage is closed.
func TestOneRunInADirectory(t *testing.T) {
	root, dir := t.TempDir(), t.TempDir()
	var notices notice
	open := func() storage {
		s := testkit.Must(openStorage(root, journal.Options{}, &notices))(t)
		t.Cleanup(func() { s.Runs.Close() })
		return s
	}
	first, second := open(), open()
	testkit.OK(t, first.lockPlace(dir, "11111111-aaaa"))
	testkit.Fails(t, "the second run", second.lockPlace(dir, "22222222-bbbb"), "run 11111111")
	first.unlock()
	testkit.Works(t, "after the end of the first", second.lockPlace(dir, "22222222-bbbb"))
	first.close(nil)
	second.close(nil)
	testkit.Same(t, "said", "", notices.String())
}

// TestFinish: the journal records how a run ended, and which runs may be resumed.
func TestFinish(t *testing.T) {
	s := testkit.Must(openStorage(t.TempDir(), journal.Options{}, &notice{}))(t)
	defer s.Runs.Close()
	for n, c := range []struct {
		ending   *supervisor.Ending
		status   string
		finished bool
	}{
		{nil, "", false},
		{&supervisor.Ending{Said: true, Status: contract.StatusComplete}, runstore.NeverBegan, true},
	} {
		s.journal = testkit.Must(s.Create(journal.Meta{Run: "run-" + string(rune('a'+n))}, s.options))(t)
		state := &supervisor.State{}
		state.Ending = c.ending
		testkit.Works(t, "finish", s.finish(t.Context(), state))
		if m := s.journal.Meta(); m.Status != c.status || m.Finished != c.finished {
			t.Errorf("%+v: status %q, finished %v", c.ending, m.Status, m.Finished)
		}
		s.close(nil)
	}
}

// TestSpentOfTheDay: what a run has cost counts for the limit of its day, also after it was removed, and not for the
// next one.
func TestSpentOfTheDay(t *testing.T) {
	s := testkit.Must(openStorage(t.TempDir(), journal.Options{}, &notice{}))(t)
	defer s.Runs.Close()
	now := time.Now()
	for n, id := range []string{"aaaa1111-own", "bbbb2222-other", "cccc3333-rehearsal"} {
		run := testkit.Must(s.Create(journal.Meta{Run: id, Rehearsal: n == 2}, s.options))(t)
		testkit.Must(run.Append(journal.Input, []byte("{}")))(t)
		turn := contract.Turn{CostUSD: float64(n + 1), Outcome: "done", MessageIDs: []string{}}
		line := testkit.Must(contract.EncodeLine(nil, 1, now, contract.Event{ID: "orch-1", Body: turn}))(t)
		testkit.OK(t, run.AppendEvents(journal.LogContent{At: now, Line: line}))
		testkit.OK(t, run.Close())
	}
	d := daySpending{store: s.Runs, own: "aaaa1111-own"}
	check := func(when string, now time.Time, own, others float64) {
		t.Helper()
		want := input.DaySpent{Day: now.Format(time.DateOnly), OwnUSD: own, OthersUSD: others}
		testkit.Same(t, when, want, testkit.Must(d.spent(t.Context(), now))(t))
	}
	check("at first", now, 1, 2)
	testkit.OK(t, s.Remove("bbbb2222-other"))
	testkit.OK(t, s.Remove("cccc3333-rehearsal"))
	check("after a run was removed", now, 1, 2)
	d = daySpending{store: s.Runs, own: "aaaa1111-own"}
	check("for a process that starts then", now, 1, 2)
	check("a day later", now.Add(24*time.Hour), 0, 0)
}

// TestNothingIsLeftOfARunThatCannotBegin: the next command without a run's name is not about it.
func TestNothingIsLeftOfARunThatCannotBegin(t *testing.T) {
	t.Setenv("NO_SUCH_KEY", "")
	c := settings.Choices{StateDir: t.TempDir(), Place: t.TempDir()}
	c.Options.CWD, c.Options.Task, c.Options.Decider = c.Place, "x", runconfig.DeciderStateless
	c.Options.Provider = runconfig.Provider{Name: "openai", KeyEnv: "NO_SUCH_KEY"}
	testkit.Fails(t, "begin", testkit.Err(openRun(c)), "NO_SUCH_KEY is not set")
	runs := testkit.Must(runstore.OpenIn(c.StateDir))(t)
	defer runs.Close()
	testkit.Empty(t, "runs", testkit.Must(runs.List())(t))
}

// TestSignalDuringTheFirstSnapshot: a signal ends the first snapshot, which can take minutes, and the run with it.
func TestSignalDuringTheFirstSnapshot(t *testing.T) {
	c := settings.Choices{StateDir: t.TempDir(), Place: gittest.New(t, map[string]string{"a": "1"}).Path}
	c.Options.CWD, c.Options.Task = c.Place, "x"
	r := testkit.Must(openRun(c))(t)
	defer r.storage.Runs.Close()
	defer r.close()
	loop := r.ready(func(time.Time, contract.Event) {})
	r.frontends.input.loop.Put(input.Signal{Signal: "TERM"})
	recorded := r.recordFiles(r.wanted)
	testkit.Fails(t, "the snapshot", recorded(loop), "SIGTERM stopped the run before it began")
}

// TestResumeEndsAHalt: the note of `arbiter halt` for a process that was killed then does not halt the next one, whose
// bridge may be lost hours later.
func TestResumeEndsAHalt(t *testing.T) {
	s := testkit.Must(openStorage(t.TempDir(), journal.Options{}, &notice{}))(t)
	defer s.Runs.Close()
	const id = "aaaa1111-halted"
	s.journal = testkit.Must(s.Create(journal.Meta{Run: id}, s.options))(t)
	dir := s.journal.Dir()
	s.close(nil)
	_, _, _, err := runstore.KillBridge(dir, id)
	testkit.Works(t, "halt", err)
	testkit.Works(t, "resume", testkit.Err(s.reopen(id)))
	defer s.close(nil)
	testkit.Check(t, !runstore.TakeHalted(dir), "the next loss of a bridge halts the run")
}

// TestWindowsAreKept: what one run learns about models, later runs know; a limit that the human gives counts instead.
func TestWindowsAreKept(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	var none runconfig.Options
	err := withWindows(&none, dir)
	testkit.Need(t, err == nil && none.ContextTokensFor == nil, "without a file: %v, %v", none.ContextTokensFor, err)
	for model, tokens := range map[string]int{"far-model": 131_072, "near-model": 64_000, "claude-haiku-4-5": 100_000} {
		testkit.OK(t, keepWindow(dir, model, tokens))
	}
	testkit.OK(t, keepWindow(dir, "near-model", 32_000))
	given := map[string]int{"claude-haiku": 120_000}
	o := runconfig.Options{ContextTokensFor: given}
	testkit.OK(t, withWindows(&o, dir))
	want := map[string]int{"claude-haiku": 120_000, "far-model": 131_072, "near-model": 32_000}
	diff := cmp.Diff(want, o.ContextTokensFor)
	testkit.Check(t, diff == "" && len(given) == 1, "limits (-want +got):\n%s%v", diff, given)
	testkit.OK(t, os.WriteFile(filepath.Join(dir, windowsName), []byte("{"), 0o600))
	testkit.Fails(t, "a file that is damaged", withWindows(&o, dir), "remove it")
	testkit.Same(t, "limits over a damaged file", want, o.ContextTokensFor)
}

// TestLastSteps: a step that exceeds its time is reported. For processes left behind, it looks again before.
func TestLastSteps(t *testing.T) {
	for allowed, told := range map[int]bool{1: true, 2: false} {
		synctest.Test(t, func(t *testing.T) {
			tries := 0
			err := lastStep{"a step", time.Second, allowed, func(ctx context.Context) error {
				if tries++; tries > 1 {
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}}.run()
			testkit.Check(t, (err != nil) == told, "%d tries: %v", allowed, err)
		})
	}
}
