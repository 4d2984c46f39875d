package bridge

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	"golang.org/x/tools/txtar"

	"github.com/arbiter-cli/arbiter/internal/testkit"
)

var update = flag.Bool("update", false, "write schema.json, and the expected halves of the conformance files")

// TestConformance replays testdata/*.txtar to a server, byte by byte, as a client
// in any language would. A file is a list of sections, done in order:
//
//	in       lines to write
//	out      lines that must have come when the server has nothing more to do
//	sleep D  let time pass
//	eof      close the client's end of the server's input
//	serve    what Serve returned
//
// The agents are those of scriptedLauncher.
func TestConformance(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	testkit.Need(t, err == nil && len(files) != 0, "no conformance files: %v", err)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive := testkit.Must(txtar.ParseFile(file))(t)
			bubble(t, func(t *testing.T) { replay(t, archive) })
			if *update {
				testkit.OK(t, os.WriteFile(file, txtar.Format(archive), 0o644))
			}
		})
	}
}

func replay(t *testing.T, archive *txtar.Archive) {
	input, w := io.Pipe()
	output, far := io.Pipe()
	served := make(chan error, 1)
	go func() {
		served <- NewServer(scriptedLauncher(),
			ServerOptions{Version: "test", Evidence: &fakeCollector{}}).Serve(t.Context(), duplex{input, far})
		far.Close()
	}()
	var sent testkit.Buffer
	drained := make(chan struct{})
	go func() {
		defer close(drained)
		io.Copy(&sent, bufio.NewReader(output))
	}()
	for i, section := range archive.Files {
		var got []byte
		name, arg, _ := strings.Cut(section.Name, " ")
		switch name {
		case "in":
			testkit.Must(w.Write(section.Data))(t)
			synctest.Wait()
			continue
		case "sleep":
			d := testkit.Must(time.ParseDuration(arg))(t)
			time.Sleep(d)
			synctest.Wait()
			continue
		case "eof":
			w.Close()
			synctest.Wait()
			continue
		case "out":
			got = []byte(sent.Take())
		case "serve":
			got = fmt.Appendln(nil, <-served)
			served <- nil
		default:
			t.Fatalf("unknown section %q", section.Name)
		}
		if *update {
			archive.Files[i].Data = got
		} else if diff := cmp.Diff(string(section.Data), string(got)); diff != "" {
			t.Errorf("section %d, -want +got:\n%s", i+1, diff)
		}
	}
	w.Close()
	<-served
	<-drained
	testkit.Same(t, "unexpected frames", "", sent.Take())
}

// duplex is a pipe whose directions end separately.
type duplex struct {
	io.ReadCloser
	io.WriteCloser
}

func (d duplex) Close() error { return errors.Join(d.ReadCloser.Close(), d.WriteCloser.Close()) }

// scriptedLauncher starts agents that follow a script: the working directory selects how the start goes,
// the first word of a message selects how its turn goes.
func scriptedLauncher() *fakeLauncher {
	l := &fakeLauncher{sweep: func(string) int { return 1 }}
	l.detect = func(_ context.Context, spec ClaudeSpec) (ClaudeInfo, error) {
		if spec.Path == "/missing" {
			return ClaudeInfo{}, &RPCError{Code: CodeClaude, Category: CatClaudeMissing, Message: "no such program"}
		}
		return ClaudeInfo{Path: "/opt/claude", Version: "2.1.329"}, nil
	}
	l.launch = func(ctx context.Context, p SpawnParams, h Host) (Agent, error) {
		switch p.Config.CWD {
		case "/never":
			<-ctx.Done()
			return nil, ctx.Err()
		case "/broken":
			return nil, &RPCError{Code: CodeClaude, Category: CatStart, Message: "exited with 1", Stderr: "bad flag"}
		}
		a := l.add(p, h)
		a.message = func(ctx context.Context, m MessageParams) error { return a.turn(ctx, m) }
		a.ask = func(ctx context.Context, q string) (string, error) {
			if q == "hang" {
				<-ctx.Done()
				return "", ctx.Err()
			}
			return "42", nil
		}
		if p.Config.CWD == "/stubborn" {
			a.stop = func(ctx context.Context, now bool) error {
				if now {
					a.end()
					return nil
				}
				<-ctx.Done()
				return ctx.Err()
			}
		}
		return a, nil
	}
	return l
}

func (a *fakeAgent) turn(ctx context.Context, m MessageParams) error {
	word, _, _ := strings.Cut(m.Content, " ")
	emit := func(body EventBody) { a.host.Emit(Event{Body: body}) }
	text := "you said: " + m.Content
	switch word {
	case "busy":
		return &RPCError{Code: CodeBusy, Message: "a turn runs"}
	case "tool":
		r, _ := a.host.ToolCall(ctx,
			ToolCallParams{Call: "call-1", Tool: "status", Input: json.RawMessage(`{"b":1,"a":2}`)})
		text = fmt.Sprintf("tool: %s %v", r.Text, r.IsError)
	case "permission":
		ctx, cancel := context.WithTimeout(ctx, time.Minute)
		defer cancel()
		r, _ := a.host.Permission(ctx,
			PermissionParams{Request: "p-1", Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`)})
		text = fmt.Sprintf("permission: %s: %s", r.Behavior, r.Message)
	case "judge":
		r, _ := a.host.Judge(ctx, JudgeParams{Tool: "Bash", Input: json.RawMessage(`{"command":"ls"}`),
			ToolUse: "toolu_1", Subagent: "a0b8"})
		text = fmt.Sprintf("judge: %s: %s", r.Behavior, r.Message)
	case "panic":
		panic("as told")
	case "die":
		a.once.Do(func() {
			emit(Turn{MessageIDs: []string{m.MessageID}, Outcome: TurnLost})
			emit(Done{SessionID: a.info.SessionID, Exit: Exit{Code: 1}})
			close(a.done)
		})
		return errors.New("write |1: broken pipe")
	}
	emit(Delivered{MessageID: m.MessageID, Proof: "lifecycle"})
	emit(Assistant{Text: text, ContextPct: 1.5})
	emit(Turn{Verdict: json.RawMessage(`{"kind":"done"}`), MessageIDs: []string{m.MessageID}, Outcome: TurnDone})
	return nil
}

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
	return newRigWith(t, l, h, &fakeCollector{})
}

func newRigWith(t *testing.T, l *fakeLauncher, h *recorder, w EvidenceCollector) *rig {
	t.Helper()
	r := joinedRig(t, l, h, w)
	r.l = l
	testkit.OK(t, testkit.Err(r.Initialize(r.ctx, InitializeParams{Client: "test", Run: "run-1"})))
	return r
}

// inRig runs a test in a bubble with a rig.
func inRig(t *testing.T, l *fakeLauncher, h *recorder, test func(t *testing.T, r *rig)) {
	t.Helper()
	bubble(t, func(t *testing.T) {
		r := newRig(t, l, h)
		defer r.leave(t)
		test(t, r)
	})
}

// joinedRig has not called initialize.
func joinedRig(t *testing.T, l Launcher, h *recorder, w EvidenceCollector) *rig {
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
	err := <-r.served
	testkit.Check(t, err == nil, "Serve after the client's Close: %v", err)
	r.stop()
}

func (r *rig) spawn(t *testing.T, id string, generation int) *fakeAgent {
	t.Helper()
	p := spawnParams(id, generation)
	_, err := r.Spawn(r.ctx, p)
	testkit.Need(t, err == nil, "spawn %v: %v", p.AgentRef, err)
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
