package host

import (
	"context"
	_ "embed" // of the script
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

// This part of the package checks whether arbiter can run on this machine, and says how to fix what prevents
// it.
//
// Checks have two parts. [Surroundings] holds the observations as plain data, gathered by [LookAt],
// [LookForScratch] and the command. [Examine] judges them and is pure, so that a table can test every bad case.
// [Trial] plays two short sessions of the CLI against a scripted model and reports which of the abilities that the
// bridge relies on were seen; [Abilities] judges the result and is pure, too.
//
// The package changes nothing. It removes the file with which it tests whether a directory is writable at once; a
// trial ends its sessions, and the caller owns its bridge. [TrialClient] is safe for concurrent use and has no
// goroutines. [Trial.Run] returns when its goroutines have ended, at the latest when its context ends.

//go:embed script.yaml
var script []byte

// TrialScript returns the scenario of the scripted model in a trial.
func TrialScript() (*rehearsal.Scenario, error) { return rehearsal.Parse("doctor.yaml", script) }

// DefaultTimeout is the default time limit of a trial, several times its usual duration.
const DefaultTimeout = 20 * time.Second

// The script reports trialClaim tokens in use, of a window of trialWindow tokens.
const trialClaim, trialWindow = 145_000, 200_000

var wordSchema = json.RawMessage(
	`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`)

// Trial finds out what a CLI can do. Client is an opened and initialized bridge client whose handler is
// TrialClient, and whose CLI talks to a model that plays [TrialScript]. Dir is an empty directory to work in.
type Trial struct {
	Client  *bridge.Client
	Handler *TrialClient
	Dir     string
	// Timeout bounds the trial. One turn may take two fifths of it, and one answer one fifth.
	Timeout time.Duration

	mu   sync.Mutex
	seen Observed
	cfg  bridge.AgentConfig
	ids  []string // of the messages of the first session
}

func (t *Trial) turnTime() time.Duration { return t.Timeout * 2 / 5 }
func (t *Trial) stepTime() time.Duration { return t.Timeout / 5 }

// Run plays the sessions. It returns when all abilities were tried, or when the time is up.
func (t *Trial) Run(ctx context.Context) Observed {
	ctx, cancel := context.WithTimeout(ctx, t.Timeout)
	defer cancel()
	t.seen = Observed{}
	var beside sync.WaitGroup
	beside.Go(func() { t.query(ctx) })
	t.cfg = bridge.AgentConfig{
		SessionID: uuid.NewString(), CWD: t.Dir, JSONSchema: wordSchema, StrictMCP: true, Judged: true, Partial: true,
		ContextCap: trialWindow, MCPTools: []bridge.ToolSpec{{Name: "examine", Description: "Says a word.",
			InputSchema: json.RawMessage(
				`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"]}`)}},
		Hooks:          &bridge.HookConfig{Role: "orchestrator", Warn: 70, Critical: 95},
		StartTimeoutMS: int(t.turnTime() / time.Millisecond),
	}
	if t.first(ctx, bridge.AgentRef{ID: "patient", Generation: 1}) {
		t.second(ctx, bridge.AgentRef{ID: "patient", Generation: 2})
	}
	beside.Wait()
	t.Handler.mu.Lock()
	defer t.Handler.mu.Unlock()
	t.put(ctx, "frames", newFrames(t.Handler.events))
	return t.seen
}

// newFrames names the kinds of frames that the driver did not know.
func newFrames(events []bridge.Event) error {
	var kinds []string
	for _, e := range events {
		if n, ok := e.Body.(bridge.Notice); ok && n.Frame != "" && !slices.Contains(kinds, n.Frame) {
			kinds = append(kinds, n.Frame)
		}
	}
	if len(kinds) == 0 {
		return nil
	}
	return fmt.Errorf("%d unknown: %s", len(kinds), strings.Join(kinds, ", "))
}

// put stores the observation of an ability. A failure because the time was up counts as unknown.
func (t *Trial) put(ctx context.Context, name string, err error) {
	if err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
		err = errLate
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[name] = err
}

// shown reports whether an ability has been seen.
func (t *Trial) shown(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	err, tried := t.seen[name]
	return tried && err == nil
}

// hold stores the observation of an ability from a condition.
func (t *Trial) hold(ctx context.Context, name string, holds bool, otherwise string) {
	var err error
	if !holds {
		err = errors.New(otherwise)
	}
	t.put(ctx, name, err)
}

// first starts a session, and reports whether it ended with a history.
func (t *Trial) first(ctx context.Context, ref bridge.AgentRef) bool {
	_, err := t.Client.Spawn(ctx, bridge.SpawnParams{AgentRef: ref, Config: t.cfg})
	t.put(ctx, "session", withStderr(err))
	if err != nil {
		return false
	}
	t.turn(ctx, ref)
	t.figures(ctx, ref)
	t.interrupt(ctx, ref)
	stepping, cancel := context.WithTimeout(ctx, t.stepTime())
	answer, err := t.Client.Ask(stepping, bridge.AskParams{AgentRef: ref, Question: "Are you well?"})
	cancel()
	if err == nil && strings.TrimSpace(answer.Answer) == "" {
		err = errors.New("the answer is empty")
	}
	t.put(ctx, "side questions", withStderr(err))
	t.end(ctx, ref)
	return t.shown("transcripts")
}

// turn plays one turn with every kind of call in it.
func (t *Trial) turn(ctx context.Context, ref bridge.AgentRef) {
	patient, cancel := context.WithTimeout(ctx, t.turnTime())
	defer cancel()
	id, word := uuid.NewString(), uuid.NewString()
	t.ids = append(t.ids, id)
	if err := t.Client.Message(patient,
		bridge.MessageParams{AgentRef: ref, MessageID: id, Content: "EXAMINE yourself."}); err != nil {
		t.put(ctx, "delivery", withStderr(err))
		return
	}
	var turn bridge.Turn
	over := make(chan error, 1) // why the wait for the turn ended
	go func() { over <- t.Handler.await(patient, ref, is(func(e bridge.Turn) bool { turn = e; return true })) }()
	var ended error
	select {
	case <-t.Handler.called:
		t.put(ctx, "tools", nil)
		t.midTurn(ctx, patient, ref, word)
		ended = <-over
	case ended = <-over:
		t.hold(ctx, "tools", false, "it was not called")
	}
	handler := t.Handler
	t.hold(ctx, "delivery", handler.saw(ref, is(func(e bridge.Delivered) bool {
		return e.MessageID == id && e.Proof == "lifecycle"
	})), "no proof came")
	t.hold(ctx, "stream", handler.saw(ref, is[bridge.Delta](nil)), "no pieces of text came")
	t.hold(ctx, "hooks", handler.noted(handler.judged, wordAsked) && handler.noted(handler.judged, wordDenied),
		"no callback came")
	t.hold(ctx, "permissions", handler.noted(handler.asked, wordAsked) && t.made(wordAsked),
		"it was not asked for, or did not run when permitted")
	t.hold(ctx, "denials", !t.made(wordDenied) && handler.noted(handler.judged, wordDenied),
		"it ran, or permission was not asked for")
	t.hold(ctx, "warnings", handler.saw(ref, is(func(e bridge.ContextWarning) bool { return e.Level == "warn" })),
		"no callback came")
	t.hold(ctx, "context", handler.saw(ref, is(func(e bridge.Context) bool { return e.Tokens == trialClaim })),
		"the figure was another")
	t.hold(ctx, "subagents",
		handler.saw(ref, is[bridge.SubagentStart](nil)) && handler.saw(ref, is[bridge.SubagentStop](nil)),
		"it was not reported")
	if ended != nil {
		t.put(ctx, "verdicts", fmt.Errorf("the turn did not end: %w", ended))
		return
	}
	t.put(ctx, "verdicts", verdictIs(turn, "well"))
	if t.shown("steering") {
		t.hold(ctx, "steering", slices.Contains(turn.MessageIDs, word), "it did not come into the turn")
	}
}

// midTurn tries what must work while a tool runs, and then lets the tool answer.
func (t *Trial) midTurn(ctx, patient context.Context, ref bridge.AgentRef, word string) {
	defer close(t.Handler.release)
	stepping, cancel := context.WithTimeout(patient, t.stepTime())
	defer cancel()
	signs, err := t.Client.Probe(stepping, ref)
	if err == nil && !signs.Answered {
		err = errors.New("no answer")
	}
	t.put(ctx, "ping", withStderr(err))
	t.put(ctx, "steering",
		withStderr(t.Client.Message(stepping, bridge.MessageParams{AgentRef: ref, MessageID: word, Content: "A word.",
			Steer: true})))
}

// figures asks the CLI for its context usage, and reads what it wrote.
func (t *Trial) figures(ctx context.Context, ref bridge.AgentRef) {
	stepping, cancel := context.WithTimeout(ctx, t.turnTime())
	defer cancel()
	usage, err := t.Client.Context(stepping, ref)
	if err == nil && (usage.Tokens == 0 || usage.Window == 0) {
		err = errors.New("it says nothing")
	}
	t.put(ctx, "context usage", withStderr(err))
	signs, err := t.Client.Probe(stepping, ref)
	if err == nil && signs.TranscriptBytes == 0 {
		err = errors.New("there is none")
	}
	t.put(ctx, "transcripts", withStderr(err))
}

// interrupt interrupts a turn that would last an hour.
func (t *Trial) interrupt(ctx context.Context, ref bridge.AgentRef) {
	patient, cancel := context.WithTimeout(ctx, t.turnTime())
	defer cancel()
	id := uuid.NewString()
	t.ids = append(t.ids, id)
	err := t.Client.Message(patient, bridge.MessageParams{AgentRef: ref, MessageID: id, Content: "HOLD STILL"})
	if err == nil {
		err = t.Handler.await(patient, ref, is(func(e bridge.Delivered) bool { return e.MessageID == id }))
	}
	if err == nil {
		_, err = t.Client.Interrupt(patient, ref)
	}
	if err == nil {
		err = t.Handler.await(patient, ref, is(func(e bridge.Turn) bool {
			return e.Outcome == bridge.TurnInterrupted && slices.Contains(e.MessageIDs, id)
		}))
	}
	t.put(ctx, "interrupts", withStderr(err))
}

// end ends the session in an orderly way.
func (t *Trial) end(ctx context.Context, ref bridge.AgentRef) {
	err := t.Client.Kill(ctx, bridge.KillParams{AgentRef: ref})
	if err == nil {
		var exit bridge.Exit
		err = t.Handler.await(ctx, ref, is(func(e bridge.Done) bool { exit = e.Exit; return true }))
		switch {
		case err != nil:
		case exit.Signal == "killed":
			err = errors.New("it had to be killed")
		case exit.Swept > 0:
			err = fmt.Errorf("%d of its processes had to be killed", exit.Swept)
		}
	}
	t.put(ctx, "ending", withStderr(err))
}

// second resumes the session.
func (t *Trial) second(ctx context.Context, ref bridge.AgentRef) {
	t.cfg.Resume = true
	info, err := t.Client.Spawn(ctx, bridge.SpawnParams{AgentRef: ref, Config: t.cfg, Pending: t.ids[:1]})
	if err == nil && (!info.Resumed || info.Tokens == 0) {
		err = errors.New("it began without its history")
	}
	t.put(ctx, "resume", withStderr(err))
	if err != nil {
		return
	}
	t.hold(ctx, "delivery status", len(info.Deliveries) == 1 && info.Deliveries[0].Status == bridge.DeliveryRuled,
		"it does not know that the turn ended in a verdict")
	patient, cancel := context.WithTimeout(ctx, t.turnTime())
	defer cancel()
	var turn bridge.Turn
	err = t.Client.Message(patient,
		bridge.MessageParams{AgentRef: ref, MessageID: uuid.NewString(), Content: "/clear WORD"})
	if err == nil {
		err = t.Handler.await(patient, ref, is(func(e bridge.Turn) bool { turn = e; return true }))
	}
	if err == nil {
		err = verdictIs(turn, "/clear WORD")
	}
	t.put(ctx, "plain text", withStderr(err))
	_ = t.Client.Kill(ctx, bridge.KillParams{AgentRef: ref, Now: true}) // closing the bridge ends it, too
}

// query asks one question while the sessions run.
func (t *Trial) query(ctx context.Context) {
	r, err := t.Client.Query(ctx, bridge.QueryParams{
		CWD: t.Dir, SystemPrompt: "You answer.", Prompt: "ANSWER ONCE", JSONSchema: wordSchema,
		TimeoutMS: int(t.Timeout / time.Millisecond),
	})
	if err == nil {
		err = verdictIs(bridge.Turn{Verdict: r.Output}, "once")
	}
	t.put(ctx, "queries", withStderr(err))
}

func verdictIs(turn bridge.Turn, word string) error {
	var v struct {
		Word string `json:"word"`
	}
	switch {
	case turn.Error != "":
		return errors.New(turn.Error)
	case turn.Verdict == nil:
		return errors.New("there was none")
	case json.Unmarshal(turn.Verdict, &v) != nil || v.Word != word:
		return fmt.Errorf("it is %.100s", turn.Verdict)
	}
	return nil
}

// made reports whether a command of the script has run.
func (t *Trial) made(word string) bool {
	_, err := os.Stat(filepath.Join(t.Dir, word))
	return err == nil
}

// withStderr returns the bridge's error, with the last stderr output of the CLI.
func withStderr(err error) error {
	var rpc *bridge.RPCError
	if !errors.As(err, &rpc) {
		return err
	}
	if rpc.Stderr != "" && !strings.Contains(rpc.Message, rpc.Stderr) {
		return fmt.Errorf("%s: %s", rpc.Message, lastLine(rpc.Stderr))
	}
	return errors.New(rpc.Message)
}

func lastLine(text string) string {
	lines := strings.Split(strings.TrimSpace(text), "\n")
	return lines[len(lines)-1]
}

// TrialClient is the client side of a trial: it records the bridge's events, and answers requests according to the
// script.
type TrialClient struct {
	mu     sync.Mutex
	events []bridge.Event
	change chan struct{} // closed and replaced with each event
	judged map[string]bool
	asked  map[string]bool

	called  chan struct{} // closed when the tool is called
	release chan struct{} // closed when it may answer
	once    sync.Once
}

var _ bridge.Handler = (*TrialClient)(nil)

// NewTrialClient returns a client for one trial.
func NewTrialClient() *TrialClient {
	return &TrialClient{change: make(chan struct{}), judged: map[string]bool{}, asked: map[string]bool{},
		called: make(chan struct{}), release: make(chan struct{})}
}

// Event implements bridge.Handler.
func (e *TrialClient) Event(ev bridge.Event) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.events = append(e.events, ev)
	close(e.change)
	e.change = make(chan struct{})
}

