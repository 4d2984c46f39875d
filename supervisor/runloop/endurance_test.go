package runloop

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// busyPort has Orchestrators that work without end: a minute per turn, with tool calls, permission requests
// that nothing waits for, questions and process ends.
func busyPort(t *testing.T, summon int) *fakePort {
	var turns atomic.Int64
	return &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
		defer cancel()
		if p.ID == contract.Arbiter {
			for s := f.loop.Snapshot(); s.Spawned < summon; s = f.loop.Snapshot() {
				f.loop.call(t, p.AgentRef, "spawn_orchestrator", `{"prompt":"work"}`)
			}
			v := ruling("CONTINUE", "Patience.")
			for _, a := range f.loop.Snapshot().Agents {
				if a.Standing == supervisor.AgentWaiting {
					v = ruling("ADDRESS_ORCHESTRATOR", "Go on.", "to", a.ID)
				}
			}
			f.ruled(p, v)
			return
		}
		n := turns.Add(1)
		f.event(p.AgentRef, bridge.Delivered{MessageID: p.MessageID, Proof: "lifecycle"})
		f.event(p.AgentRef, bridge.ToolUse{Tool: "Bash", Input: json.RawMessage(`{}`)})
		time.Sleep(time.Minute)
		f.loop.ToolCall(ctx, bridge.ToolCallParams{AgentRef: p.AgentRef, Tool: "report_progress",
			Input: json.RawMessage(`{"message":"a step"}`)})
		switch {
		case n%50 == 0:
			f.end(p.AgentRef) // its process ends
			return
		case n%10 == 0:
			soon, cancel := context.WithTimeout(ctx, time.Second)
			f.loop.Permission(soon, bridge.PermissionParams{AgentRef: p.AgentRef, Request: fmt.Sprint("p", n),
				Tool: "Bash", Input: json.RawMessage(`{}`)})
			cancel()
		}
		if n%25 == 0 {
			f.ruled(p, report("question", "May I?", true))
			return
		}
		f.ruled(p, report("progress", "on the way", false))
	}}
}

// size counts the resources of a run.
type size struct{ goroutines, state, mail, workLog, underway int }

func (n *liveRun) size() size {
	n.t.Helper()
	s := n.loop.Snapshot()
	workLog := len(s.Conversation.WorkLog)
	s.Conversation.WorkLog = nil // its length varies, and has a bound of its own
	raw := testkit.Must(json.Marshal(s))(n.t)
	return size{runtime.NumGoroutine(), len(raw), len(s.Conversation.Mail), workLog, len(s.Conversation.InTurn)}
}

// twoDays plays two days and the end of a run, and checks that nothing of it grows on the second day, and nothing is
// left at the end. It returns the states after each day.
func (n *liveRun) twoDays() (first, second *supervisor.State) {
	time.Sleep(25 * time.Hour) // what is kept about restarts for a day is complete by then
	early, first := n.size(), n.loop.Snapshot()
	time.Sleep(23 * time.Hour)
	late, second := n.size(), n.loop.Snapshot()
	testkit.Check(n.t, late.goroutines <= early.goroutines+3 && late.state <= early.state+early.state/5 &&
		late.mail <= 6 && late.underway <= 4 && late.workLog <= 100, "after a day %+v, after two %+v", early, late)
	n.stop()
	synctest.Wait()
	l, calls := n.loop, 0
	for _, waiting := range []*sync.Map{&l.tools.waiting, &l.permissions.waiting} {
		waiting.Range(func(any, any) bool { calls++; return true })
	}
	testkit.Check(n.t, len(l.timers) <= 12 && len(l.starts) <= 4 && len(l.lanes) <= 8 &&
		calls+len(l.outbox.pending) == 0,
		"left: timers %v, %d starts, %d lanes, %d calls, %d undone", slices.Collect(maps.Keys(l.timers)),
		len(l.starts), len(l.lanes), calls, len(l.outbox.pending))
	return first, second
}

