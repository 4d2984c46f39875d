package runloop

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"reflect"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/rehearsal/corpus"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// fakePort is a bridge whose agents answer by a function: it is called for each message, on a separate
// goroutine, and reports what happens.
type fakePort struct {
	loop   *Loop
	host   string
	answer func(f *fakePort, p bridge.MessageParams)
	spawn  func(p bridge.SpawnParams) error

	wg   sync.WaitGroup
	mu   sync.Mutex
	live map[string]bridge.AgentRef
	born []string // starts that were requested
	told []string
}

func (f *fakePort) event(ref bridge.AgentRef, b bridge.EventBody) {
	f.loop.Handler(f.host).Event(bridge.Event{AgentRef: ref, Body: b})
}

// ruled ends the turn of a message with a verdict.
func (f *fakePort) ruled(p bridge.MessageParams, verdict any) {
	raw, err := json.Marshal(verdict)
	if err != nil {
		panic(err)
	}
	f.event(p.AgentRef, bridge.Delivered{MessageID: p.MessageID, Proof: "lifecycle"})
	f.event(p.AgentRef, bridge.Turn{MessageIDs: []string{p.MessageID}, Outcome: bridge.TurnDone, Verdict: raw,
		CostUSD: 0.01, Files: []string{"/w/a.go"}})
}

func (f *fakePort) Spawn(_ context.Context, p bridge.SpawnParams) (bridge.SpawnResult, error) {
	f.mu.Lock()
	f.born = append(f.born, p.String())
	f.mu.Unlock()
	time.Sleep(300 * time.Millisecond) // the CLI's own start, in the bubble's time
	if f.spawn != nil {
		if err := f.spawn(p); err != nil {
			return bridge.SpawnResult{}, err
		}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.live[p.ID] = p.AgentRef
	return bridge.SpawnResult{SessionID: p.Config.SessionID, Window: 200_000, Resumed: p.Config.Resume}, nil
}

func (f *fakePort) Message(_ context.Context, p bridge.MessageParams) error {
	f.mu.Lock()
	f.told = append(f.told, p.ID)
	f.mu.Unlock()
	f.wg.Go(func() {
		if strings.Contains(p.Content, "not take effect yet") { // no test is about open points
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
			return
		}
		f.answer(f, p)
	})
	return nil
}

func (f *fakePort) Interrupt(_ context.Context, a bridge.AgentRef) (bridge.InterruptResult, error) {
	f.event(a, bridge.Turn{MessageIDs: f.loop.Snapshot().Agents[0].Turn, Outcome: bridge.TurnInterrupted})
	return bridge.InterruptResult{}, nil
}

func (f *fakePort) Kill(_ context.Context, p bridge.KillParams) error {
	f.end(p.AgentRef)
	return nil
}

func (f *fakePort) Ask(_ context.Context, p bridge.AskParams) (bridge.AskResult, error) {
	return bridge.AskResult{Answer: "I am " + p.ID}, nil
}

func (f *fakePort) Configure(context.Context, bridge.ConfigureParams) error { return nil }

// Check passes everything except a command that says it fails.
func (f *fakePort) Check(_ context.Context, p bridge.CheckParams) (bridge.CheckResult, error) {
	r := bridge.CheckResult{SHA256: "ab", Output: p.Command, Bytes: int64(len(p.Command))}
	if strings.Contains(p.Command, "false") {
		r.Exit = 1
	}
	return r, nil
}

func (f *fakePort) PTYOpen(context.Context, bridge.PTYOpenParams) (bridge.PTYOpenResult, error) {
	return bridge.PTYOpenResult{PID: 4711}, nil
}

func (f *fakePort) PTYClose(context.Context, bridge.AgentRef) error { return nil }

func (f *fakePort) Inspect(context.Context, bridge.InspectParams) (bridge.InspectResult, error) {
	return bridge.InspectResult{Texts: []string{"I was at it."}}, nil
}

func (f *fakePort) Probe(context.Context, bridge.AgentRef) (bridge.ProbeResult, error) {
	return bridge.ProbeResult{Answered: true}, nil
}

func (f *fakePort) Shutdown(context.Context, bridge.ShutdownParams) (bridge.ShutdownResult, error) {
	f.mu.Lock()
	var refs []bridge.AgentRef
	for _, ref := range f.live {
		refs = append(refs, ref)
	}
	f.mu.Unlock()
	for _, ref := range refs {
		f.end(ref)
	}
	return bridge.ShutdownResult{Stopped: len(refs)}, nil
}

func (f *fakePort) end(ref bridge.AgentRef) {
	f.mu.Lock()
	_, ok := f.live[ref.ID]
	delete(f.live, ref.ID)
	f.mu.Unlock()
	if ok {
		f.event(ref, bridge.Done{SessionID: "s", Exit: bridge.Exit{Expected: true}})
	}
}

// perform plays a whole run in the bubble and returns its events and exit code.
func perform(t *testing.T, port *fakePort, change func(*runconfig.Options)) ([]contract.Event, contract.Exit) {
	t.Helper()
	n := live(t, &fakeJournal{}, port, func(o *runconfig.Options) {
		o.Task = "build"
		if change != nil {
			change(o)
		}
	})
	exit := n.over()
	return n.events, exit
}

func TestLoopRunsATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
			if p.ID != "arbiter" {
				f.ruled(p, report("done", "all of it", true))
				return
			}
			s := f.loop.Snapshot()
			if s.Spawned == 0 {
				f.loop.call(t, p.AgentRef, "spawn_orchestrator", `{"prompt":"work"}`)
				f.ruled(p, ruling("CONTINUE", "Patience."))
				return
			}
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
		}}
		events, exit := perform(t, port, nil)
		testkit.Same(t, "exit", contract.ExitComplete, exit)
		if _, ok := events[0].Body.(contract.Session); !ok {
			t.Errorf("the first event is %T", events[0].Body)
		}
		r, ok := events[len(events)-1].Body.(contract.Result)
		testkit.Check(t, ok && r.Status == contract.StatusComplete && r.DurationMS >= 300 && r.CostUSD >= 0.029,
			"the last event is %+v", events[len(events)-1].Body)
		done := 0
		for _, e := range events {
			if _, ok := e.Body.(contract.Done); ok {
				done++
			}
		}
		testkit.Same(t, "agents ended", 2, done)
	})
}

