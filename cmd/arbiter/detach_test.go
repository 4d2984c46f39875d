package main

import (
	"errors"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestDetach: a run without a frontend continues when the command has ended. Other commands answer it, resume
// it after a kill, and complete it.
func TestDetach(t *testing.T) {
	eachPlayerLong(t, func(t *testing.T, who player) {
		// TestOneRunManyClients covers the real CLI behind a host process
		h := newTestHome(t, who)
		scenario := absolute(t, "testdata/scenarios/screen.yaml")
		out := h.output(append(h.rehearsing(scenario), "--detach", "--task", "Make a thing")...)
		run := strings.TrimSpace(out)
		if runs := h.runs(); len(runs) != 1 || runs[0] != run {
			t.Fatalf("printed %q, and there are the runs %v", out, runs)
		}
		h.waits("question")
		testkit.Same(t, "resuming a live run prints", out, h.output("--detach", "--resume"))
		host := h.hosts()
		testkit.OK(t, syscall.Kill(host[0], syscall.SIGKILL))
		awaitGone(t, run)
		testkit.Same(t, "resuming prints", out, h.output("--detach", "--session", run[:6]))
		h.waits("question")
		h.output("send", "call it dawn")
		h.waits("permission")
		h.output("allow", "all")
		awaitGone(t, run)
		if state := h.output("sessions", "show", run); !strings.Contains(state, "complete") {
			t.Errorf("it ended so:\n%s", state)
		}
	})
}

// TestRunPort: a client cannot pass flags that override what it chooses by other means, such as the directory,
// and a refusal says why.
func TestRunPort(t *testing.T) {
	dir, state := t.TempDir(), t.TempDir()
	port := runPort{env{}, state}
	for args, want := range map[string]string{
		"--json":                       "--json is not a flag for a run that a client begins",
		"--cwd=/":                      "--cwd is not a flag",
		"--task=x":                     "--task is not a flag",
		"--session=x":                  "--session is not a flag",
		"host":                         `leave out host`,
		"--no-such-flag":               "no-such-flag",
		"--max-cost=many":              "max-cost",
		"--isolation=a":                "--isolation",
		"--permissions=allow-all":      "--i-accept-the-risk",
		"--rehearse --isolation=clone": "--isolation and --rehearse",
	} {
		_, err := port.choices(dir, "", strings.Fields(args))
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", args, err, want)
		}
	}
	c := testkit.Must(port.choices(dir, "", []string{"--max-cost", "5", "--permissions=accept-edits"}))(t)
	if real, _ := filepath.EvalSymlinks(dir); c.Options.MaxCostUSD != 5 || c.Place != dir && c.Place != real ||
		c.StateDir != state {
		t.Errorf("the choices are %+v", c)
	}
	for name, err := range map[string]error{
		"an unknown run":      port.Resume(t.Context(), "none", nil),
		"an unknown report":   port.Report(t.Context(), "none", "markdown", nil),
		"a format":            port.Report(t.Context(), "none", "pdf", nil),
		"an unknown log":      func() error { _, err := port.Log("none"); return err }(),
		"an unknown live run": func() error { _, _, err := port.Dial(t.Context(), "none"); return err }(),
	} {
		var exit *command.Error
		if !errors.As(err, &exit) || exit.Code != contract.ExitUsage {
			t.Errorf("%s: %v", name, err)
		}
	}
}