// TestTwoDays: during two days of a run with three Orchestrators that exchange messages, ask and end, nothing
// grows.
func TestTwoDays(t *testing.T) {
	testkit.WithoutRace(t)
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{wait: 2 * time.Millisecond, forget: true}
		n := live(t, recorded, busyPort(t, 3), func(o *runconfig.Options) {
			o.Task, o.MaxExchanges, o.MaxFailures = "build", 1<<30, 1<<30
		})
		_, s := n.twoDays()
		testkit.Check(t, s.Ending == nil && s.Lifecycle.Crashes >= 50 && s.Conversation.Ledger.Seen >= 5000,
			"ending %v, %d crashes, %d messages seen: not the run that was wanted", s.Ending, s.Lifecycle.Crashes,
			s.Conversation.Ledger.Seen)
	})
}

// TestASlowDisk: each record takes 5 s. Snapshots are available at once, agents' events are read, and what
// waits is bounded.
func TestASlowDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{wait: 5 * time.Second}
		n := live(t, recorded, asksBack(), func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Minute)
		began := time.Now()
		n.chatter(2000)
		synctest.Wait()
		testkit.Check(t, n.loop.Snapshot() != nil && time.Since(began) == 0, "reading 2,000 events took %s",
			time.Since(began))
		n.say("a", "one")
		synctest.Wait()
		m := n.loop.Snapshot().Conversation.Mail
		testkit.Check(t, len(m) == 1, "the word waits for the disk: %v", m)
		time.Sleep(6 * time.Second)
		a := hearing[contract.Accepted](n)
		testkit.Check(t, len(a) == 1, "accepted %v", a)
		recorded.takes(-1)
		n.chatter(maxPending + 10*inboxSize)
		synctest.Wait()
		if waiting := len(n.loop.inbox); waiting > inboxSize || recorded.count() > 2000+maxPending+100 {
			t.Errorf("%d inputs wait, %d records", waiting, recorded.count())
		}
		before := recorded.count()
		synctest.Wait()
		testkit.Check(t, n.loop.Snapshot().Task.Phase != "" && recorded.count() == before, "it takes more than it may")
		recorded.takes(0)
		recorded.sync()
		time.Sleep(time.Second)
		testkit.Same(t, "texts arrived", 2000+maxPending+10*inboxSize, len(hearing[contract.Assistant](n)))
		n.stop()
	})
}

// TestAThousandMessagesInASecond: they keep their order, and each is accepted.
func TestAThousandMessagesInASecond(t *testing.T) {
	const messages = 1000
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{wait: time.Millisecond}
		n := live(t, recorded, asksBack(), nil)
		time.Sleep(time.Second)
		for i := range messages {
			n.say(fmt.Sprint(i), fmt.Sprintf("word %d.", i))
			time.Sleep(time.Millisecond)
		}
		time.Sleep(time.Hour)
		accepted := hearing[contract.Accepted](n)
		for i, a := range accepted {
			testkit.Need(t, a.Ref == fmt.Sprint(i), "number %d accepted is %s", i, a.Ref)
		}
		var order []string
		for _, m := range hearing[contract.Message](n) {
			if m.From == contract.Human {
				order = append(order, m.MessageID)
			}
		}
		var delivered []string
		for _, d := range hearing[contract.Delivered](n) {
			if d.From == contract.Human {
				delivered = append(delivered, d.MessageID)
			}
		}
		testkit.Check(t, len(accepted) == messages && len(order) == messages && slices.Equal(order, delivered),
			"%d accepted, %d said, %d delivered, in order: %v", len(accepted), len(order), len(delivered),
			slices.Equal(order, delivered))
		n.stop()
	})
}