func TestLoopTimesOut(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &fakePort{answer: func(*fakePort, bridge.MessageParams) {}} // never answers
		began := time.Now()
		events, exit := perform(t, port, func(o *runconfig.Options) { o.Timeout = time.Hour })
		testkit.Check(t, exit == contract.ExitLimit && time.Since(began) >= time.Hour &&
			time.Since(began) <= time.Hour+time.Minute, "exit %d after %s", exit, time.Since(began))
		testkit.Like(t, "result", contract.Result{Status: contract.StatusLimit},
			events[len(events)-1].Body.(contract.Result))
	})
}

func TestLoopAnswersPermissionsByRuleAndByDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
			ask := func(request, tool string) string {
				r, err := f.loop.Permission(t.Context(),
					bridge.PermissionParams{AgentRef: p.AgentRef, Request: request, Tool: tool,
						Input: json.RawMessage(`{"command":"make"}`)})
				testkit.Check(t, err == nil, "%v", err)
				return r.Behavior
			}
			testkit.Same(t, "the Arbiter may write", bridge.Deny, ask("1", "Write"))
			testkit.Same(t, "the Arbiter may run", bridge.Deny, ask("2", "Bash"))
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			testkit.Fails(t, "a request that was withdrawn",
				testkit.Err(f.loop.Permission(gone,
					bridge.PermissionParams{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}, Request: "3",
						Tool: "Bash"})), context.Canceled)
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
		}}
		_, exit := perform(t, port, nil)
		testkit.Check(t, exit == contract.ExitComplete, "exit %d", exit)
	})
}

func TestLoopReportsAnAgentThatDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &fakePort{spawn: func(bridge.SpawnParams) error {
			return &bridge.RPCError{Code: bridge.CodeClaude, Category: bridge.CatStart, Message: "it ended",
				Stderr: "no such flag"}
		}}
		events, exit := perform(t, port, nil)
		testkit.Same(t, "exit", contract.ExitEnvironment, exit)
		errs := 0
		for _, e := range events {
			if b, ok := e.Body.(contract.Error); ok {
				errs++
				testkit.Same(t, fmt.Sprintf("error %+v", b), bridge.CatStart, b.Category)
			}
		}
		testkit.Same(t, "error events", 1, errs)
	})
}

