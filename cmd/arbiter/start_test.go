package main

import (
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestPackagesStartCheaply limits what this module's packages allocate before main, since each start pays for
// it: people and scripts wait for every command. Put a package-level regular expression,
// template or large map into a sync.OnceValue, and a set of a few names into a slice.
func TestPackagesStartCheaply(t *testing.T) {
	const (
		mostOfAll = 128 << 10 // in bytes
		mostOfOne = 24 << 10
	)
	output := initialized(t, "version")
	type cost struct {
		pkg   string
		bytes int
	}
	var list []cost
	all := 0
	// This package is left out, because the variables of its tests are in the same binary.
	line := regexp.MustCompile(`(?m)^init github\.com/arbiter-cli/arbiter/(\S+) .* clock, (\d+) bytes, \d+ allocs$`)
	for _, m := range line.FindAllStringSubmatch(output, -1) {
		if m[1] == "cmd/arbiter" {
			continue
		}
		n := testkit.Must(strconv.Atoi(m[2]))(t)
		list = append(list, cost{m[1], n})
		all += n
	}
	testkit.Need(t, len(list) >= 10, "found %d packages in what GODEBUG=inittrace=1 printed: %s", len(list), output)
	slices.SortFunc(list, func(a, b cost) int { return cmp.Compare(b.bytes, a.bytes) })
	testkit.Check(t, all <= mostOfAll && list[0].bytes <= mostOfOne,
		"the packages allocate %d bytes before main, at most %d are allowed, and %d in one; most allocate: %v", all,
		mostOfAll, mostOfOne, list[:10])
}

// TestHookStartsEarly: `arbiter hook`, for which a session waits at each tool call, answers before main and before
// the packages that take longest to initialize. See package hookclient.
func TestHookStartsEarly(t *testing.T) {
	output := initialized(t, "hook", "--socket", filepath.Join(t.TempDir(), "nobody"))
	testkit.Includes(t, "package net, which a hook uses, is not initialized", output, "init net @")
	for _, late := range []string{"main", "net/http", "github.com/modelcontextprotocol/go-sdk/mcp",
		"github.com/yuin/goldmark/parser", "github.com/yuin/goldmark/extension", "github.com/urfave/cli/v2"} {
		testkit.Excludes(t, fmt.Sprintf("%s is initialized before a hook is answered", late), output, "init "+late+" @")
	}
	testkit.Includes(t, "`arbiter version` does not initialize net/http", initialized(t, "version"), "init net/http @")
}

// initialized runs arbiter, and returns what the runtime prints about each package that it initializes.
func initialized(t *testing.T, args ...string) string {
	t.Helper()
	cmd := exec.Command("arbiter", args...)
	cmd.Env = append(os.Environ(), "GODEBUG=inittrace=1")
	var output strings.Builder
	cmd.Stderr = &output
	testkit.OK(t, cmd.Run())
	return output.String()
}

// TestStartsWaitForProcessors: with one processor, one Orchestrator starts at a time, here and on another host. The
// status shows which ones wait, and the run completes.
func TestStartsWaitForProcessors(t *testing.T) {
	for _, where := range []string{"here", "a host"} {
		t.Run(where, func(t *testing.T) {
			if where != "here" {
				testkit.Long(t)
			}
			home, bin := besides(t, "")
			gate := filepath.Join(home, "gate")
			script := write(t, fmt.Sprintf("#!/bin/sh\ncase \"$%s\" in orch-*)\n\twhile [ ! -e %s ]; do sleep 0.05; done ;;\n"+
				"esac\nexec %s/stand-in \"$@\"\n", proctree.EnvAgent, gate, bin), bin, "claude")
			args := []string{"--max-orchestrators", "4", "--allow", "Write", "--task", "Weave"}
			play := manyHands(4)
			p := player{name: where, args: []string{script}, real: true, env: []string{"GOMAXPROCS=1"}}
			if where == "a host" {
				p.env = nil
				config := write(t, "hosts:\n"+hostNamed("box", inHome(home, bin)+", GOMAXPROCS=1"), home, "config.yaml")
				args = append(args, "--config", config, "--hosts", "box", "--isolation", "worktree")
			}
			repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
			s, model := hiredIn(t, p, play, repo.Path, args...)
			await(s, "the last Orchestrator", func(id string, _ contract.Spawn) bool { return id == "orch-4" })
			want := []string{"orch-1 starting", "orch-2 queued", "orch-3 queued", "orch-4 queued"}
			testkit.Await(t, strings.Join(want, ", "), func() bool { return slices.Equal(s.statuses(), want) })
			write(t, "", gate)
			s.finish(contract.ExitComplete)
			onScript(t, model)
		})
	}
}

// statuses lists the Orchestrators and their statuses, as the control socket reports them.
func (s *script) statuses() (list []string) {
	s.t.Helper()
	for _, a := range s.status().Agents {
		if a.ID != contract.Arbiter {
			list = append(list, a.ID+" "+a.Status)
		}
	}
	return list
}

// TestResumeOrBegin: the same command begins a run, continues it after a kill without sending the task again,
// and reports its result when it is complete.
func TestResumeOrBegin(t *testing.T) {
	line := []string{"--json", "--stand-in", "--scenario", "dialogue", "--task", "Name it", "--resume-or-begin"}
	first := start(t, nil, line...)
	asked := await[contract.Question](first, "a question", nil)
	run := first.run()
	testkit.OK(t, first.cmd.Process.Signal(os.Kill))
	first.gone()
	awaitGone(t, run)

	second := first.again(line...)
	again := await[contract.Question](second, "the question again", nil)
	testkit.Check(t, again.Text == asked.Text, "asked %q, and then %q", asked.Text, again.Text)
	second.answers()
	r := second.finish(contract.ExitComplete)
	testkit.Check(t, r.Session == run, "run %s, and then %s", run, r.Session)
	for _, m := range collect[contract.Message](second) {
		testkit.Check(t, m.Kind != "task", "the task was given again: %+v", m)
	}

	third := first.again(line...)
	r = third.finish(contract.ExitComplete)
	testkit.Check(t, r.Session == run && len(third.spawns("arbiter")) == 0, "the result, asked for again: %+v", r)
}

// TestStopDuringAStartThatHangs: a signal ends a run at once whose Claude Code hangs before it has said its version.
func TestStopDuringAStartThatHangs(t *testing.T) {
	t.Parallel()
	asked := filepath.Join(t.TempDir(), "asked")
	claude := program(t, "claude", "touch "+asked+"\nexec sleep 1000\n")
	s := start(t, nil, "--json", "--no-input", "--claude", claude, "--cwd", t.TempDir(), "--task", "Weave")
	awaitFile(t, asked)
	began := time.Now()
	testkit.OK(t, s.cmd.Process.Signal(syscall.SIGTERM))
	r := s.finish(contract.ExitTerminated)
	testkit.Check(t, r.Status == contract.StatusInterrupted && r.Summary == "stopped by SIGTERM" &&
		time.Since(began) < 15*time.Second, "after %s: %+v", time.Since(began), r)
	testkit.Empty(t, "errors", collect[contract.Error](s))
}
