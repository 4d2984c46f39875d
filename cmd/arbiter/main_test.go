package main

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/arbiter-cli/arbiter/bridge/acp/acptest"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/host"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/settings"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/fakecli"
)

// TestMain makes the test binary act as arbiter: it is on PATH under that name, for scripts and for the bridge,
// which arbiter starts from its own program.
func TestMain(m *testing.M) {
	if strings.HasSuffix(os.Args[0], ".test") {
		unignore()
	}
	testscript.Main(m, map[string]func(){
		"arbiter": func() {
			causeFailure()
			blockLoop()
			gauge()
			useFastStandIn()
			unconfined()
			os.Exit(Main())
		},
		"hopper":       hopper,
		"crowd-player": crowdPlayer,
		"echo-lines":   echo,
		"stand-in":     func() { os.Exit(fakecli.Main(os.Args[1:], os.Stdin, os.Stdout, os.Stderr)) },
		"noted":        noted,
		"plain-screen": plainScreen,
		"ask-socket":   askSocket,
		"curious":      curious,
		"fake-acp":     func() { os.Exit(acptest.RunFake()) },
	})
}

// fastProgram is a program that scripts/test puts on the PATH: arbiter without the race detector, which makes a
// stand-in several times slower. Most processes of these tests are stand-ins, and the stand-in has its own
// tests.
const fastProgram = "arbiter-without-detector"

func useFastStandIn() {
	if path, err := exec.LookPath(fastProgram); err == nil && testkit.Race {
		host.Executable = func() (string, error) { return path, nil }
	}
}

// agentProgram returns the program that plays agents in the tests' scripts.
func agentProgram(t *testing.T) string {
	t.Helper()
	name := "arbiter"
	if _, err := exec.LookPath(fastProgram); err == nil && testkit.Race {
		name = fastProgram
	}
	return testkit.Must(exec.LookPath(name))(t)
}

// unignore makes sure that child processes ignore no signal, even if a script that runs the tests ignores some:
// a signal that is caught here has its default action in a child.
func unignore() {
	for _, sig := range []os.Signal{syscall.SIGINT, syscall.SIGHUP} {
		if signal.Ignored(sig) {
			signal.Notify(make(chan os.Signal, 1), sig)
		}
	}
}

func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(e *testscript.Env) error {
			e.Setenv("HOME", e.WorkDir)
			if err := os.WriteFile(filepath.Join(e.WorkDir, "binary.md"), []byte{0xff, 0xfe, 0x00}, 0o600); err != nil {
				return err
			}
			e.Setenv("XDG_STATE_HOME", filepath.Join(e.WorkDir, "state"))
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits":  exits,
			"events": checkEvents,
			"latest": latest,
		},
	})
}

// exits runs a command and checks its exit code: exits CODE command args…
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE command args")
	}
	err := ts.Exec(args[1], args[2:]...)
	code := 0
	if err != nil {
		code = -1
		if exit, ok := err.(*exec.ExitError); ok {
			code = exit.ExitCode()
		}
	}
	if want := args[0]; want != strconv.Itoa(code) {
		ts.Fatalf("exit code %d, want %s", code, want)
	}
}

// latest runs an arbiter command on the only run of the state directory: latest sessions show
func latest(ts *testscript.TestScript, neg bool, args []string) {
	runs, err := filepath.Glob(filepath.Join(ts.Getenv("XDG_STATE_HOME"), "arbiter", "runs", "*"))
	if neg || err != nil || len(runs) != 1 {
		ts.Fatalf("latest: %d runs, %v", len(runs), err)
	}
	ts.Check(ts.Exec("arbiter", append(args, filepath.Base(runs[0]))...))
}

// checkEvents checks an output against the contract and writes the names of its events, one per line, to the
// file names: events FILE.
func checkEvents(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: events FILE")
	}
	lines, err := contractLines(ts.ReadFile(args[0]))
	ts.Check(err)
	var names []string
	for _, l := range lines {
		names = append(names, l.Event.Body.EventName())
	}
	ts.Check(os.WriteFile(ts.MkAbs("names"), []byte(strings.Join(names, "\n")+"\n"), 0o600))
}

// confinedVariable is set in the environment of an arbiter that is to have its own default of --sandbox.
const confinedVariable = "ARBITER_TEST_CONFINED"

// unconfined makes runs without --sandbox start without one: most of these tests are about other things, their
// agents write to the test's files, and each sandbox takes a probe.
func unconfined() {
	if os.Getenv(confinedVariable) != "" {
		return
	}
	for i := range settings.Table {
		if settings.Table[i].Name == "sandbox" {
			settings.Table[i].Value = settings.SandboxOff
		}
	}
}
