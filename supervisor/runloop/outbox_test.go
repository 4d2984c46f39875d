package runloop

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
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
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
)

// TestNothingIsDoneBeforeItIsOnDisk: nothing is reported, sent or started before; and then everything happens
// in the order in which it was decided.
func TestNothingIsDoneBeforeItIsOnDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := asksBack()
		recorded := &fakeJournal{wait: -1}
		n := live(t, recorded, port, func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Hour)
		testkit.Need(t, len(port.starts()) == 0 && len(hearing[contract.Session](n)) == 0,
			"before its first input was durable: starts %v, events %v", port.starts(), hearing[contract.Session](n))
		recorded.sync()
		time.Sleep(time.Second)
		testkit.Need(t, len(port.starts()) == 1 && len(hearing[contract.Spawn](n)) == 1, "afterwards: starts %v",
			port.starts())
		testkit.Need(t, len(n.sent()) == 0, "the task was sent before `spawned` was durable")
		recorded.sync()
		time.Sleep(time.Second)
		testkit.Need(t, len(n.sent()) == 1 && len(hearing[contract.Question](n)) == 0, "sent %v, questions %v",
			n.sent(), hearing[contract.Question](n))
		recorded.sync()
		time.Sleep(time.Second)
		testkit.Need(t, len(hearing[contract.Question](n)) == 1, "the question was not asked")
		n.say("a", "one")
		synctest.Wait()
		first := uint64(recorded.count())
		n.say("b", "two")
		time.Sleep(time.Hour)
		testkit.Need(t, len(hearing[contract.Accepted](n)) == 0 && len(n.sent()) == 1,
			"accepted %v, sent %v before they were durable", hearing[contract.Accepted](n), n.sent())
		recorded.loop.Committed(first)
		synctest.Wait()
		if a := hearing[contract.Accepted](n); len(a) != 1 || a[0].Ref != "a" || len(n.sent()) != 2 {
			t.Fatalf("accepted %v, sent %v with one durable", a, n.sent())
		}
		recorded.takes(0)
		recorded.sync()
		time.Sleep(time.Second)
		a := hearing[contract.Accepted](n)
		testkit.Check(t, len(a) == 2 && a[1].Ref == "b", "accepted %v", a)
		testkit.Same(t, "exit", contract.ExitInterrupted, n.stop())
	})
}

// TestTroubleWithTheDisk: commands are refused visibly, agents continue, and what was accepted before is done
// when the disk works again.
func TestTroubleWithTheDisk(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{}
		n := live(t, recorded, asksBack(), func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Second)
		recorded.takes(-1)
		n.say("before", "one")
		synctest.Wait()
		n.loop.Trouble(errors.New("no space left on device"))
		n.say("during", "two")
		n.loop.Event(bridge.Event{AgentRef: n.loop.Snapshot().Agents[0].AgentRef,
			Body: bridge.Context{Tokens: 50, Window: 100, Pct: 50}})
		synctest.Wait()
		a := hearing[contract.Accepted](n)
		testkit.Need(t, len(a) == 0, "accepted %v", a)
		r := hearing[contract.Rejected](n)
		testkit.Need(t, len(r) == 1 && r[0].Ref == "during" && strings.Contains(r[0].Message, "no space left"),
			"rejected %v", r)
		e := hearing[contract.Error](n)
		testkit.Need(t, len(e) == 1 && strings.Contains(e[0].Message, "no space left") &&
			len(e[0].RecoveryOptions) != 0, "errors %v", e)
		testkit.Same(t, "an agent's word was not taken", 50, n.loop.Snapshot().Agents[0].Context.Pct)
		n.loop.Trouble(errors.New("no space left on device")) // reported once
		recorded.takes(0)
		n.loop.Trouble(nil)
		recorded.sync()
		time.Sleep(time.Second)
		testkit.Check(t, len(hearing[contract.Error](n)) == 1 && len(n.sent()) == 2, "afterwards: errors %v, sent %v",
			hearing[contract.Error](n), n.sent())
		n.say("after", "three")
		time.Sleep(time.Second)
		refs := testkit.Each(hearing[contract.Accepted](n), func(a contract.Accepted) string { return a.Ref })
		testkit.Same(t, "accepted", []string{"before", "after"}, refs)
		n.stop()
		for _, f := range recorded.inputs(t) {
			c, ok := f.(input.Command)
			testkit.Check(t, !ok || c.Command.Ref != "during", "what was refused stands in the journal")
		}
	})
}

