package bridge

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"sync"
	"testing"
	"testing/synctest"
)

// fakeLauncher is a scripted launcher. Its agents do nothing on their own; a test acts for them.
type fakeLauncher struct {
	detect func(context.Context, ClaudeSpec) (ClaudeInfo, error)
	launch func(ctx context.Context, p SpawnParams, host Host) (Agent, error) // nil: newFakeAgent
	sweep  func(run string) int
	query  func(context.Context, QueryParams) (QueryResult, error) // nil: an answer

	mu        sync.Mutex
	agents    map[AgentRef]*fakeAgent
	terminals map[AgentRef]*fakeTerminal
	sweeps    []string
}

func (l *fakeLauncher) Detect(ctx context.Context, spec ClaudeSpec) (ClaudeInfo, error) {
	if l.detect != nil {
		return l.detect(ctx, spec)
	}
	return ClaudeInfo{Path: "/opt/claude", Version: "2.1.329"}, nil
}

func (l *fakeLauncher) Launch(ctx context.Context, _ Owner, _ ClaudeSpec, p SpawnParams, host Host) (Agent, error) {
	if l.launch != nil {
		return l.launch(ctx, p, host)
	}
	return l.add(p, host), nil
}

func (l *fakeLauncher) add(p SpawnParams, host Host) *fakeAgent {
	a := &fakeAgent{host: host, info: SpawnResult{SessionID: p.Config.SessionID, PID: 4711, ClaudeVersion: "2.1.329"},
		done: make(chan struct{})}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.agents == nil {
		l.agents = map[AgentRef]*fakeAgent{}
	}
	l.agents[p.AgentRef] = a
	return a
}

func (l *fakeLauncher) agent(ref AgentRef) *fakeAgent {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.agents[ref]
}

func (l *fakeLauncher) Sweep(of Owner) int {
	l.mu.Lock()
	l.sweeps = append(l.sweeps, of.Run)
	l.mu.Unlock()
	if l.sweep != nil {
		return l.sweep(of.Run)
	}
	return 0
}

func (l *fakeLauncher) sweepCount() int {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.sweeps)
}

type fakeAgent struct {
	host    Host
	info    SpawnResult
	message func(context.Context, MessageParams) error
	ask     func(context.Context, string) (string, error)
	stop    func(ctx context.Context, now bool) error // nil: ends at once

	once sync.Once
	done chan struct{}
}

func (a *fakeAgent) Info() SpawnResult { return a.info }

func (a *fakeAgent) Message(ctx context.Context, p MessageParams) error {
	if a.message != nil {
		return a.message(ctx, p)
	}
	return nil
}

func (a *fakeAgent) Interrupt(context.Context) (InterruptResult, error) {
	return InterruptResult{StillQueued: []string{"m-2"}}, nil
}

func (a *fakeAgent) Context(context.Context) (ContextResult, error) {
	return ContextResult{Tokens: 50_000, Window: 200_000, Pct: 25}, nil
}

func (a *fakeAgent) Ask(ctx context.Context, question string) (string, error) {
	if a.ask != nil {
		return a.ask(ctx, question)
	}
	return "the answer to " + question, nil
}

func (a *fakeAgent) Configure(_ context.Context, p ConfigureParams) error {
	if p.Model == "no-such-model" {
		return &RPCError{Code: CodeRefused, Message: "the CLI refuses that model"}
	}
	return nil
}

func (a *fakeAgent) Probe(context.Context) ProbeResult {
	return ProbeResult{SilentMS: 1, CPUMS: 2, RSSBytes: 3, Processes: 4, Stopped: true, TranscriptBytes: 5,
		OutputBytes: 6, OutputPath: "/tmp/x.output", Answered: true}
}

func (a *fakeAgent) Stop(ctx context.Context, now bool) error {
	if a.stop != nil {
		return a.stop(ctx, now)
	}
	a.end()
	return nil
}

func (a *fakeAgent) end() {
	a.once.Do(func() {
		a.host.Emit(Event{Body: Done{SessionID: a.info.SessionID, Exit: Exit{Expected: true}}})
		close(a.done)
	})
}

func (a *fakeAgent) Done() <-chan struct{} { return a.done }

// recorder is a Handler that records events and answers with functions.
type recorder struct {
	event      func(Event)
	toolCall   func(context.Context, ToolCallParams) (ToolCallResult, error)
	permission func(context.Context, PermissionParams) (PermissionResult, error)
	judge      func(context.Context, JudgeParams) (JudgeResult, error)

	mu     sync.Mutex
	events []Event
}

