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

// file is the name of the file with a suite's output, and again that of the second try of its failed tests.
func (s suite) file() string  { return filepath.Base(s.pkg) + ".json" }
func (s suite) again() string { return filepath.Base(s.pkg) + "-again.json" }

const (
	recording    = "Recorded plays"
	capturesFile = "captures.json"
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

// programs are built once for all versions: a test binary for each suite, arbiter, and the recorder. They
// accept any version of the CLI.
type programs struct {
	dir, root string
}

func build() (programs, error) {
	p := programs{}
	root, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}").Output()
	if err != nil {
		return p, fmt.Errorf("find the module: %w", err)
	}
	if p.dir, err = os.MkdirTemp("", "arbiter-drift-"); err != nil {
		return p, err
	}
	p.root = strings.TrimSpace(string(root))
	ldflags := "-X github.com/arbiter-cli/arbiter/bridge/claude.oldest=0.0.0"
	builds := [][]string{{"build", "-o", p.path("arbiter"), "./cmd/arbiter"},
		{"build", "-o", p.path("record"), "./scripts/record"}}
	for _, s := range suites {
		builds = append(builds, []string{"test", "-c", "-o", p.path(s.pkg), s.pkg})
	}
	for _, args := range builds {
		cmd := exec.Command("go", append([]string{args[0], "-ldflags", ldflags}, args[1:]...)...)
		cmd.Dir = p.root
		if out, err := cmd.CombinedOutput(); err != nil {
			return p, fmt.Errorf("go %s: %w\n%s", strings.Join(args, " "), err, out)
		}
	}
	return p, nil
}

// path returns the path of a program; a test binary is named by its package.
func (p programs) path(name string) string {
	if strings.HasPrefix(name, "./") {
		name += ".test"
	}
	return filepath.Join(p.dir, filepath.Base(name))
}

// trial is the trial of one version.
type trial struct {
	programs
	version, claude string
	dir             string // directory of the kept files
	short, again    bool
}

// run writes the files that gather reads.
func (t trial) run() error {
	if !t.again {
		if err := errors.Join(os.RemoveAll(t.dir), os.MkdirAll(t.dir, 0o755)); err != nil {
			return err
		}
	}
	for _, s := range suites {
		pattern := s.run
		if t.short {
			pattern = s.core
		}
		if !t.again {
			if err := t.test(s, pattern, s.file()); err != nil {
				return err
			}
		}
		if err := t.second(s); err != nil {
			return err
		}
	}
	if t.again {
		return nil
	}
	for _, s := range scenarios {
		t.logf("recording %s", s)
		if err := t.command(t.root, s+".out", t.path("record"), "-arbiter", t.path("arbiter"), "-claude", t.claude,
			"-out", t.dir, s); err != nil {
			if err := os.WriteFile(filepath.Join(t.dir, s+".err"), []byte(err.Error()), 0o644); err != nil {
				return err
			}
		}
	}
	return t.test(suites[0], "^TestCaptures$", capturesFile)
}

// second repeats the failed tests of a suite.
func (t trial) second(s suite) error {
	first, err := readFile(filepath.Join(t.dir, s.file()), s.subtests)
	if err != nil {
		return err
	}
	if len(first.cells) == 0 {
		return fmt.Errorf("no test of %s ran", s.pkg)
	}
	if failed := first.failed(); len(failed) > 0 {
		return t.test(s, again(s, failed), s.again())
	}
	return nil
}

// again returns the -run pattern for a suite's rows.
func again(s suite, rows []string) string {
	pattern := "^(" + strings.Join(rows, "|") + ")$"
	if parent, _, _ := strings.Cut(s.run, "/"); s.subtests {
		return parent + "/" + pattern
	}
	return pattern
}

// test runs tests of a suite's package and keeps their output. A failed test is not an error.
func (t trial) test(s suite, pattern, file string) error {
	t.logf("%s -run %s", s.pkg, pattern)
	err := t.command(filepath.Join(t.root, s.pkg), file, "go", "tool", "test2json", t.path(s.pkg), "-test.v=test2json",
		"-test.parallel", "6", "-test.timeout", "30m", "-test.skip", "/^stand-in$|//^stand-in$", "-test.run", pattern)
	if _, failed := errors.AsType[*exec.ExitError](err); failed {
		return nil
	}
	return err
}

// command runs a program in a directory and keeps what it writes to stdout.
func (t trial) command(dir, file, name string, args ...string) error {
	out, err := os.Create(filepath.Join(t.dir, file))
	if err != nil {
		return err
	}
	defer out.Close()
	cmd := exec.Command(name, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "ARBITER_CLAUDE="+t.claude, "ARBITER_REQUIRE_CLAUDE=1", "ARBITER_LONG=1",
		"ARBITER_CAPTURES="+t.dir)
	var errs bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &errs
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("%w: %.2000s", err, errs.String())
	}
	return nil
}

func (t trial) logf(format string, args ...any) {
	fmt.Fprintf(os.Stderr, "%s: %.300s\n", t.version, fmt.Sprintf(format, args...))
}
