package main

import (
	"testing"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// fusePlay is a play in which an Orchestrator works on and on, whatever it is told.
const fusePlay = `name: fuse
title: On and on
allow: ["Bash(*)"]
actors:
  - name: arbiter
    match: {role: arbiter}
    steps:
      - use: [{tool: mcp__arbiter__spawn_orchestrator, input: {prompt: Spin., fuse_usd: 0.2}}]
      - verdict: {decision: CONTINUE, message: Patience., reason: r}
      - expect: (?s)its fuse is spent.*summon a successor with fuse_usd
        verdict: {decision: COMPLETE, message: It is done., summary: stopped, reason: r}
  - name: weaver
    match: {role: orchestrator}
    otherwise:
      use: [{tool: Bash, input: {command: "true", description: Spin}}]
`

// TestFuseStopsAnOrchestrator: an Orchestrator that costs more than its fuse must hand off, then parked, and the
// Arbiter is asked. The fuse is passed by one call at most.
func TestFuseStopsAnOrchestrator(t *testing.T) {
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			who.long(t)
			t.Parallel()
			s := start(t, nil, append(who.args, "--json", "--scenario", scenarioFile(t, fusePlay), "--task", "Spin")...)
			s.offScript = true // the Orchestrator is stopped in its turn
			if r := s.finish(contract.ExitComplete); !sums(r, "stopped") {
				t.Errorf("result %+v", r)
			}
			var told []string
			spent, call, last := 0.0, 0.0, 0.0
			for _, l := range s.lines {
				switch b := l.Body.(type) {
				case contract.Fuse:
					told, spent = append(told, b.Status), b.Spent
				case contract.Cost:
					if l.ID == "orch-1" {
						call, last = max(call, b.CostUSD-last), b.CostUSD
					}
				}
			}
			if len(told) < 2 || told[0] != contract.FuseSet || told[len(told)-1] != contract.FuseBlown {
				t.Errorf("told %v", told)
			}
			if spent < 0.2 || spent > 0.2+call {
				t.Errorf("$%.4f of $0.20 were spent, the dearest call cost $%.4f\n%s", spent, call, s.dump())
			}
		})
	}
}