// TestLoopAfterTheEnd: every later input gets the answer that the loop has ended, and so does a client's command
// that comes after the result: the human's words are not lost. A command on stdin does not wait for a busy loop: a halt
// may stand behind it.
func TestLoopAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := newLiveRun(t, &fakeJournal{}, &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
		}})
		n.slow = time.Second // of each event
		n.begin(func(o *runconfig.Options) { o.Task = "build" })
		for s := n.loop.Snapshot(); s.Ending == nil || !s.Ending.Said; s = n.loop.Snapshot() {
			time.Sleep(time.Millisecond)
		}
		now := time.Now()
		n.give("late", contract.Pause{})
		testkit.Same(t, "wait of the reader of stdin", 0, time.Since(now))
		taken := n.loop.Put(input.Command{Channel: input.ChannelScreen,
			Command: contract.Command{Ref: "late", Body: contract.Say{Text: "wait"}}})
		testkit.Check(t, !taken, "a command was taken after the result")
		n.over()
		testkit.Check(t, !n.loop.Put(input.InputEnded{}), "an input was taken after the end")
		testkit.Fails(t, "a tool call after the end", testkit.Err(n.loop.ToolCall(t.Context(), bridge.ToolCallParams{})),
			errOver)
	})
}

// fakeJournal is a disk with a delay: records are durable when sync says so.
type fakeJournal struct {
	loop *Loop
	wait time.Duration // until a record is durable; negative: never without help
	fail func(k journal.Kind, payload []byte) error

	forget bool         // keep no records
	used   atomic.Int64 // what a resume would read

	mu      sync.Mutex
	seq     uint64
	durable uint64
	records []journal.Record

	told     []journal.LogContent
	snapshot journal.Record // the last one
}

func (j *fakeJournal) AppendSoon(k journal.Kind, payload []byte) (uint64, error) {
	return j.Append(k, payload)
}

func (j *fakeJournal) Append(k journal.Kind, payload []byte) (uint64, error) {
	if j.fail != nil {
		if err := j.fail(k, payload); err != nil {
			return 0, err
		}
	}
	j.mu.Lock()
	j.seq++
	seq := j.seq
	if !j.forget {
		j.records = append(j.records, journal.Record{Seq: seq, Kind: k, Payload: slices.Clone(payload)})
	}
	wait := j.wait
	j.mu.Unlock()
	switch {
	case wait == 0:
		j.loop.Committed(seq)
	case wait > 0:
		time.AfterFunc(wait, func() {
			j.mu.Lock()
			defer j.mu.Unlock()
			j.durable = max(j.durable, seq) // timers of the same moment ring in any order
			j.loop.Committed(j.durable)
		})
	}
	return seq, nil
}

// AppendEvents keeps the lines of the event log.
func (j *fakeJournal) AppendEvents(lines ...journal.LogContent) error {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !j.forget {
		j.told = append(j.told, lines...)
	}
	return nil
}

// Fill is what used says, of 100 MiB.
func (j *fakeJournal) Fill() (used, limit int64) { return j.used.Load(), 100 << 20 }

// Snapshot takes a snapshot at once.
func (j *fakeJournal) Snapshot(encode func() ([]byte, error)) bool {
	raw, err := encode()
	if err != nil {
		panic(err)
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	j.snapshot = journal.Record{Seq: j.seq, Kind: journal.Snapshot, Payload: raw}
	return true
}

// takes sets how long the disk takes from now on.
func (j *fakeJournal) takes(wait time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.wait = wait
}

// sync makes all that was appended durable.
func (j *fakeJournal) sync() { j.loop.Committed(uint64(j.count())) }

func (j *fakeJournal) count() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return int(j.seq)
}

// inputs are the recorded inputs, oldest first.
func (j *fakeJournal) inputs(t *testing.T) []input.Body {
	t.Helper()
	j.mu.Lock()
	defer j.mu.Unlock()
	var list []input.Body
	for _, r := range j.records {
		in := testkit.Must(input.DecodeInput(r.Payload))(t)
		list = append(list, in.Body)
	}
	return list
}

// liveRun is a loop that runs in a bubble, with a journal, a bridge and a listener.
type liveRun struct {
	t        *testing.T
	loop     *Loop
	port     *fakePort
	recorded *fakeJournal
	ended    chan struct{} // closed when Run has returned; then exit is set
	exit     contract.Exit
	slow     time.Duration // how long the listener takes for an event

	mu     sync.Mutex
	events []contract.Event
}

