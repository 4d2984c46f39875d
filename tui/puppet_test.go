package tui

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/arbiter-cli/arbiter/internal/testkit"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/input"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/runconfig"
	"github.com/arbiter-cli/arbiter/supervisor/runloop"
	"github.com/arbiter-cli/arbiter/supervisor/verdict"
)

// fakeRun is a run whose agents do what a test says. Its state is the supervisor's own, folded by the
// supervisor's own rules: a screen shows the same as for a run with those agents.
type fakeRun struct {
	t    *testing.T
	host *fakeHost
	sink runloop.Sink

	mu      sync.Mutex
	state   supervisor.State
	changed chan struct{}
	done    chan struct{}
	over    bool
	outcome Outcome
	silent  time.Time     // since when it does not answer
	hangs   chan struct{} // it takes no command until this is closed; nil: it does
	left    atomic.Bool   // the run was left running
	puts    []contract.CommandBody
	calls   int
}

const fakeRunID = "6f1c2a52-7a51-4b6e-9d0b-0f5f6a2b9c11"

func newFakeRun(t *testing.T, host *fakeHost, task string, sink runloop.Sink) *fakeRun {
	p := &fakeRun{t: t, host: host, sink: sink, changed: make(chan struct{}, 1), done: make(chan struct{})}
	o := runconfig.Options{
		Run: fakeRunID, Delimiter: "7f3a9c", CWD: "/home/weaver/loom", HumanPresent: true, Task: task,
		Permissions: "ask", Version: "1.0.0", CheckTimeout: -1,
	}
	if host.options != nil {
		host.options(&o)
	}
	p.do(input.Began{Options: o.WithDefaults(), Claude: bridge.ClaudeInfo{Version: "2.1.329", Path: "/usr/bin/claude"}})
	return p
}

// do adds an input and simulates the effects: agents start at once, accept messages, and begin to answer them.
func (p *fakeRun) do(f input.Body) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.fold(f)
	select {
	case p.changed <- struct{}{}:
	default:
	}
}

func (p *fakeRun) fold(f input.Body) {
	if p.over {
		return
	}
	at := time.Now()
	s, effects := supervisor.Apply(p.state, input.Input{At: at, Body: f})
	p.state = s
	for _, e := range effects {
		if e, ok := e.(input.Emit); ok {
			p.sink(at, e.Event)
		}
	}
	for _, e := range effects { // their results come later
		switch e := e.(type) {
		case input.Spawn:
			p.fold(input.Spawned{Agent: e.Params.AgentRef,
				Result: bridge.SpawnResult{SessionID: e.Params.Config.SessionID, Window: 200_000}})
		case input.Send:
			p.fold(input.AgentEvent{Event: bridge.Event{AgentRef: e.Params.AgentRef,
				Body: bridge.Delivered{MessageID: e.Params.MessageID, Proof: "lifecycle"}}})
			p.answers(e.Params.AgentRef)
		case input.Shutdown:
			p.fold(input.Stopped{})
		case input.Kill:
			p.fold(input.AgentEvent{Event: bridge.Event{AgentRef: e.Agent, Body: bridge.Done{}}})
		case input.Finish:
			p.outcome = Outcome{Exit: e.Exit}
			p.over = true
			close(p.done)
			return
		}
	}
}

// answers lets a model begin to answer: the screen receives only the event that the message is delivered.
func (p *fakeRun) answers(agent bridge.AgentRef) {
	at, a := time.Now(), bridge.Context{}
	if known, ok := p.state.Agent(agent.ID); ok {
		a = known.Context
	}
	a.Source = "stream"
	s, effects := supervisor.Apply(p.state, input.Input{At: at, Body: input.AgentEvent{Event: bridge.Event{AgentRef: agent,
		Body: a}}})
	p.state = s
	for _, e := range effects {
		if e, ok := e.(input.Emit); ok {
			if _, delivered := e.Event.Body.(contract.Delivered); delivered {
				p.sink(at, e.Event)
			}
		}
	}
}

func (p *fakeRun) ID() string { return fakeRunID }
func (p *fakeRun) Silent() time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.silent
}
func (p *fakeRun) Changed() <-chan struct{} { return p.changed }
func (p *fakeRun) Done() <-chan struct{}    { return p.done }
func (p *fakeRun) Outcome() Outcome         { return p.outcome }

// killed ends the process that plays the run, without a word of it.
func (p *fakeRun) killed() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.over, p.outcome = true, Outcome{Exit: contract.ExitFailed, Text: "gone", Lost: true}
	close(p.done)
}

func (p *fakeRun) Stop()  { p.do(input.Signal{Signal: "INT"}) }
func (p *fakeRun) Leave() { p.left.Store(true) }
func (p *fakeRun) Halt() string {
	p.Put(context.Background(), contract.Command{Ref: "halt", Body: contract.Halt{}})
	return "All is still."
}