// ToolCall implements bridge.Handler. The tool answers when the trial releases it.
func (e *TrialClient) ToolCall(ctx context.Context, _ bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	e.once.Do(func() { close(e.called) })
	select {
	case <-e.release:
		return bridge.ToolCallResult{Text: "Heard."}, nil
	case <-ctx.Done():
		return bridge.ToolCallResult{}, ctx.Err()
	}
}

// Judge implements bridge.Handler.
func (e *TrialClient) Judge(_ context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	switch word := wordOf(string(p.Input)); word {
	case wordDenied:
		e.note(e.judged, word)
		return bridge.JudgeResult{Behavior: bridge.Deny, Message: "This is denied."}, nil
	case wordAsked:
		e.note(e.judged, word)
		return bridge.JudgeResult{Behavior: bridge.Ask}, nil
	}
	return bridge.JudgeResult{Behavior: bridge.Pass}, nil
}

// Permission implements bridge.Handler.
func (e *TrialClient) Permission(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	word := wordOf(string(p.Input))
	e.note(e.asked, word)
	if word == wordAsked {
		return bridge.PermissionResult{Behavior: bridge.Allow}, nil
	}
	return bridge.PermissionResult{Behavior: bridge.Deny, Message: "This was not to come."}, nil
}

// The commands of the script create files with these names.
const (
	wordAsked  = "asked"
	wordDenied = "denied"
)

