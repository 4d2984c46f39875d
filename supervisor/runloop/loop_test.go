package runloop

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"log/slog"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/internal/testkit"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/policy"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
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
func perform(t *testing.T, o runconfig.Options, port *fakePort,
	during func(l *Loop)) ([]contract.Event, contract.Exit) {
	t.Helper()
	var events []contract.Event
	log := slog.New(slog.NewTextHandler(io.Discard, nil))
	if testing.Verbose() {
		log = slog.New(slog.NewTextHandler(t.Output(), nil))
	}
	l := NewLoop(policy.Policy{CWD: "/w"}, func(_ time.Time, e contract.Event) {
		events = append(events, e)
	}, log)
	port.loop, port.live = l, map[string]bridge.AgentRef{}
	if during != nil {
		go during(l)
	}
	o.Run, o.Delimiter, o.CWD = testRun, "7f3a9c", "/w"
	exit := l.Run(t.Context(), port, input.Began{Options: o.WithDefaults()})
	port.wg.Wait()
	return events, exit
}

func TestLoopRunsATask(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &fakePort{}
		port.answer = func(f *fakePort, p bridge.MessageParams) {
			if p.ID != "arbiter" {
				f.ruled(p, report("done", "all of it", true))
				return
			}
			s := f.loop.Snapshot()
			if s.Spawned == 0 {
				r, err := f.loop.ToolCall(t.Context(),
					bridge.ToolCallParams{AgentRef: p.AgentRef, Tool: "spawn_orchestrator",
						Input: json.RawMessage(`{"prompt":"work"}`)})
				if err != nil || r.IsError {
					t.Errorf("spawn_orchestrator: %v %v", r, err)
				}
				f.ruled(p, ruling("CONTINUE", "Patience."))
				return
			}
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
		}
		events, exit := perform(t, runconfig.Options{Task: "build", HumanPresent: true}, port, nil)
		testkit.Same(t, "exit", contract.ExitComplete, exit)
		if _, ok := events[0].Body.(contract.Session); !ok {
			t.Errorf("the first event is %T", events[0].Body)
		}
		r, ok := events[len(events)-1].Body.(contract.Result)
		if !ok || r.Status != contract.StatusComplete || r.DurationMS < 300 || r.CostUSD < 0.029 {
			t.Errorf("the last event is %+v", events[len(events)-1].Body)
		}
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
		events, exit := perform(t, runconfig.Options{Task: "build", HumanPresent: true, Timeout: time.Hour}, port, nil)
		if exit != contract.ExitLimit || time.Since(began) < time.Hour || time.Since(began) > time.Hour+time.Minute {
			t.Errorf("exit %d after %s", exit, time.Since(began))
		}
		if r := events[len(events)-1].Body.(contract.Result); r.Status != contract.StatusLimit {
			t.Errorf("result %+v", r)
		}
	})
}

func TestLoopAnswersPermissionsByRuleAndByDeadline(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
			ask := func(request, tool string) string {
				r, err := f.loop.Permission(t.Context(),
					bridge.PermissionParams{AgentRef: p.AgentRef, Request: request, Tool: tool,
						Input: json.RawMessage(`{"command":"make"}`)})
				if err != nil {
					t.Error(err)
				}
				return r.Behavior
			}
			testkit.Same(t, "the Arbiter may write", bridge.Deny, ask("1", "Write"))
			testkit.Same(t, "the Arbiter may run", bridge.Deny, ask("2", "Bash"))
			gone, cancel := context.WithCancel(t.Context())
			cancel()
			if _, err := f.loop.Permission(gone,
				bridge.PermissionParams{AgentRef: bridge.AgentRef{ID: "orch-1", Generation: 1}, Request: "3",
					Tool: "Bash"}); !errors.Is(err, context.Canceled) {
				t.Errorf("a request that was withdrawn: %v", err)
			}
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
		}}
		if _, exit := perform(t, runconfig.Options{Task: "build", HumanPresent: true}, port,
			nil); exit != contract.ExitComplete {
			t.Errorf("exit %d", exit)
		}
	})
}

func TestLoopReportsAnAgentThatDoesNotStart(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &fakePort{spawn: func(bridge.SpawnParams) error {
			return &bridge.RPCError{Code: bridge.CodeClaude, Category: bridge.CatStart, Message: "it ended",
				Stderr: "no such flag"}
		}}
		events, exit := perform(t, runconfig.Options{Task: "build", HumanPresent: true}, port, nil)
		testkit.Same(t, "exit", contract.ExitEnvironment, exit)
		errs := 0
		for _, e := range events {
			if b, ok := e.Body.(contract.Error); ok {
				errs++
				if b.Category != bridge.CatStart {
					t.Errorf("error %+v", b)
				}
			}
		}
		testkit.Same(t, "error events", 1, errs)
	})
}

// TestLoopAfterTheEnd: every later input gets the answer that the loop has ended.
func TestLoopAfterTheEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &fakePort{answer: func(f *fakePort, p bridge.MessageParams) {
			f.ruled(p, ruling("COMPLETE", "It is done.", "summary", "s"))
		}}
		var loop *Loop
		perform(t, runconfig.Options{Task: "build", HumanPresent: true}, port, func(l *Loop) { loop = l })
		synctest.Wait()
		if loop.Put(input.InputEnded{}) {
			t.Error("an input was taken after the end")
		}
		if _, err := loop.ToolCall(t.Context(), bridge.ToolCallParams{}); !errors.Is(err, errOver) {
			t.Errorf("a tool call after the end: %v", err)
		}
	})
}

func TestLoopTurnsItsOwnPanicIntoAnExit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		port := &fakePort{answer: func(f *fakePort, p bridge.MessageParams) { f.loop.Put(nil) }}
		events, exit := perform(t, runconfig.Options{Task: "build", HumanPresent: true}, port, nil)
		testkit.Same(t, "exit", contract.ExitBug, exit)
		if e, ok := events[len(events)-1].Body.(contract.Error); !ok || e.Category != bridge.CatInternal {
			t.Errorf("the last event is %+v", events[len(events)-1].Body)
		}
	})
}