func (p *fakeRun) Snapshot() *supervisor.State {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := p.state
	return &s
}
func (p *fakeRun) Put(ctx context.Context, c contract.Command) bool {
	p.mu.Lock()
	p.puts = append(p.puts, c.Body)
	over, hangs := p.over, p.hangs
	p.mu.Unlock()
	if hangs != nil {
		select {
		case <-hangs:
		case <-ctx.Done():
			return false
		}
	}
	if over {
		return false
	}
	p.do(input.Command{Channel: input.ChannelStdin, Command: c})
	return true
}

// took returns the last command.
func (p *fakeRun) took() contract.CommandBody {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.puts) == 0 {
		return nil
	}
	return p.puts[len(p.puts)-1]
}

// halted counts how often it was halted.
func (p *fakeRun) halted() (n int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.puts {
		if _, ok := c.(contract.Halt); ok {
			n++
		}
	}
	return n
}

// agent returns an agent by its id.
func (p *fakeRun) agent(id string) supervisor.Agent {
	p.t.Helper()
	for _, a := range p.Snapshot().Agents {
		if a.ID == id {
			return *a
		}
	}
	p.t.Fatalf("no agent %s", id)
	return supervisor.Agent{}
}

// does makes an agent report an event.
func (p *fakeRun) does(id string, b bridge.EventBody) {
	p.t.Helper()
	p.do(input.AgentEvent{Event: bridge.Event{AgentRef: p.agent(id).AgentRef, Body: b}})
}

// full fills an agent's context.
func (p *fakeRun) full(id string, tokens int) {
	p.t.Helper()
	p.does(id, bridge.Context{Tokens: tokens, Window: 200_000, Pct: float64(tokens) / 2000, TurnsLeft: 12,
		Source: "stream"})
}

// endTurn ends an agent's turn with a verdict.
func (p *fakeRun) endTurn(id string, v map[string]any) {
	p.t.Helper()
	raw, err := json.Marshal(v)
	testkit.OK(p.t, err)
	p.does(id, bridge.Turn{Verdict: raw, MessageIDs: p.agent(id).Turn, Outcome: bridge.TurnDone, CostUSD: 0.0125,
		Usage: bridge.Usage{Input: 1200, Output: 340, CacheRead: 20_000}})
	if v["decision"] == verdict.Complete && len(p.agent(id).Turn) > 0 { // it was sent back for open points: it insists
		p.endTurn(id, v)
	}
}

// call makes an agent call one of arbiter's own tools.
func (p *fakeRun) call(id, tool, raw string) {
	p.t.Helper()
	p.calls++
	p.do(input.ToolCalled{Call: fmt.Sprint(p.calls),
		Params: bridge.ToolCallParams{AgentRef: p.agent(id).AgentRef, Tool: tool, Input: json.RawMessage(raw)}})
}

// asks makes an agent ask for permission.
func (p *fakeRun) asks(id, request, tool, raw string) {
	p.t.Helper()
	p.do(input.PermissionAsked{
		Params: bridge.PermissionParams{AgentRef: p.agent(id).AgentRef, Request: request, Tool: tool,
			Input: json.RawMessage(raw)},
		Behavior: "ask", By: "mode", Reason: "no rule allows it",
	})
}

func decides(decision, message string, more ...string) map[string]any {
	v := map[string]any{"decision": decision, "message": message, "reason": "The pattern asks for it."}
	for i := 0; i+1 < len(more); i += 2 {
		v[more[i]] = more[i+1]
	}
	return v
}

func reports(kind, message string, expects bool) map[string]any {
	v := map[string]any{"kind": kind, "message": message, "expects_response": expects}
	if kind == verdict.KindDone || kind == verdict.KindHandoff {
		v["handoff"] = verdict.Document{
			Accomplished: []string{"The parser reads the new header."},
			Remaining:    []string{"The writer still emits the old one."},
			KeyContext:   "Everything hangs on header.go; port 8080 is taken.",
			Decisions:    []verdict.Decision{{Choice: "one pass", Rejected: "two passes", Why: "memory"}},
			Constraints:  []string{"No new dependency."}, Files: []string{"header.go", "header_test.go"},
			Checks: []verdict.Check{}, OpenQuestions: []string{"Is version 3 still read?"},
			Claims: []verdict.Claim{{Claim: "All tests pass.", Verified: true}},
		}
	}
	return v
}

// fakeHost is a host with nothing real behind it.
type fakeHost struct {
	attached []string // agents whose sessions were taken
	barred   error

	t       *testing.T
	found   Findings
	options func(*runconfig.Options)
	past    []queuedEvent // of a run that can be resumed
	slow    chan struct{} // the beginning of its log cannot be read until this is closed; nil: it can
	missed  []queuedEvent // events in the run's log after those that were read
	raw     []byte        // the log
	chain   journal.LogChain
	refuse  error // of Begin

	newcomer bool // nothing was written before
	edit     func(string) (string, error)
	login    func() error
	shell    func(ctx context.Context, dir, line string, out io.Writer) (int, error)
	files    []string                    // of the workspace; nil: a few
	strange  func(sink runloop.Sink) Run // starts this instead of a fakeRun

	mu      sync.Mutex
	run     *fakeRun
	begun   []Begin
	printed []string
	saved   map[string]string
	paused  int

	all        []RunInfo // of all directories
	unlisted   error     // why they cannot be read
	changed    []ChangedFile
	settings   []Setting
	set        []string
	reverted   []contract.Revert
	landed     int
	opened     []string
	versions   map[string]Versions // of its files, by path
	unreadable error

	trusted, without int
	mistrust         error // of Trust
}