// TestHaltInTrouble: a halt does not wait for the disk. Its sender is notified when the disk works again, and
// no agent is restarted before the human says so.
func TestHaltInTrouble(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{}
		port := silentPort()
		n := live(t, recorded, port, func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Second)
		recorded.takes(-1)
		n.loop.Trouble(errors.New("no space left on device"))
		n.loop.Put(input.Command{Channel: input.ChannelSocket,
			Command: contract.Command{Ref: "h", Body: contract.Halt{}}})
		synctest.Wait()
		testkit.Need(t, n.loop.Snapshot().Halted, "it is not taken notice of")
		n.loop.Put(input.BridgeLost{Message: "signal: killed", Halted: true}) // the kill switch bypassed the loop
		recorded.takes(0)
		n.loop.Trouble(nil)
		recorded.sync()
		time.Sleep(time.Minute)
		a := hearing[contract.Accepted](n)
		testkit.Check(t, len(a) == 1 && a[0].Ref == "h", "accepted %v", a)
		if s := n.loop.Snapshot(); !s.Halted || s.Lifecycle.Crashes != 0 || len(port.starts()) != 1 {
			t.Errorf("halted %v, %d crashes, started %v", s.Halted, s.Lifecycle.Crashes, port.starts())
		}
		n.stop()
	})
}

// TestHaltComesFirst: processes that end because of a halt are not crashes, however many inputs wait before it.
func TestHaltComesFirst(t *testing.T) {
	for range 10 {
		synctest.Test(t, func(t *testing.T) {
			n := newLiveRun(t, &fakeJournal{}, silentPort())
			ref := bridge.AgentRef{ID: contract.Arbiter, Generation: 1}
			n.loop.Put(input.AgentEvent{Event: bridge.Event{AgentRef: ref,
				Body: bridge.Done{Exit: bridge.Exit{Expected: true}}}})
			n.loop.Put(input.Command{Channel: input.ChannelSocket,
				Command: contract.Command{Ref: "h", Body: contract.Halt{}}})
			n.begin(func(o *runconfig.Options) { o.Task = "build" })
			synctest.Wait()
			s := n.loop.Snapshot()
			testkit.Check(t, s.Halted && s.Lifecycle.Crashes == 0, "halted %v, %d crashes", s.Halted, s.Lifecycle.Crashes)
			n.stop()
		})
	}
}

// TestASignalInTrouble: a signal ends the run, whatever its state, and commands that were not recorded are
// reported as not accepted. The same ends a run whose journal was deleted, without a signal.
func TestASignalInTrouble(t *testing.T) {
	for name, before := range map[string]func(n *liveRun){
		"idle":   func(*liveRun) {},
		"a word": func(n *liveRun) { n.say("w", "one") },
		"stopping": func(n *liveRun) {
			n.give("w", contract.Cancel{})
		},
		"stopped": func(n *liveRun) {
			n.give("w", contract.Cancel{})
			n.loop.Put(input.Stopped{})
		},
		"many events": func(n *liveRun) { n.chatter(maxPending + 2*inboxSize) },
	} {
		scene := func(t *testing.T, deleted bool) {
			synctest.Test(t, func(t *testing.T) {
				recorded := &fakeJournal{}
				n := live(t, recorded, silentPort(), nil)
				time.Sleep(time.Second)
				recorded.takes(-1)
				before(n)
				synctest.Wait()
				want := contract.ExitInterrupted
				if deleted {
					want = contract.ExitFailed
					n.loop.Trouble(journal.ErrDeleted)
				} else {
					n.loop.Trouble(errors.New("input/output error"))
					synctest.Wait()
					go n.loop.Put(input.Signal{Signal: "INT"})
				}
				exit := n.over()
				testkit.Check(t, exit == want || strings.HasPrefix(name, "stop"), "exit %d", exit)
				testkit.Same(t, fmt.Sprintf("accepted %v", hearing[contract.Accepted](n)), 0,
					len(hearing[contract.Accepted](n)))
				if name != "idle" && name != "many events" {
					r := hearing[contract.Rejected](n)
					testkit.Check(t, len(r) == 1 && r[0].Ref == "w" &&
						strings.Contains(r[0].Message, "could not be recorded"), "rejected %v", r)
				}
				testkit.Same(t, "results", 1, len(hearing[contract.Result](n)))
				testkit.Check(t, !deleted || len(hearing[contract.Error](n)) == 0, "a run that ends asks for room: %+v",
					hearing[contract.Error](n))
			})
		}
		t.Run(name, func(t *testing.T) { scene(t, false) })
		t.Run(name+", deleted", func(t *testing.T) { scene(t, true) })
	}
}

// chatter makes the Arbiter send events, on a separate goroutine like the bridge's reader.
func (n *liveRun) chatter(events int) {
	ref := n.loop.Snapshot().Agents[0].AgentRef
	n.port.wg.Go(func() {
		for i := range events {
			n.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Assistant{Text: fmt.Sprint(i)}})
		}
	})
}