func (r *recorder) Event(ev Event) {
	if r.event != nil {
		r.event(ev)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.events = append(r.events, ev)
}

func (r *recorder) all() []Event {
	r.mu.Lock()
	defer r.mu.Unlock()
	return append([]Event(nil), r.events...)
}

func (r *recorder) ToolCall(ctx context.Context, p ToolCallParams) (ToolCallResult, error) {
	if r.toolCall == nil {
		return ToolCallResult{}, errors.New("no such tool")
	}
	return r.toolCall(ctx, p)
}

func (r *recorder) Permission(ctx context.Context, p PermissionParams) (PermissionResult, error) {
	if r.permission == nil {
		return PermissionResult{}, errors.New("nobody is there")
	}
	return r.permission(ctx, p)
}

func (r *recorder) Judge(ctx context.Context, p JudgeParams) (JudgeResult, error) {
	if r.judge == nil {
		return JudgeResult{}, errors.New("nobody is there")
	}
	return r.judge(ctx, p)
}

// rig is a client and a server joined by a pipe, inside a synctest bubble.
type rig struct {
	*Client
	l      *fakeLauncher
	h      *recorder
	ctx    context.Context
	served chan error // Serve's return
	stop   context.CancelFunc
}

func newRig(t *testing.T, l *fakeLauncher, h *recorder) *rig {
	t.Helper()
	r := joinedRig(t, l, h)
	if _, err := r.Initialize(r.ctx, InitializeParams{Client: "test", Run: "run-1"}); err != nil {
		t.Fatalf("initialize: %v", err)
	}
	return r
}

// bareRig has not called initialize.
func bareRig(t *testing.T, l *fakeLauncher) *rig { return joinedRig(t, l, &recorder{}) }

func joinedRig(t *testing.T, l *fakeLauncher, h *recorder) *rig {
	return joinedRigWith(t, l, h, &fakeCollector{})
}

func joinedRigWith(t *testing.T, l *fakeLauncher, h *recorder, w EvidenceCollector) *rig {
	r := joinedRigOf(t, l, h, w)
	r.l = l
	return r
}

func joinedRigOf(t *testing.T, l Launcher, h *recorder, w EvidenceCollector) *rig {
	near, far := net.Pipe()
	ctx, stop := context.WithCancel(t.Context())
	r := &rig{h: h, ctx: t.Context(), served: make(chan error, 1), stop: stop}
	log := testLog(t)
	go func() {
		r.served <- NewServer(l, ServerOptions{Version: "test", Logger: log, Evidence: w}).Serve(ctx, far)
	}()
	r.Client = NewClient(near, h, log)
	return r
}

// leave ends the client and waits for the server, as every bubble must.
func (r *rig) leave(t *testing.T) {
	t.Helper()
	r.Close()
	if err := <-r.served; err != nil {
		t.Errorf("Serve after the client's Close: %v", err)
	}
	r.stop()
}

func (r *rig) spawn(t *testing.T, id string, generation int) *fakeAgent {
	t.Helper()
	p := spawnParams(id, generation)
	if _, err := r.Spawn(r.ctx, p); err != nil {
		t.Fatalf("spawn %v: %v", p.AgentRef, err)
	}
	return r.l.agent(p.AgentRef)
}

func spawnParams(id string, generation int) SpawnParams {
	return SpawnParams{AgentRef: AgentRef{id, generation}, Config: AgentConfig{SessionID: "s-" + id, CWD: "/w"}}
}

// bubble runs a test in a bubble of synctest. At its end it lets goroutines finish that outlive a call, such as the
// stop of an agent that ignored its context: they may still write to the test's log.
func bubble(t *testing.T, f func(t *testing.T)) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		f(t)
		synctest.Wait()
	})
}

type testWriter struct{ t *testing.T }

func (w testWriter) Write(b []byte) (int, error) {
	w.t.Logf("%s", b)
	return len(b), nil
}

func testLog(t *testing.T) *slog.Logger {
	return slog.New(slog.NewTextHandler(testWriter{t}, &slog.HandlerOptions{Level: slog.LevelInfo}))
}

func codeOf(err error) int {
	var e *RPCError
	if errors.As(err, &e) {
		return e.Code
	}
	return 0
}