// live starts a run on a journal. Its agents answer by the port's functions.
func live(t *testing.T, recorded *fakeJournal, port *fakePort, change func(*runconfig.Options)) *liveRun {
	t.Helper()
	n := newLiveRun(t, recorded, port)
	n.begin(change)
	return n
}

func newLiveRun(t *testing.T, recorded *fakeJournal, port *fakePort) *liveRun {
	n := &liveRun{t: t, port: port, recorded: recorded, ended: make(chan struct{})}
	n.loop = NewLoop(policy.Policy{CWD: "/w"}, func(_ time.Time, e contract.Event) {
		time.Sleep(n.slow)
		n.mu.Lock()
		defer n.mu.Unlock()
		n.events = append(n.events, e)
	}, slog.New(slog.NewTextHandler(io.Discard, nil)))
	port.loop, port.live = n.loop, map[string]bridge.AgentRef{}
	recorded.loop = n.loop
	n.loop.Journal = recorded
	return n
}

func (n *liveRun) begin(change func(*runconfig.Options)) { n.beginOn(n.port, change) }

func (n *liveRun) beginOn(port Port, change func(*runconfig.Options)) {
	o := runconfig.Options{Run: testRun, Delimiter: "d", CWD: "/w", HumanPresent: true}
	if change != nil {
		change(&o)
	}
	go func() {
		defer close(n.ended)
		n.exit = n.loop.Run(context.Background(), port, input.Began{Options: o.WithDefaults()})
	}()
	n.t.Cleanup(func() { // for a test that failed halfway
		n.loop.Trouble(errors.New("the test is over"))
		n.loop.Put(input.Signal{Signal: "INT"})
		<-n.ended
		n.port.wg.Wait()
	})
}

// over waits for the end, which must come without further input within some simulated days.
func (n *liveRun) over() contract.Exit {
	n.t.Helper()
	select {
	case <-n.ended:
	case <-time.After(30 * 24 * time.Hour):
		n.t.Fatal("the run does not end")
	}
	n.port.wg.Wait()
	return n.exit
}

// stop interrupts the run, and waits for its end.
func (n *liveRun) stop() contract.Exit {
	n.t.Helper()
	n.loop.Put(input.Signal{Signal: "INT"})
	return n.over()
}

// give gives a command of the human.
func (n *liveRun) give(ref string, b contract.CommandBody) { n.loop.give(ref, b) }

func (l *Loop) give(ref string, b contract.CommandBody) bool {
	return l.Put(input.Command{Channel: input.ChannelStdin, Command: contract.Command{Ref: ref, Body: b}})
}

func (n *liveRun) say(ref, text string) { n.give(ref, contract.Say{Text: text}) }

// call lets an agent call a tool, which must work.
func (l *Loop) call(t testing.TB, ref bridge.AgentRef, tool, params string) bool {
	t.Helper()
	r, err := l.ToolCall(t.Context(), bridge.ToolCallParams{AgentRef: ref, Tool: tool, Input: json.RawMessage(params)})
	testkit.Check(t, err == nil && !r.IsError, "%s: %v %v", tool, r, err)
	return err == nil && !r.IsError
}

// hearing are the events of one type so far.
func hearing[B contract.Body](n *liveRun) []B {
	n.mu.Lock()
	defer n.mu.Unlock()
	var list []B
	for _, e := range n.events {
		if b, ok := e.Body.(B); ok {
			list = append(list, b)
		}
	}
	return list
}

// sent are the messages that the port received, by agent.
func (n *liveRun) sent() []string {
	n.port.mu.Lock()
	defer n.port.mu.Unlock()
	return slices.Clone(n.port.told)
}

// silentPort has agents that start and answer nothing.
func silentPort() *fakePort { return &fakePort{answer: func(*fakePort, bridge.MessageParams) {}} }

// asksBack has an Arbiter that asks the human after each message.
func asksBack() *fakePort {
	return &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
		f.ruled(p, ruling("ADDRESS_HUMAN", "And now?"))
	}}
}

// starts are the processes that were requested.
func (f *fakePort) starts() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.born)
}

// alive counts the agents that have a process.
func (f *fakePort) alive() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.live)
}