// TestAFullJournalEndsTheRun: the run ends at its limit. What could not be recorded was not accepted, and what
// was recorded is on disk before it is done.
func TestAFullJournalEndsTheRun(t *testing.T) {
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			var full atomic.Bool
			recorded := &fakeJournal{fail: func(k journal.Kind, _ []byte) error {
				if full.Load() {
					return fmt.Errorf("%w: it is over 268435456 bytes", journal.ErrFull)
				}
				return nil
			}}
			n := live(t, recorded, silentPort(), nil)
			time.Sleep(time.Second)
			if slow {
				recorded.takes(time.Minute)
			}
			n.say("a", "one")
			synctest.Wait()
			full.Store(true)
			n.say("b", "two")
			synctest.Wait()
			if a := hearing[contract.Accepted](n); slow != (len(a) == 0) {
				t.Errorf("slow %v: accepted %v before the disk had it", slow, a)
			}
			testkit.Same(t, "exit", contract.ExitLimit, n.over())
			a, r := hearing[contract.Accepted](n), hearing[contract.Rejected](n)
			testkit.Check(t, len(a) == 1 && a[0].Ref == "a" && len(r) == 1 && r[0].Ref == "b",
				"accepted %v, rejected %v", a, r)
			s := hearing[contract.Result](n)
			testkit.Check(t, len(s) == 1 && s[0].Status == contract.StatusLimit &&
				strings.Contains(s[0].Summary, "journal is full"), "results %v", s)
		})
	}
}

// TestAJournalThatFillsUp: a person learns at 80 % that the limit is near, once each time that it comes near.
func TestAJournalThatFillsUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{}
		n := live(t, recorded, silentPort(), nil)
		for i, mib := range []int64{79, 81, 90, 20, 85} {
			recorded.used.Store(mib << 20)
			n.say(fmt.Sprint(i), "on")
			time.Sleep(time.Second)
		}
		var near []string
		for _, x := range hearing[contract.Notice](n) {
			if strings.Contains(x.Text, "nearly full") {
				near = append(near, x.Text)
			}
		}
		testkit.Check(t, len(near) == 2 && strings.Contains(near[0], "81 MiB") && strings.Contains(near[1], "85 MiB"),
			"notices %q", near)
		n.stop()
	})
}

// TestInputsThatTheJournalRejects: dropped narration is not a failure, and a message that is too large is refused;
// the run continues.
func TestInputsThatTheJournalRejects(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{fail: func(k journal.Kind, payload []byte) error {
			switch {
			case len(payload) > 1<<20:
				return journal.ErrTooLarge
			case k == journal.Narration:
				return journal.ErrDropped
			}
			return nil
		}}
		n := live(t, recorded, silentPort(), nil)
		time.Sleep(time.Second)
		ref := n.loop.Snapshot().Agents[0].AgentRef
		n.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Assistant{Text: "hm"}})
		n.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Assistant{Text: strings.Repeat("x", 2<<20)}})
		n.say("large", strings.Repeat("x", 2<<20))
		n.say("small", "x")
		time.Sleep(time.Second)
		testkit.Same(t, "texts were shown", 2, len(hearing[contract.Assistant](n)))
		a, r := hearing[contract.Accepted](n), hearing[contract.Rejected](n)
		testkit.Check(t, len(a) == 1 && a[0].Ref == "small" && len(r) == 1 && r[0].Ref == "large" &&
			strings.Contains(r[0].Message, "too large"), "accepted %v, rejected %v", a, r)
		testkit.Check(t, n.loop.Snapshot().Ending == nil, "the run ends")
		n.stop()
	})
}

// TestAFaultOfOursIsNotRecorded: the journal ends with the input before it, so that the run can be resumed.
func TestAFaultOfOursIsNotRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{}
		n := live(t, recorded, silentPort(), nil)
		time.Sleep(time.Second)
		before := recorded.count()
		// a body that Apply does not know
		n.give("poison", nil)
		exit := n.over()
		testkit.Check(t, exit == contract.ExitBug && n.loop.Fault() != nil, "exit %d, fault %v", exit, n.loop.Fault())
		e, ok := n.events[len(n.events)-1].Body.(contract.Error)
		testkit.Check(t, ok && e.Category == bridge.CatInternal, "the last event is %+v", n.events[len(n.events)-1].Body)
		testkit.Same(t, fmt.Sprintf("%d records more", recorded.count()-before), before, recorded.count())
		var fold supervisor.Replayer
		for _, r := range recorded.records {
			testkit.OK(t, fold.Take(r))
		}
		testkit.Same(t, "the journal folds to an Arbiter that is", supervisor.AgentReady, fold.State.Agents[0].Status)
	})
}

