package claude

import (
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
)

// wrapped is a CLI that is a script around the fake one, so that it can be replaced.
func wrapped(t *testing.T, mark string) bridge.ClaudeSpec {
	t.Helper()
	spec := bridge.ClaudeSpec{Path: filepath.Join(t.TempDir(), "claude"), Args: []string{fakeArg, fakeGood}}
	replaceCLI(t, spec.Path, mark)
	return spec
}

func replaceCLI(t *testing.T, path, mark string) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	fresh := path + ".new"
	if err := os.WriteFile(fresh, []byte("#!/bin/sh\n# "+mark+"\nexec '"+self+"' \"$@\"\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(fresh, path); err != nil {
		t.Fatal(err)
	}
}

func sumOf(t *testing.T, path string) string {
	t.Helper()
	b, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return fmt.Sprintf("%x", sha256.Sum256(b))
}

// secondAgent launches another agent of the same launcher, with a host of its own.
func (s *stageOf) secondAgent() *stageOf {
	s.t.Helper()
	next := prepare(s.t, s.spec, nil)
	next.l, next.run = s.l, s.run
	return next.launch()
}

// TestProgramReplaced: if the CLI is another file than the one that the run began with, that is reported
// once, with versions and hashes; the run continues.
func TestProgramReplaced(t *testing.T) {
	s := prepare(t, wrapped(t, "one"), nil).launch()
	first := sumOf(t, s.spec.Path)
	replaceCLI(t, s.spec.Path, "two")
	second := s.secondAgent()
	e := await[bridge.Error](second.host, 1, nil)
	for _, want := range []string{"replaced", first, sumOf(t, s.spec.Path), "2.1.329"} {
		if e.Category != bridge.CatStart || !strings.Contains(e.Message, want) {
			t.Errorf("%q is not in %+v", want, e)
		}
	}
	third := s.secondAgent()
	if third.agent.Info().ClaudeSHA256 != sumOf(t, s.spec.Path) {
		t.Errorf("the hash is not told: %+v", third.agent.Info())
	}
	for _, stage := range []*stageOf{s, third} {
		if list := of[bridge.Error](stage.host); len(list) != 0 {
			t.Errorf("told without need: %+v", list)
		}
	}
}

// TestSumIsRemembered: a build is hashed once; the next process has the hash at once.
func TestSumIsRemembered(t *testing.T) {
	cache := t.TempDir()
	path, _ := countedCLI(t, "2.1.329 (Claude Code)")
	info, err := NewLauncher(cache).Detect(t.Context(), bridge.ClaudeSpec{Path: path})
	if err != nil || info.SHA256 != "" || strings.Count(info.Identity, ":") != 3 {
		t.Fatalf("%+v, %v", info, err)
	}
	l := NewLauncher(cache)
	stopped, cancel := context.WithCancel(t.Context())
	cancel()
	if sum := l.pins.sum(stopped, info); sum != "" {
		t.Errorf("it goes on behind its end: %s", sum)
	}
	if sum := l.pins.sum(t.Context(), info); sum != sumOf(t, path) {
		t.Errorf("sum: %s", sum)
	}
	l = NewLauncher(cache)
	if info, err := l.Detect(t.Context(), bridge.ClaudeSpec{Path: path}); err != nil || info.SHA256 != sumOf(t, path) {
		t.Errorf("%+v, %v", info, err)
	}
	info.Identity = "1:2:3:4" // a file that was replaced before it was read
	if sum := l.pins.sum(t.Context(), info); sum != "" {
		t.Errorf("the hash of another file: %s", sum)
	}
}

// TestStartIsRecorded: the arguments with which an agent was started are reported, without values of its
// environment and without overlong values.
func TestStartIsRecorded(t *testing.T) {
	s := prepare(t, fakeSpec(t, fakeGood), map[string]string{"SOME_TOKEN": "tok-1234567890"})
	s.cfg.Model, s.cfg.AppendSystemPrompt = "a tok-1234567890 model", strings.Repeat("x", 300)
	s.launch()
	info := s.agent.Info()
	after := func(flag string) string { return info.Argv[slices.Index(info.Argv, flag)+1] }
	if info.Argv[0] != s.spec.Path || info.Argv[1] != fakeArg || after("--session-id") != s.cfg.SessionID ||
		info.CWD != s.dir ||
		info.PermissionMode != "default" || info.Sandbox || info.PID == 0 {
		t.Errorf("%+v", info)
	}
	if got := after("--append-system-prompt"); got != fmt.Sprintf("sha256:%x (300 bytes)",
		sha256.Sum256([]byte(s.cfg.AppendSystemPrompt))) {
		t.Errorf("a long argument: %s", got)
	}
	if got := after("--model"); got != "[the value of SOME_TOKEN]" {
		t.Errorf("a secret: %s", got)
	}
	if !slices.Contains(info.Env, "SOME_TOKEN") || !slices.IsSorted(info.Env) ||
		strings.Contains(strings.Join(info.Env, " "), "=") {
		t.Errorf("environment: %v", info.Env)
	}
}
