package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// suite is a part of the table: tests of one package.
type suite struct {
	title, pkg, run string
	core            string // what -short runs of it
	subtests        bool   // rows are subtests, otherwise tests
}

// The other parts of the table.
const (
	recording = "Recorded plays"
	onTheWire = "What the CLI says"
)

var suites = []suite{
	{title: "The driver", pkg: "./bridge/claude", run: "Live",
		core: "^TestLive(TextTurn|Verdict|Permission|MCP|Subagent|Interrupt|Steer|Resume|EveryCallIsJudged|" +
			"Doubt|SettingsHold|AskTools|Compaction|Query|Instructions)$"},
	{title: "Conversations on the wire", pkg: "./rehearsal/fakecli", run: "^TestClaude$", subtests: true,
		core: "^TestClaude$/^(hooks-judge|hooks-eof|text-turn|tool-turn|verdict|permission|mcp|interrupt-tool|steer|" +
			"resume|control|compaction|subagent|api-429|merge|tasks)$"},
	{title: "Whole plays", pkg: "./cmd/arbiter", core: "^(TestFullDialogue|TestTerminalIsNotCompacted)$",
		run: "^(TestFullDialogue|TestResume|TestOpenItemsOfAHuman|TestAskRulesHoldOverTheUsersSettings|" +
			"TestTerminalIsNotCompacted|TestTrustOfHooks|TestAttachFromAnotherTerminal|" +
			"TestCompactionBlocked)$"},
}

// scenarios are played by arbiter itself while the protocol is recorded.
var scenarios = []string{"small-job", "parallel", "generations"}

// anyVersion makes the driver accept any version of the CLI.
const anyVersion = "-X github.com/arbiter-cli/arbiter/bridge/claude.oldest=0.0.0"

// build builds arbiter into a new directory, once for all versions.
func build() (dir string, err error) {
	if dir, err = os.MkdirTemp("", "arbiter-drift-"); err != nil {
		return "", err
	}
	_, err = outputOf(exec.Command("go", "build", "-ldflags", anyVersion, "-o", dir, "./cmd/arbiter"))
	return dir, err
}

// trial is the trial of one version.
type trial struct {
	dir             string // of arbiter
	version, claude string
	short           bool
	captures        string // directory of recordings
}

func (t trial) run() (findings, error) {
	var err error
	if t.captures, err = os.MkdirTemp(t.dir, "captures-"); err != nil {
		return nil, err
	}
	f := findings{onTheWire: {}, recording: {}}
	for _, s := range suites {
		pattern := s.run
		if t.short {
			pattern = s.core
		}
		first, err := t.test(s, pattern, f[onTheWire])
		if err == nil && len(first) == 0 {
			err = fmt.Errorf("no test of %s ran", s.pkg)
		}
		if failed := first.failed(); len(failed) > 0 {
			var more cells
			more, err = t.test(s, again(s, failed), f[onTheWire])
			first.takeOver(more)
		}
		if err != nil {
			return nil, err
		}
		f[s.title] = first
	}
	for _, s := range scenarios {
		t.logf("recording %s", s)
		f[recording][s] = ok
		if err := record(filepath.Join(t.dir, "arbiter"), t.claude, t.captures, s); err != nil {
			f[recording][s] = differs + ": " + scrub(err.Error())
		}
	}
	frames, err := t.test(suites[0], "^TestCaptures$", f[onTheWire])
	f[recording]["every frame is known"] = frames["TestCaptures"]
	files, bad := filepath.Glob(filepath.Join(t.captures, "*.wire"))
	err = errors.Join(err, bad)
	for _, file := range files {
		raw, bad := os.ReadFile(file)
		err = errors.Join(err, bad)
		recordObservations(raw, f[onTheWire])
	}
	return f, err
}

// again returns the -run pattern for a suite's rows.
func again(s suite, rows []string) string {
	pattern := "^(" + strings.Join(rows, "|") + ")$"
	if parent, _, _ := strings.Cut(s.run, "/"); s.subtests {
		return parent + "/" + pattern
	}
	return pattern
}

// test runs tests of a suite's package. A failed test is not an error.
func (t trial) test(s suite, pattern string, wire cells) (cells, error) {
	t.logf("%s -run %s", s.pkg, pattern)
	cmd := exec.Command("go", "test", "-json", "-count", "1", "-vet", "off", "-ldflags", anyVersion, "-parallel", "6",
		"-timeout", "30m", "-skip", "/^stand-in$|//^stand-in$", "-run", pattern, s.pkg)
	cmd.Env = append(os.Environ(), "ARBITER_CLAUDE="+t.claude, "ARBITER_REQUIRE_CLAUDE=1", "ARBITER_LONG=1",
		"ARBITER_CAPTURES="+t.captures)
	out, err := outputOf(cmd)
	if _, failed := errors.AsType[*exec.ExitError](err); err != nil && !failed {
		return nil, err
	}
	return read(bytes.NewReader(out), s.subtests, wire)
}

// outputOf runs a program, and returns what it writes to stdout.
func outputOf(cmd *exec.Cmd) ([]byte, error) {
	var errs bytes.Buffer
	cmd.Stderr = &errs
	out, err := cmd.Output()
	if err != nil {
		err = fmt.Errorf("%s: %w: %.2000s", filepath.Base(cmd.Path), err, errs.String())
	}
	return out, err
}

func (t trial) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s: %.300s\n", t.version, fmt.Sprintf(format, args...))
}