// TestUnknownFramesAreNoNotices: a frame that the driver does not know is no event of a run; other notices are.
func TestUnknownFramesAreNoNotices(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := live(t, &fakeJournal{}, asksBack(), func(o *runconfig.Options) { o.Task = "build" })
		synctest.Wait()
		ref := n.loop.Snapshot().Agents[0].AgentRef
		n.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Notice{Text: "unknown frame", Frame: "system/new"}})
		n.loop.Event(bridge.Event{AgentRef: ref, Body: bridge.Notice{Text: "something else"}})
		synctest.Wait()
		got := hearing[contract.Notice](n)
		testkit.Check(t, len(got) == 1 && got[0].Text == "something else", "notices %+v", got)
		n.stop()
	})
}

const testRun = "6f1c2a52-7a51-4b6e-9d0b-0f5f6a2b9c11"

// ruling is a verdict of the Arbiter.
func ruling(decision, message string, more ...string) map[string]any {
	v := map[string]any{"decision": decision, "message": message, "reason": "because"}
	for i := 0; i+1 < len(more); i += 2 {
		v[more[i]] = more[i+1]
	}
	return v
}

// report is a verdict of an Orchestrator.
func report(kind, message string, expects bool) map[string]any {
	v := map[string]any{"kind": kind, "message": message, "expects_response": expects}
	if kind == verdict.KindDone || kind == verdict.KindHandoff {
		v["handoff"] = verdict.Document{
			Accomplished: []string{"the first half"}, Remaining: []string{"the second half"}, KeyContext: "port 8080",
			Decisions: []verdict.Decision{}, Constraints: []string{}, Files: []string{"a.go"},
			Checks: []verdict.Check{}, OpenQuestions: []string{}, Claims: []verdict.Claim{},
		}
	}
	return v
}

func proven(kind string, checks ...string) map[string]any {
	v := report(kind, "see the document", true)
	d := v["handoff"].(verdict.Document)
	for _, c := range checks {
		d.Checks = append(d.Checks, verdict.Check{Command: c, Expect: "`ok`"})
		d.Claims = append(d.Claims, verdict.Claim{Claim: "proved by " + c, Verified: true, Check: len(d.Checks)})
	}
	d.Claims = append(d.Claims, verdict.Claim{Claim: "it is beautiful", Verified: true})
	v["handoff"] = d
	return v
}

func keyOf(p bridge.PermissionParams) string { return input.PermissionKey(p.Tool, p.Input) }

// happenings are all events that an agent can cause, each with a text wherever possible.
func happenings(text string) []input.Body {
	var list []input.Body
	for _, b := range bridge.EventBodies() {
		body := corpus.Filled(reflect.TypeOf(b), text).Interface().(bridge.EventBody)
		list = append(list,
			input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: text, Generation: 1}, Body: body}})
	}
	return list
}

func fingerprint(t *testing.T, s *supervisor.State) string {
	t.Helper()
	return string(testkit.Must(json.Marshal(s))(t))
}

// TestRecordsSayWhoTheyAreFrom: in a whole run of the loop every record has a sender, records of
// agents with session and generation, and events of unknown agents are dropped.
func TestRecordsSayWhoTheyAreFrom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		kept := &fakeJournal{}
		var answers []string
		port := &fakePort{}
		port.answer = func(f *fakePort, p bridge.MessageParams) {
			for _, ref := range []bridge.AgentRef{{ID: "human", Generation: 1}, {ID: "orch-7", Generation: 1},
				{ID: "arbiter", Generation: 9}} {
				f.event(ref, bridge.Turn{MessageIDs: []string{p.MessageID}, Outcome: bridge.TurnDone,
					Verdict: json.RawMessage(`{"decision":"COMPLETE","message":"m","reason":"r","summary":"s"}`)})
				r, err := f.loop.ToolCall(t.Context(),
					bridge.ToolCallParams{AgentRef: ref, Tool: "spawn_orchestrator",
						Input: json.RawMessage(`{"prompt":"work"}`)})
				q, err2 := f.loop.Permission(t.Context(),
					bridge.PermissionParams{AgentRef: ref, Request: "r-" + ref.String(), Tool: "Read",
						Input: json.RawMessage(`{}`)})
				testkit.Check(t, err == nil && err2 == nil && r.IsError && q.Behavior == bridge.Deny,
					"%s: %+v %v, %+v %v", ref, r, err, q, err2)
				answers = append(answers, r.Text)
			}
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
		}
		n := live(t, kept, port, func(o *runconfig.Options) { o.Task = "build" })
		exit := n.over()
		testkit.Need(t, exit == contract.ExitComplete && len(answers) == 3, "exit %d, answers %q", exit, answers)
		told := 0
		for _, e := range n.events {
			if b, ok := e.Body.(contract.Error); ok && strings.Contains(b.Message, "was dropped") {
				told++
			}
		}
		testkit.Same(t, "strangers told of", 3, told)
		by := map[string]int{}
		for _, r := range kept.records {
			in := testkit.Must(input.DecodeInput(r.Payload))(t)
			by[in.From.By]++
			agent := in.From.By == "arbiter"
			testkit.Check(t, agent == (in.From.Session != "") && agent == (in.From.Gen == 1), "from %+v: %s", in.From, r.Payload)
		}
		testkit.Check(t, by["arbiter"] != 0 && by["supervisor"] != 0 && by["human"] == 1 && len(by) == 3,
			"records by sender: %v", by)
	})
}

