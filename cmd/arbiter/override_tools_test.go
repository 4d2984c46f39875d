package main

import (
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// restless is a command with background children, one of which has left its process group.
const restless = "sleep 3001 & setsid sleep 3002 & sleep 3003"

// sleepers lists its live processes.
func sleepers(run string) []string {
	var list []string
	for _, cmd := range survivors(run) {
		if strings.HasPrefix(cmd, "sleep 300") {
			list = append(list, strings.TrimSpace(cmd))
		}
	}
	slices.Sort(list)
	return list
}

// TestATreeIsCutDown: a tool's whole process tree ends with the run or with its agent, and the work that was
// left half-done is reported.
func TestATreeIsCutDown(t *testing.T) {
	testkit.Long(t)
	t.Parallel()
	onlyLinux(t)
	const half = "Orchestrator I (orch-1) was at Bash `" + restless + "` for "
	for _, p := range players(t) {
		for _, way := range []string{"cancel", "interrupt", "kill"} {
			if p.real && way == "interrupt" {
				continue // it is cancelled in the same way
			}
			t.Run(p.name+"/"+way, func(t *testing.T) {
				p.long(t)
				if way == "cancel" {
					p.long(t)
				}
				t.Parallel()
				s := override(t, p, "developer", restless)
				s.accepts(steps("card", "spin"))
				s.at("orch-1")
				until(t, "three sleepers", func() bool { return len(sleepers(s.run())) == 3 })
				switch way {
				case "cancel":
					s.send(contract.Cancel{})
				case "interrupt":
					s.mustSignal(syscall.SIGINT)
				case "kill":
					s.accepts(contract.Kill{ID: "orch-1"}, "orch-1")
				}
				until(t, "sleepers that are gone", func() bool { return len(sleepers(s.run())) == 0 })
				if way == "kill" {
					m := await(s, "what is left half-done", func(_ string, m contract.Message) bool {
						return m.To == contract.Arbiter && strings.Contains(m.Text, "ended by the human")
					})
					s.holds("the notice", m.Text, []string{half, "step 1 of the plan: card"})
					s.send(contract.Cancel{})
				}
				exit := contract.ExitFailed
				if way == "interrupt" {
					exit = contract.ExitInterrupted
				}
				r := s.finish(exit)
				if way == "kill" {
					return
				}
				if r.Status != contract.StatusCancelled || len(r.InterruptedWork) != 1 {
					t.Fatalf("result %+v", r)
				}
				s.holds("half done", r.InterruptedWork[0], []string{half, "step 1 of the plan: card"})
			})
		}
	}
}