func (h *fakeHost) Inspect(context.Context) Findings {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.found
}

func (h *fakeHost) Runs(context.Context) ([]RunInfo, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.all != nil || h.unlisted != nil {
		return h.all, h.unlisted
	}
	return h.found.Runs, nil
}

func (h *fakeHost) Report(_ context.Context, run string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.unlisted != nil {
		return "", h.unlisted
	}
	return "# The report of " + run + "\n\nIt is done.", nil
}

func (h *fakeHost) Explain(_ context.Context, run string, number int) (string, error) {
	if number > 9 {
		return "", fmt.Errorf("run %s has no decision %d", run, number)
	}
	return fmt.Sprintf("prompt of decision %d, as it was read:\n# What you decide", number), nil
}

func (h *fakeHost) Trust(context.Context) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.trusted++
	return h.mistrust
}

func (h *fakeHost) Without() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.without++
}

func (h *fakeHost) Begin(ctx context.Context, b Begin, sink runloop.Sink) (Run, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.begun = append(h.begun, b)
	for _, e := range h.missed {
		testkit.Same(h.t, "it is not said how far the log was read", false, b.After.Offset == 0)
		sink(e.at, e.e)
	}
	if h.refuse != nil {
		return nil, h.refuse
	}
	if h.strange != nil {
		run := h.strange(sink)
		return run, ctx.Err()
	}
	h.run = newFakeRun(h.t, h, b.Task, sink)
	return h.run, nil
}

func (h *fakeHost) Past(context.Context, string) (*journal.EventLog, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	err := h.write(h.past)
	h.past = nil
	return journal.NewLog(fakeHostLog{h}), err
}

// write adds events to the log of the run.
func (h *fakeHost) write(list []queuedEvent) error {
	for i, p := range list {
		line, err := contract.EncodeLine(nil, uint64(i+1), p.at, p.e)
		if err == nil {
			h.raw, err = h.chain.Append(h.raw, journal.LogContent{Input: 1, At: p.at, Line: line})
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// fakeHostLog is the file of the log.
type fakeHostLog struct{ h *fakeHost }

func (l fakeHostLog) reader() *bytes.Reader {
	l.h.mu.Lock()
	defer l.h.mu.Unlock()
	return bytes.NewReader(l.h.raw)
}

func (l fakeHostLog) ReadAt(p []byte, off int64) (int, error) {
	if off == 0 && l.h.slow != nil {
		<-l.h.slow
	}
	return l.reader().ReadAt(p, off)
}

func (l fakeHostLog) Size() (int64, error) { return l.reader().Size(), nil }
func (l fakeHostLog) Close() error         { return nil }

func (h *fakeHost) Edit(text string) (string, error) {
	if h.edit != nil {
		return h.edit(text)
	}
	return text, nil
}

func (h *fakeHost) Login() error {
	if h.login != nil {
		return h.login()
	}
	return nil
}

func (h *fakeHost) Attach(agent string) error {
	h.attached = append(h.attached, agent)
	return h.barred
}

func (h *fakeHost) Suspend() error { h.paused++; return nil }

func (h *fakeHost) Files(_ context.Context, prefix string) []string {
	if h.files != nil {
		return slices.DeleteFunc(slices.Clone(h.files), func(f string) bool { return f == "" })
	}
	return testkit.Only([]string{"README.md", "header.go", "src/"},
		func(f string) bool { return strings.HasPrefix(f, prefix) })
}

func (h *fakeHost) Documents(context.Context) []Document {
	if h.files != nil {
		return testkit.Each(h.files, func(f string) Document { return Document{Path: f, Title: f} })
	}
	return []Document{{Path: "REQUIREMENTS.md", Bytes: 2048, Title: "What the loom must do"},
		{Path: "docs/notes.md", Bytes: 100}}
}

func (h *fakeHost) ReadDocument(path string) (string, error) { return "# From " + path, nil }

func (h *fakeHost) Save(name, text string) (string, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.saved == nil {
		h.saved = map[string]string{}
	}
	h.saved[name] = text
	return "/home/weaver/loom/" + name, nil
}

func (h *fakeHost) Inputs() []string {
	if h.newcomer {
		return nil
	}
	return []string{"An older word"}
}

func (h *fakeHost) Remember(text string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.printed = append(h.printed, text)
}

// present returns the latest run.
func (h *fakeHost) present() *fakeRun {
	h.mu.Lock()
	defer h.mu.Unlock()
	testkit.Need(h.t, h.run != nil, "no run was begun")
	return h.run
}
