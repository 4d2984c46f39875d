package supervisor

import (
	"fmt"
	"strings"
	"testing"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestThoseLongGone: of agents that ended long ago only the names are kept, and later nothing, except for the
// one whose document waits for a successor.
func TestThoseLongGone(t *testing.T) {
	p := begin(t, func(o *runconfig.Options) { o.MaxIterations, o.MaxExchanges = 1000, 1<<30 })
	leave := func(id string) {
		p.call("arbiter", "release_orchestrator", fmt.Sprintf(`{"id":%q,"reason":"enough"}`, id))
		p.happen(id, bridge.Done{Exit: bridge.Exit{Expected: true}})
	}
	waits := p.spawn("the first")
	p.verdict(waits, report("handoff", "I am full.", true))
	leave(waits)
	p.s.Handoff.SuccessorQueue = nil // the queue no longer names the successor
	for range RecordsKept + 5 {
		leave(p.spawn("one of many"))
	}
	if a := p.agent(waits); !a.Forgotten || a.Document != nil || a.Brief != "" || a.Name == "" || a.SessionID == "" {
		t.Errorf("the first: %+v", a)
	}
	if a := p.agent(fmt.Sprintf("orch-%d", p.s.Spawned)); a.Forgotten || a.Brief == "" {
		t.Errorf("the last: %+v", a)
	}
	if a := p.call("arbiter", "spawn_orchestrator", fmt.Sprintf(`{"prompt":"go on","successor_of":%q}`,
		waits)); !a.IsError || !strings.Contains(a.Text, "no longer kept") {
		t.Errorf("its successor: %+v", a)
	}
	again := p.spawn("another")
	p.verdict(again, report("handoff", "I am full.", true))
	leave(again)
	for range NamesKept + 20 {
		p.s.Handoff.SuccessorQueue = []string{again} // no successor is spawned
		params := fmt.Sprintf(`{"prompt":"x","successor_of":%q}`, fmt.Sprintf("orch-%d", p.s.Spawned))
		if a := p.call("arbiter", "spawn_orchestrator", params); a.IsError {
			t.Fatal(a.Text)
		}
		p.spawned(fmt.Sprintf("orch-%d", p.s.Spawned))
		leave(fmt.Sprintf("orch-%d", p.s.Spawned))
	}
	if a := p.agent(again); a.Document == nil || len(p.s.Agents) > NamesKept+3 {
		t.Errorf("%d agents of %d; %+v", len(p.s.Agents), p.s.Spawned, a)
	}
	status := p.call("arbiter", "status", `{}`).Text
	p.contains("the status", status, fmt.Sprintf("and %d before them, gone", p.s.Spawned-GoneShown),
		fmt.Sprintf("orch-%d", p.s.Spawned))
	if n := strings.Count(status, "orch-"); n != GoneShown {
		t.Errorf("%d are listed", n)
	}
}