// TestAHundredAgents: they start and end together.
func TestAHundredAgents(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := live(t, &fakeJournal{wait: time.Millisecond}, busyPort(t, 100), func(o *runconfig.Options) {
			o.Task, o.MaxOrchestrators, o.MaxIterations, o.MaxExchanges = "build", 200, 200, 1<<30
		})
		time.Sleep(30 * time.Second)
		up := n.port.alive()
		testkit.Need(t, up == 101, "%d agents are up", up)
		ref := n.loop.Snapshot().Agents[0].AgentRef
		n.loop.call(t, ref, "release_orchestrator", `{"id":"all","reason":"enough"}`)
		time.Sleep(10 * time.Minute)
		testkit.Same(t, "agents are up", 1, n.port.alive())
		testkit.Same(t, "live", 0, n.loop.Snapshot().LivingCount())
		for range 100 {
			n.loop.call(t, ref, "spawn_orchestrator", `{"prompt":"work"}`)
		}
		testkit.Same(t, "exit, while they start,", contract.ExitInterrupted, n.stop())
		for _, a := range n.loop.Snapshot().Agents {
			testkit.Same(t, a.ID, supervisor.AgentEnded, a.Status)
		}
	})
}

// TestASlowListener: it delays only its own events: the run reaches its end with every event in order, and a
// snapshot is available at once.
func TestASlowListener(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLiveRun(t, &fakeJournal{}, asksBack())
		n.slow = time.Second
		n.begin(nil)
		for i := range 100 {
			testkit.Need(t, n.loop.give(fmt.Sprint(i), contract.Say{Text: "x"}), "the run is over")
			began := time.Now()
			n.loop.Snapshot()
			testkit.Check(t, time.Since(began) == 0, "a snapshot took %s", time.Since(began))
		}
		time.Sleep(time.Hour)
		n.stop()
		accepted := hearing[contract.Accepted](n)
		for i, a := range accepted {
			testkit.Same(t, fmt.Sprintf("accepted in place of %d", i), fmt.Sprint(i), a.Ref)
		}
		last := n.events[len(n.events)-1].Body
		_, ok := last.(contract.Result)
		testkit.Check(t, len(accepted) == 100 && ok, "%d accepted, the last event is %T", len(accepted), last)
	})
}

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
	arbiter := func(f *fakePort, p bridge.MessageParams) {
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
			if !f.loop.call(t, p.AgentRef, "spawn_orchestrator", `{"prompt":"take up the line"}`) {
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
		if p.ID == contract.Arbiter {
			arbiter(f, p)
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
		recorded := &fakeJournal{wait: 2 * time.Millisecond, forget: true}
		n := live(t, recorded, chainPort(t, 3), func(o *runconfig.Options) {
			o.Task, o.MaxExchanges, o.MaxFailures, o.MaxIterations, o.Permissions = "build", 1<<30, 1<<30, 1<<30,
				"allow-all"
		})
		before, after := n.twoDays()
		testkit.Check(t, after.Ending == nil && after.Spawned >= 250 && after.Renewal.Count >= 30 &&
			after.Lifecycle.Crashes >= 20 && after.Conversation.Ledger.Seen >= 5000,
			"ending %v, %d summoned, %d renewals, %d crashes, %d messages seen: not the run that was wanted",
			after.Ending, after.Spawned, after.Renewal.Count, after.Lifecycle.Crashes, after.Conversation.Ledger.Seen)
		if len(after.Agents) > supervisor.NamesKept+10 || len(after.Rulings.Ledger) > supervisor.LedgerKept ||
			len(after.Conversation.RecentMessages) > supervisor.RecentMessagesKept ||
			len(after.Handoff.Documents) > 3 {
			t.Errorf("%d agents, %d rulings, %d words, %d documents on their way", len(after.Agents),
				len(after.Rulings.Ledger), len(after.Conversation.RecentMessages), len(after.Handoff.Documents))
		}
		was, is := len(before.RenewalBrief(supervisor.Handover{Document: &verdict.Document{}})),
			len(after.RenewalBrief(supervisor.Handover{Document: &verdict.Document{}}))
		testkit.Check(t, is <= was+was/5, "an Arbiter inherits %d bytes after a day, %d after two", was, is)
	})
}