func wordOf(input string) string {
	for _, word := range []string{wordAsked, wordDenied} {
		if strings.Contains(input, "touch "+word) {
			return word
		}
	}
	return ""
}

func (e *TrialClient) note(in map[string]bool, word string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	in[word] = true
}

func (e *TrialClient) noted(in map[string]bool, word string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return in[word]
}

// errEnded says that the session ended while the trial waited for an event.
var errEnded = errors.New("the session ended")

// await waits for a matching event of one incarnation, including past events.
func (e *TrialClient) await(ctx context.Context, ref bridge.AgentRef, fits func(bridge.EventBody) bool) error {
	at := 0
	for {
		e.mu.Lock()
		events, change := e.events, e.change
		e.mu.Unlock()
		for ; at < len(events); at++ {
			if events[at].AgentRef != ref {
				continue
			}
			if fits(events[at].Body) {
				return nil
			}
			if _, over := events[at].Body.(bridge.Done); over {
				return errEnded
			}
		}
		select {
		case <-change:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// saw reports whether there has been a matching event.
func (e *TrialClient) saw(ref bridge.AgentRef, fits func(bridge.EventBody) bool) bool {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return e.await(over, ref, fits) == nil
}

// is matches events of a type; with a function, only those for which it returns true.
func is[B bridge.EventBody](that func(B) bool) func(bridge.EventBody) bool {
	return func(body bridge.EventBody) bool {
		b, ok := body.(B)
		return ok && (that == nil || that(b))
	}
}
