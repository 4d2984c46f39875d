package main

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// apartHands is a play in which one Orchestrator runs on a host that turns out hostile, and another on a good
// one. The Arbiter has the work of the first done on the good host. The second works until GATE exists, so that
// it does not finish before the Arbiter knows that the first has failed.
const apartHands = `
name: apart
title: One of two hosts is hostile
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use:
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part one, host: box}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part two, host: good}}
      - verdict: &patience {decision: CONTINUE, message: Patience., reason: They are at work.}
    otherwise:
      - expect: cannot be used
        use:
          - {tool: mcp__arbiter__release_orchestrator, input: {id: orch-1, reason: Its host is hostile.}}
          - {tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Weave part one, host: good}}
        verdict: *patience
      - {expect: COMPLETE while, verdict: *patience}
      - expect: is woven
        verdict: {decision: COMPLETE, message: It is done., summary: Both are woven., reason: Both are done.}
      - verdict: *patience
  - name: one
    match: {role: orchestrator, contains: Weave part one}
    steps:
      - use: [{tool: Bash, input: {command: "echo one > one.txt", description: Weave}}]
      - verdict: &woven
          kind: done
          expects_response: true
          message: One is woven.
          handoff: {accomplished: [a part], remaining: [], key_context: In the files.}
    otherwise: {verdict: *woven}
  - name: two
    match: {role: orchestrator, contains: Weave part two}
    steps:
      - use:
          - tool: Bash
            input: {command: "until [ -e GATE ]; do sleep 0.1; done; echo two > two.txt", description: Weave}
      - verdict: &also
          kind: done
          expects_response: true
          message: Two is woven.
          handoff: {accomplished: [a part], remaining: [], key_context: In the files.}
    otherwise: {verdict: *also}
`

var (
	eventNumber = regexp.MustCompile(`"n":(\d+)`)
	committedTo = regexp.MustCompile(`("tree":"[^"]*","branch":")arbiter/[^"]*"`)
)

// hostileActs are things that a host does to a run, keyed by the error that the human sees. Each act receives every
// line of the host's bridge, and returns what the bridge sends instead.
var hostileActs = []struct {
	name, told string
	long       bool
	act        func(line string, to io.Writer) string
}{
	{"another agent's event", `it sent an event of "arbiter#`, false, func(line string, _ io.Writer) string {
		if !strings.Contains(line, `"event":"tool_use"`) {
			return line
		}
		number, _ := strconv.Atoi(eventNumber.FindStringSubmatch(line)[1])
		verdict := strings.Replace(line, `"orch-1"`, `"arbiter"`, 1)
		return line + strings.Replace(verdict, eventNumber.FindString(line), fmt.Sprintf(`"n":%d`, number+1), 1)
	}},
	{"a repeated number", "came after number", true, func(line string, _ io.Writer) string {
		if strings.Contains(line, `"event":"tool_use"`) {
			return line + line
		}
		return line
	}},
	{"a foreign branch", `it named "main" as the branch of orch-1`, false, func(line string, _ io.Writer) string {
		return committedTo.ReplaceAllString(line, `${1}main"`)
	}},
	{"endless output", "it sent a line of more than", true, func(line string, to io.Writer) string {
		if strings.Contains(line, `"event":"tool_use"`) {
			piece := []byte(strings.Repeat("x", 1<<20))
			for {
				if _, err := to.Write(piece); err != nil {
					return ""
				}
			}
		}
		return line
	}},
	{"a lying initialize", "it took a lease of", true, func(line string, _ io.Writer) string {
		return strings.Replace(line, `"lease_ms":5000`, `"lease_ms":5000000`, 1)
	}},
}

// TestHostileHost: arbiter refuses and parks a host that breaks the protocol, reports to the human what the host did,
// and continues with the agents of other hosts. Nothing that the host claimed has an effect.
func TestHostileHost(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, tt := range hostileActs {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if tt.long && !testkit.AtNight() {
				t.Skip("with ARBITER_LONG=1")
			}
			h := newLinkedHost(t, "")
			var done atomic.Bool
			h.forge = func(line string, to io.Writer) string {
				said := tt.act(line, to)
				if said != line {
					done.Store(true)
				}
				return said
			}
			dir := gittest.Temp(t)
			for _, d := range []string{"bin", "home"} {
				if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
					t.Fatal(err)
				}
			}
			equip(t, filepath.Join(dir, "bin"), "")
			config := h.configuration(true)
			write(t, textOf(t, config)+fmt.Sprintf("  good:\n    command: [env, -i, HOME=%[1]s/home, 'PATH=%[1]s/bin:"+
				"/usr/local/bin:/usr/bin:/bin']\n    pass_env: [ANTHROPIC_BASE_URL, ANTHROPIC_API_KEY, "+
				"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC]\n", dir), filepath.Dir(config), filepath.Base(config))
			repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
			before := repo.Git("rev-parse", "HEAD")
			gate := filepath.Join(dir, "gate")
			play := strings.ReplaceAll(apartHands, "GATE", gate)
			s, model := hiredIn(t, players(t)[0], play, repo.Path, "--config", config, "--hosts", "box,good",
				"--isolation", "worktree", "--lease", "5s", "--allow", "Bash", "--task", "Weave")
			failed := await(s, "the report of the host", func(_ string, b contract.Error) bool {
				return b.Category == bridge.CatHost
			})
			if !strings.Contains(failed.Message, "host box cannot be used") || !strings.Contains(failed.Message, tt.told) ||
				!slices.Equal(failed.RecoveryOptions, []string{"retry host box"}) {
				t.Errorf("the human was told %+v", failed)
			}
			write(t, "", dir, "gate")
			await[contract.Result](s, "the result", nil)
			s.finish(contract.ExitComplete)
			if list := model.Problems(); len(list) > 0 || !done.Load() {
				t.Errorf("the play left its script: %v\n%s", list, s.dump())
			}
			run := fmt.Sprintf("%.8s", s.run())
			if got := repo.Git("ls-tree", "--name-only", "arbiter/"+run+"/main"); got != "old.txt\none.txt\ntwo.txt" {
				t.Errorf("the run made %q\n%s", got, s.dump())
			}
			if now := repo.Git("rev-parse", "HEAD"); now != before {
				t.Errorf("HEAD moved from %s to %s", before, now)
			}
			if left := h.processes(); len(left) > 0 {
				t.Errorf("left on the host: %v", left)
			}
		})
	}
}
