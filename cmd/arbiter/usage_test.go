package main

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/internal/report"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

// TestUsage: usage reports the same cost by day, run, agent and model as the run's result.
func TestUsage(t *testing.T) {
	for _, who := range players(t) {
		t.Run(who.name, func(t *testing.T) {
			who.long(t) // the driver's tests cover what the real CLI reports about models
			t.Parallel()
			s, _ := hiredIn(t, who, spin("echo spun"), t.TempDir(), "--model", "claude-sonnet-4-5", "--allow",
				"Bash(*)", "--task", "Spin")
			result := s.finish(contract.ExitComplete)
			run := collect[contract.Session](s)[0].Session
			ask := func(args ...string) string {
				out, _ := s.output(int(contract.ExitComplete), append([]string{"usage"}, args...)...)
				return out
			}
			for by, want := range map[report.SpendingBy]func(report.Row) bool{
				report.SpendingDay:   func(r report.Row) bool { return r.Day != "" },
				report.SpendingRun:   func(r report.Row) bool { return r.Run == run },
				report.SpendingAgent: func(r report.Row) bool { return r.Agent == "arbiter" || r.Agent == "orch-1" },
				report.SpendingModel: func(r report.Row) bool { return strings.HasPrefix(r.Model, "claude-") },
			} {
				var rows []report.Row
				if err := json.Unmarshal([]byte(ask("--by", string(by), "--json")), &rows); err != nil {
					t.Fatal(err)
				}
				usd := 0.0
				for _, r := range rows {
					usd += r.CostUSD
					if !want(r) {
						t.Errorf("by %s: %+v", by, r)
					}
				}
				if result.CostUSD <= 0 || math.Abs(usd-result.CostUSD) > 1e-5 {
					t.Errorf("by %s: $%v, the run says $%v", by, usd, result.CostUSD)
				}
			}
			if text := ask("--by", "agent"); !strings.Contains(text, command.ShortID(run)+" orch-1") ||
				!strings.Contains(text, "total") {
				t.Errorf("printed\n%s", text)
			}
		})
	}
}
