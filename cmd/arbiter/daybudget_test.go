package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestLimitOfADayOverRuns: a day's limit counts all runs of the state directory. The second run gets a warning
// about it. The third run starts after the limit is used up, and makes no model request.
func TestLimitOfADayOverRuns(t *testing.T) {
	if now := time.Now(); now.Add(2*time.Minute).Day() != now.Day() {
		t.Skip("the day is about to end")
	}
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			who.long(t) // the supervisor's TestLimitOfADay and TestUsage test its parts
			t.Parallel()
			first, model := hiredIn(t, who, spin("echo spun"), t.TempDir(), "--model", "claude-sonnet-4-5", "--allow",
				"Bash(*)", "--task", "Spin")
			cost := first.finish(contract.ExitComplete).CostUSD
			with := func(share float64) *script {
				limit := []string{"--max-cost-per-day", fmt.Sprintf("%.6f", share*cost)}
				return first.again(slices.Concat(first.cmd.Args[1:], limit)...)
			}
			second := with(2.2)
			if r := second.finish(contract.ExitComplete); !sums(r, "spun") {
				t.Errorf("the second: %+v", r)
			}
			list := collect[contract.Budget](second)
			if len(list) != 1 || list[0].Scope != "day" || list[0].Level != "warn" || list[0].SpentUSD < 1.7*cost {
				t.Errorf("told %+v, each costs $%v", list, cost)
			}
			asked := len(model.Requests())
			third := with(1.9)
			third.finishesAtLimit()
			if r := third.finish(contract.ExitLimit); !strings.Contains(r.Summary, "all runs of this day") {
				t.Errorf("the third: %+v", r)
			}
			if n := len(model.Requests()); n != asked {
				t.Errorf("the third asked its models %d times", n-asked)
			}
		})
	}
}