// TestLoopTellsTheEventLog: the log contains what the frontends receive, in the same order, except for pieces
// of text; and a snapshot at the end contains the state after all inputs.
func TestLoopTellsTheEventLog(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		recorded := &fakeJournal{}
		n := live(t, recorded, asksBack(), func(o *runconfig.Options) { o.Task = "build" })
		time.Sleep(time.Hour)
		n.loop.Put(input.AgentEvent{Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 1},
			Body: bridge.Delta{Text: "a piece"}}})
		n.loop.Trouble(io.ErrShortWrite) // the loop itself reports this
		time.Sleep(time.Second)
		n.loop.Trouble(nil)
		n.stop()
		var said []contract.Event
		for _, e := range n.events {
			if _, piece := e.Body.(contract.Delta); !piece {
				said = append(said, e)
			}
		}
		testkit.Need(t, len(said) == len(recorded.told) && len(said) >= 6, "%d events were said, %d are in the log",
			len(said), len(recorded.told))
		alone := 0
		for i, line := range recorded.told {
			e, err := contract.DecodeLine(line.Line)
			testkit.Check(t, err == nil && e.Seq == uint64(i+1) && e.Body.EventName() == said[i].Body.EventName(),
				"line %d is %s: %v; said was %+v", i+1, line.Line, err, said[i])
			if line.Input == 0 {
				alone++
			}
		}
		testkit.Same(t, "lines that follow from no input: the trouble and its end", 2, alone)
		var fold supervisor.Replayer
		testkit.OK(t, fold.Take(recorded.snapshot))
		testkit.Same(t, "the last snapshot is of another state", fingerprint(t, &fold.State),
			fingerprint(t, n.loop.Snapshot()))
	})
}

// TestSnapshotsAreTaken: after so many inputs, and after so many bytes of them.
func TestSnapshotsAreTaken(t *testing.T) {
	for name, text := range map[string]string{"inputs": "x", "bytes": string(bytes.Repeat([]byte("x"), 64<<10))} {
		t.Run(name, func(t *testing.T) {
			recorded := &fakeJournal{forget: true}
			l := NewLoop(policy.Policy{}, func(time.Time, contract.Event) {}, slog.New(slog.DiscardHandler))
			recorded.loop = l
			l.Journal = recorded
			l.applyInput(t.Context(),
				input.Input{At: time.Unix(1, 0),
					Body: input.Began{Options: runconfig.Options{Run: testRun}.WithDefaults()}})
			n := 0
			for recorded.snapshot.Seq == 0 && n < 2*snapshotInputs {
				n++
				l.applyInput(t.Context(),
					input.Input{At: time.Unix(1, 0),
						Body: input.AgentEvent{
							Event: bridge.Event{AgentRef: bridge.AgentRef{ID: "arbiter", Generation: 1},
								Body: bridge.Assistant{Text: text}}}})
			}
			testkit.Check(t, n <= (min(snapshotInputs, snapshotBytes/len(text))+1) && recorded.snapshot.Seq != 0,
				"after %d inputs of %d bytes there is a snapshot of %d", n, len(text), recorded.snapshot.Seq)
		})
	}
}