// TestAForeignWriteIsReported: a write of another process to the journal is reported, even if the journal
// has recovered before the loop looks; no command is refused because of it.
func TestAForeignWriteIsReported(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded, once := &fakeJournal{}, sync.Once{}
		var n *liveRun
		recorded.fail = func(_ journal.Kind, payload []byte) error {
			if bytes.Contains(payload, []byte(`"after"`)) {
				once.Do(func() { // the loop appends, so it cannot look between the two
					n.loop.Trouble(fmt.Errorf("%w: 77 bytes were added", journal.ErrForeignWrite))
					n.loop.Trouble(nil)
				})
			}
			return nil
		}
		n = live(t, recorded, asksBack(), func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Second)
		n.say("after", "one")
		time.Sleep(time.Second)
		e := hearing[contract.Error](n)
		testkit.Check(t, len(e) == 1 && strings.Contains(e[0].Message, "somebody else wrote"), "errors %v", e)
		a := hearing[contract.Accepted](n)
		testkit.Check(t, len(a) == 1, "accepted %v", a)
		n.stop()
	})
}

// TestMayWait: only an agent's event that nothing but frontends learn of shares the write of a later input.
func TestMayWait(t *testing.T) {
	event := input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "orch-1"}, Body: bridge.Delivered{}}}
	emit := input.Emit{Event: contract.Event{ID: "orch-1", Body: contract.Delivered{}}}
	for _, c := range []struct {
		name    string
		body    input.Body
		effects []input.Effect
		want    bool
	}{
		{"an event without effects", event, nil, true},
		{"an event that is reported", event, []input.Effect{emit, emit}, true},
		{"an event that sets a timer", event, []input.Effect{input.SetTimer{Key: "k", After: time.Second}, emit}, true},
		{"an event that leads to a message", event, []input.Effect{emit, input.Send{}}, false},
		{"an event that starts an agent", event, []input.Effect{input.Spawn{}}, false},
		{"an event that ends the run", event, []input.Effect{emit, input.Finish{}}, false},
		{"a command, whose sender waits", input.Command{}, []input.Effect{emit}, false},
		{"an agent's request, which waits", input.PermissionAsked{}, []input.Effect{emit}, false},
	} {
		testkit.Same(t, fmt.Sprintf("%s: may wait", c.name), c.want, mayWait(c.body, c.effects))
	}
}

// TestTooLargeToBeTaken: what no agent could read, or the journal could not keep, is refused at once, and the
// run continues.
func TestTooLargeToBeTaken(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{}
		port := &fakePort{live: map[string]bridge.AgentRef{}, answer: func(f *fakePort, p bridge.MessageParams) {
			f.ruled(p, ruling("ADDRESS_HUMAN", "What?"))
		}}
		n := live(t, recorded, port, nil)
		synctest.Wait()
		long := strings.Repeat("x", contract.MaxCommandText+1)
		for _, b := range []contract.CommandBody{
			contract.Say{Text: long}, contract.EditMessage{MessageID: "m", Text: long},
			contract.Permit{Request: "r", Behavior: bridge.Deny, Message: long},
			contract.SetPlan{Steps: []contract.Step{{Text: long[:contract.MaxCommandText]}, {Text: "x"}}},
		} {
			n.give(b.CommandType(), b)
		}
		synctest.Wait()
		refused := map[string]string{}
		for _, b := range hearing[contract.Rejected](n) {
			refused[b.Ref] = b.Message
		}
		for _, ref := range []string{"message", "edit_message", "permission", "set_plan"} {
			testkit.Includes(t, fmt.Sprintf("%s was refused", ref), refused[ref], "the limit is 1,048,576")
		}
		for _, f := range recorded.inputs(t) {
			c, ok := f.(input.Command)
			testkit.Check(t, !ok, "recorded: %+v", c)
		}
		input, _ := json.Marshal(map[string]string{"prompt": strings.Repeat("x", maxCallInput)})
		r, err := n.loop.ToolCall(t.Context(), bridge.ToolCallParams{AgentRef: n.loop.Snapshot().Agents[0].AgentRef,
			Tool: "spawn_orchestrator", Input: input})
		testkit.Check(t, err == nil && r.IsError && strings.Contains(r.Text, "at most 1,048,576 are taken"),
			"the tool answered %.200v, %v", r, err)
		input, _ = json.Marshal(map[string]string{"content": strings.Repeat("x", maxAskedInput)})
		allowed, err := n.loop.Permission(t.Context(),
			bridge.PermissionParams{Request: "p", AgentRef: n.loop.Snapshot().Agents[0].AgentRef, Tool: "Write",
				Input: input})
		testkit.Check(t, err == nil && allowed.Behavior == bridge.Deny &&
			strings.Contains(allowed.Message, "in smaller pieces"), "the permission is %.200v, %v", allowed, err)
	})
}
