package main

import (
	"slices"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/internal/workspace/gittest"
	"github.com/arbiter-cli/arbiter/rehearsal"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// overwriting is a play in which one agent proves its work and another breaks it. When the Arbiter is notified
// that the check fails now, it has the work repaired.
const overwriting = `
name: overwriting
title: Two at one loom
allow: [Write, "Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    otherwise:
      - expect: COMPLETE did not take effect
        verdict: {decision: SELECT_MODE, mode: developer, message: Mend the weft., reason: It was broken.}
      - expect: "The weft is mended|The dye is on"
        verdict: {decision: COMPLETE, message: It is done., summary: The cloth is dyed., reason: Both have proved it.}
      - expect: "The weft is laid"
        verdict: {decision: SELECT_MODE, mode: developer, message: Dye it., reason: The weft is there.}
      - expect: "kind: task"
        verdict: {decision: SELECT_MODE, mode: developer, message: Lay the weft., reason: It is first.}
      - verdict: {decision: CONTINUE, message: Patience., reason: The thread continues.}
  - name: weaver
    match: {role: orchestrator, contains: "Lay the weft"}
    steps:
      - use: [{tool: Bash, input: {command: "printf 'weft\\n' > cloth.txt", description: Lay it}}]
    otherwise:
      verdict: &laid
        expects_response: true
        kind: done
        message: The weft is laid.
        handoff: {accomplished: [the weft], remaining: [], key_context: In cloth.txt., checks: [{command: cat cloth.txt, expect: '"weft"'}]}
  - name: dyer
    match: {role: orchestrator, contains: "Dye it"}
    steps:
      - use: [{tool: Bash, input: {command: "printf 'blue\\n' > cloth.txt", description: Dye it}}]
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: The dye is on.
        handoff: {accomplished: [the dye], remaining: [], key_context: In cloth.txt., checks: [{command: grep -c blue cloth.txt, expect: '"1"'}]}
  - name: mender
    match: {role: orchestrator, contains: "Mend the weft"}
    steps:
      - use: [{tool: Bash, input: {command: "printf 'weft\\n' >> cloth.txt", description: Mend it}}]
    otherwise:
      verdict:
        expects_response: true
        kind: done
        message: The weft is mended.
        handoff: {accomplished: [the weft], remaining: [], key_context: In cloth.txt.}
`

// TestAuthorsOfFilesOfFailedCheck: the Arbiter, events and the report name the agent that changed the
// files of a broken check, with each kind of isolation.
func TestAuthorsOfFilesOfFailedCheck(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	for _, p := range players(t) {
		for _, isolation := range []string{"shared", "worktree", "clone"} {
			t.Run(p.name+" "+isolation, func(t *testing.T) {
				if isolation != "worktree" {
					testkit.Long(t)
				}
				p.long(t)
				t.Parallel()
				repo := gittest.New(t, map[string]string{"old.txt": "old\n"})
				play := overwriting
				if isolation == "shared" { // or the second agent may start before the first one's work is recorded
					play = strings.Replace(play, "command: cat cloth.txt", "command: 'until git for-each-ref "+
						"refs/arbiter | grep -q handoff; do sleep 0.1; done; cat cloth.txt'", 1)
				}
				s, model := hiredIn(t, p, play, repo.Path, "--no-input", "--isolation", isolation, "--allow", "Bash",
					"--task", "Weave")
				s.finish(contract.ExitComplete)
				const named = "orch-2 was the last to change its files (cloth.txt)"
				told := func(n contract.Notice) bool { return strings.Contains(n.Text, named) }
				if !slices.ContainsFunc(collect[contract.Notice](s), told) {
					t.Error("no message says who changed the file last")
				}
				asked := slices.ContainsFunc(model.Requests(), func(r rehearsal.Request) bool {
					return r.Actor == "arbiter" && strings.Contains(string(r.Messages), named)
				})
				if !asked {
					t.Error("the Arbiter is not told who changed the file last")
				}
				failed := func(c contract.Check) bool {
					return c.Again && c.Receipt.Result == "failed" && slices.Equal(c.Agents, []string{"orch-2"})
				}
				if !slices.ContainsFunc(collect[contract.Check](s), failed) {
					t.Error("the event does not name it")
				}
				s.replaysExactly()
			})
		}
	}
}
