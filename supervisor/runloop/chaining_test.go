package runloop

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// windows records how full each agent's window is: a turn takes its share, and a new session begins empty.
type windows struct {
	mu   sync.Mutex
	used map[string]int
}

const turnTokens = 7_000 // of 200,000: two dozen turns to the critical level

func (w *windows) begin(p bridge.SpawnParams) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !p.Config.Resume {
		w.used[p.ID] = 12_000
	}
	return nil
}

// fill takes a turn's share and reports how full the window is.
func (w *windows) fill(f *fakePort, ref bridge.AgentRef) (full bool) {
	w.mu.Lock()
	w.used[ref.ID] += turnTokens
	used := w.used[ref.ID]
	w.mu.Unlock()
	f.event(ref, bridge.Context{Tokens: used, Window: 200_000, Pct: float64(used) / 2000})
	return used >= 170_000
}

// left is a document of some size, with checks.
func left(by string, n int) verdict.Document {
	text := strings.Repeat("what was found out, with its reasons and its numbers; ", 40)
	return verdict.Document{
		Accomplished: []string{by + " did its part", text}, Remaining: []string{"the rest"},
		KeyContext: fmt.Sprint(n, " ", text), Files: []string{"a.go", "b.go"},
		Checks: []verdict.Check{{Command: "go test ./...", Expect: "exit 0"}, {Command: "false", Expect: "exit 0"}},
		Claims: []verdict.Claim{{Claim: "it passes", Verified: true, Check: 1}},
	}
}

// chainPort has Orchestrators that hand off when their windows are full, and an Arbiter that spawns their
// successors and is renewed itself.
func chainPort(t *testing.T, lines int) *fakePort {
	w := &windows{used: map[string]int{}}
	turns := 0
	var mu sync.Mutex
	count := func() int {
		mu.Lock()
		defer mu.Unlock()
		turns++
		return turns
	}
	arbiter := func(ctx context.Context, f *fakePort, p bridge.MessageParams) {
		f.event(p.AgentRef, bridge.Delivered{MessageID: p.MessageID, Proof: "lifecycle"})
		w.fill(f, p.AgentRef)
		if strings.Contains(p.Content, "| kind: renewal |") {
			v := ruling("HANDOFF", "Another sees on.")
			v["handoff"] = left("the Arbiter", count())
			f.ruled(p, v)
			return
		}
		for {
			s := f.loop.Snapshot()
			if s.Spawned >= lines && len(s.Handoff.SuccessorQueue) == 0 {
				break
			}
			if r, err := f.loop.ToolCall(ctx, bridge.ToolCallParams{AgentRef: p.AgentRef, Tool: "spawn_orchestrator",
				Input: json.RawMessage(`{"prompt":"take up the line"}`)}); err != nil || r.IsError {
				t.Errorf("spawn_orchestrator: %v %v", r, err)
				break
			}
		}
		v := ruling("CONTINUE", "Patience.")
		for _, a := range f.loop.Snapshot().Agents {
			if a.Standing == supervisor.AgentWaiting && a.Alive() {
				v = ruling("ADDRESS_ORCHESTRATOR", "Go on.", "to", a.ID)
			}
		}
		f.ruled(p, v)
	}
	return &fakePort{spawn: w.begin, answer: func(f *fakePort, p bridge.MessageParams) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		if p.ID == contract.Arbiter {
			arbiter(ctx, f, p)
			return
		}
		f.event(p.AgentRef, bridge.Delivered{MessageID: p.MessageID, Proof: "lifecycle"})
		time.Sleep(time.Minute)
		n := count()
		switch full := w.fill(f, p.AgentRef); {
		case full:
			v := report("handoff", "It is full.", true)
			v["handoff"] = left(p.ID, n)
			f.ruled(p, v)
		case n%200 == 0:
			f.end(p.AgentRef) // its process ends
		case n%10 == 0:
			f.ruled(p, report("question", "May I?", true))
		default:
			f.ruled(p, report("progress", "on the way", false))
		}
	}}
}

// TestTwoDaysOfHandingOn: hundreds of Orchestrators follow each other, under dozens of Arbiters, and the size
// of the run's state does not grow.
func TestTwoDaysOfHandingOn(t *testing.T) {
	testkit.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		var written atomic.Int64
		recorded := &fakeJournal{wait: 2 * time.Millisecond, forget: true,
			fail: func(_ journal.Kind, payload []byte) error {
				written.Add(int64(len(payload)))
				return nil
			}}
		n := live(t, recorded, chainPort(t, 3), func(o *runconfig.Options) {
			o.Task, o.MaxExchanges, o.MaxFailures, o.MaxIterations, o.Permissions = "build", 1<<30, 1<<30, 1<<30,
				"allow-all"
		})
		time.Sleep(25 * time.Hour)
		early, before, wroteEarly := n.size(), n.loop.Snapshot(), written.Load()
		time.Sleep(23 * time.Hour)
		late, after, wroteLate := n.size(), n.loop.Snapshot(), written.Load()
		handoffs := after.Spawned - before.Spawned
		t.Logf("%d Orchestrators, %d Arbiters; state %d bytes after a day, %d after two; %d bytes of journal for each "+
			"hand-off and the two dozen turns before it",
			after.Spawned, after.Renewal.Count+1, early.state, late.state, (wroteLate-wroteEarly)/int64(max(handoffs, 1)))
		if after.Ending != nil || after.Spawned < 250 || after.Renewal.Count < 30 || after.Lifecycle.Crashes < 20 ||
			after.Conversation.Ledger.Seen < 5000 {
			t.Errorf("ending %v, %d summoned, %d renewals, %d crashes, %d messages seen: not the run that was wanted",
				after.Ending, after.Spawned, after.Renewal.Count, after.Lifecycle.Crashes, after.Conversation.Ledger.Seen)
		}
		if late.goroutines > early.goroutines+3 || late.state > early.state+early.state/5 || late.mail > 6 ||
			late.underway > 4 || late.workLog > 100 {
			t.Errorf("after a day %+v, after two %+v", early, late)
		}
		if len(after.Agents) > supervisor.NamesKept+10 || len(after.Rulings.Ledger) > supervisor.LedgerKept ||
			len(after.Conversation.RecentMessages) > supervisor.RecentMessagesKept ||
			len(after.Handoff.Documents) > 3 {
			t.Errorf("%d agents, %d rulings, %d words, %d documents on their way", len(after.Agents),
				len(after.Rulings.Ledger), len(after.Conversation.RecentMessages), len(after.Handoff.Documents))
		}
		was, is := len(before.RenewalBrief(supervisor.Handover{Document: &verdict.Document{}})),
			len(after.RenewalBrief(supervisor.Handover{Document: &verdict.Document{}}))
		if is > was+was/5 {
			t.Errorf("an Arbiter inherits %d bytes after a day, %d after two", was, is)
		}
		n.loop.Put(input.Signal{Signal: "INT"})
		n.over()
		synctest.Wait()
		if l := n.loop; len(l.timers) > 12 || len(l.starts) > 4 || len(l.lanes) > 8 ||
			len(l.tools.waiting)+len(l.permissions.waiting)+len(l.outbox.pending) != 0 {
			t.Errorf("left: %d timers, %d starts, %d lanes, %d and %d calls, %d undone", len(l.timers), len(l.starts),
				len(l.lanes), len(l.tools.waiting), len(l.permissions.waiting), len(l.outbox.pending))
		}
	})
}
