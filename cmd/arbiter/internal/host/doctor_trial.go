package host

import (
	"context"
	_ "embed" // of the script
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/proctree"
	"github.com/arbiter-cli/arbiter/rehearsal"
)

// This part of the package checks whether arbiter can run on this machine, and says how to fix what prevents
// it.
//
// Checks have two parts. [Surroundings] holds the observations as plain data, gathered by [LookAt],
// [LookForScratch], [Try] and the command. [Examine] judges them and is pure, so that a table can test every bad case.
// [Try] plays two short sessions of the CLI against a scripted model and reports which of the abilities that the
// bridge relies on were seen.
//
// The package changes nothing. It removes the file with which it tests whether a directory is writable at once, and
// the directory in which a trial works. [Try] returns when its goroutines have ended, at the latest when its context
// ends.

//go:embed script.yaml
var script []byte

// DefaultTimeout is the default time limit of a trial, several times its usual duration.
const DefaultTimeout = 20 * time.Second

// The script reports trialClaim tokens in use, of a window of trialWindow tokens.
const trialClaim, trialWindow = 145_000, 200_000

var wordSchema = json.RawMessage(
	`{"type":"object","properties":{"word":{"type":"string"}},"required":["word"],"additionalProperties":false}`)

// cliTrial is the client side of a bridge whose CLI talks to a model that plays the script: it records the bridge's
// events, answers requests according to the script, and finds out what the CLI can do.
type cliTrial struct {
	client  *bridge.Client
	dir     string        // an empty directory to work in
	timeout time.Duration // of the trial. One turn may take two fifths of it, and one answer one fifth.
	cfg     bridge.AgentConfig
	ids     []string // of the messages of the first session

	mu     sync.Mutex
	seen   Observed
	events []bridge.Event
	change chan struct{} // closed and replaced with each event
	noted  sync.Map      // what the CLI has asked about: "judge" or "permit", and the word

	called  chan struct{} // closed when the tool is called
	release chan struct{} // closed when it may answer
	once    sync.Once
}

var _ bridge.Handler = (*cliTrial)(nil)

func (t *cliTrial) turnTime() time.Duration { return t.timeout * 2 / 5 }
func (t *cliTrial) stepTime() time.Duration { return t.timeout / 5 }

// Try finds out what the CLI at a path can do: it plays the script in a scratch directory, which it removes. It
// returns when all abilities were tried, or when the time is up.
func Try(ctx context.Context, path string, pidns proctree.Mode, timeout time.Duration) Observed {
	t := &cliTrial{timeout: timeout, seen: Observed{}, change: make(chan struct{}),
		called: make(chan struct{}), release: make(chan struct{})}
	dir, err := os.MkdirTemp("", "arbiter-doctor-")
	if err != nil {
		return Observed{"session": err}
	}
	side := &SideBridge{Mark: uuid.NewString(), dirs: []string{dir}}
	defer side.Close()
	home, temp := filepath.Join(dir, "home"), filepath.Join(dir, "tmp")
	t.dir = filepath.Join(dir, "workspace")
	err = errors.Join(os.Mkdir(home, 0o700), os.Mkdir(t.dir, 0o700), os.Mkdir(temp, 0o700))
	scenario, wrong := rehearsal.Parse("doctor.yaml", script)
	if err = errors.Join(err, wrong); err == nil {
		side.Stage, err = openStage(scenario, bridge.ClaudeSpec{Path: path}, home, rehearsal.Options{})
	}
	if err != nil {
		return Observed{"session": err}
	}
	side.Stage.Env = append(side.Stage.Env, "TMPDIR="+temp) // the last one counts
	start := BridgeStart{Run: side.Mark, CWD: t.dir, PIDNS: pidns, Stage: side.Stage, Handler: t,
		Log: slog.New(slog.DiscardHandler)}
	client, _, failed := start.Open(ctx, func(c *bridge.Client) { side.Client = c })
	if failed != nil {
		return Observed{"session": errors.New(failed.Message)}
	}
	t.client = client
	t.run(ctx)
	return t.seen
}

// run plays the sessions.
func (t *cliTrial) run(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	var beside sync.WaitGroup
	beside.Go(func() { t.query(ctx) })
	t.cfg = bridge.AgentConfig{
		SessionID: uuid.NewString(), CWD: t.dir, JSONSchema: wordSchema, StrictMCP: true, Judged: true, Partial: true,
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
	t.mu.Lock()
	events := t.events
	t.mu.Unlock()
	t.put(ctx, "frames", newFrames(events))
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

// put stores the observation of an ability, with the last stderr output of the CLI. A failure because the time was up
// counts as unknown. It returns the failure.
func (t *cliTrial) put(ctx context.Context, name string, err error) error {
	if rpc, ok := errors.AsType[*bridge.RPCError](err); ok {
		lines := strings.Split(strings.TrimSpace(rpc.Stderr), "\n")
		if err = errors.New(rpc.Message); rpc.Stderr != "" && !strings.Contains(rpc.Message, rpc.Stderr) {
			err = fmt.Errorf("%s: %s", rpc.Message, lines[len(lines)-1])
		}
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.seen[name] = err
	if err != nil && (ctx.Err() != nil || errors.Is(err, context.DeadlineExceeded)) {
		t.seen[name] = errLate
	}
	return err
}

// shown reports whether an ability has been seen.
func (t *cliTrial) shown(name string) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	err, tried := t.seen[name]
	return tried && err == nil
}

// hold stores the observation of an ability from a condition.
func (t *cliTrial) hold(ctx context.Context, name string, holds bool, otherwise string) {
	var err error
	if !holds {
		err = errors.New(otherwise)
	}
	t.put(ctx, name, err)
}

// within calls do with a time limit, and stores its result as the observation of an ability.
func (t *cliTrial) within(ctx context.Context, limit time.Duration, name string, do func(context.Context) error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	t.put(ctx, name, do(limited))
}

// first starts a session, and reports whether it ended with a history.
func (t *cliTrial) first(ctx context.Context, ref bridge.AgentRef) bool {
	_, err := t.client.Spawn(ctx, bridge.SpawnParams{AgentRef: ref, Config: t.cfg})
	if t.put(ctx, "session", err) != nil {
		return false
	}
	t.turn(ctx, ref)
	t.within(ctx, t.turnTime(), "context usage", func(ctx context.Context) error {
		usage, err := t.client.Context(ctx, ref)
		if err == nil && (usage.Tokens == 0 || usage.Window == 0) {
			err = errors.New("it says nothing")
		}
		return err
	})
	t.within(ctx, t.turnTime(), "transcripts", func(ctx context.Context) error {
		signs, err := t.client.Probe(ctx, ref)
		if err == nil && signs.TranscriptBytes == 0 {
			err = errors.New("there is none")
		}
		return err
	})
	t.within(ctx, t.turnTime(), "interrupts", func(ctx context.Context) error { return t.interrupt(ctx, ref) })
	t.within(ctx, t.stepTime(), "side questions", func(ctx context.Context) error {
		answer, err := t.client.Ask(ctx, bridge.AskParams{AgentRef: ref, Question: "Are you well?"})
		if err == nil && strings.TrimSpace(answer.Answer) == "" {
			err = errors.New("the answer is empty")
		}
		return err
	})
	t.put(ctx, "ending", t.end(ctx, ref))
	return t.shown("transcripts")
}

// turn plays one turn with every kind of call in it.
func (t *cliTrial) turn(ctx context.Context, ref bridge.AgentRef) {
	patient, cancel := context.WithTimeout(ctx, t.turnTime())
	defer cancel()
	id, word := uuid.NewString(), uuid.NewString()
	t.ids = append(t.ids, id)
	err := t.client.Message(patient, bridge.MessageParams{AgentRef: ref, MessageID: id, Content: "EXAMINE yourself."})
	if err != nil {
		t.put(ctx, "delivery", err)
		return
	}
	var turn bridge.Turn
	over := make(chan error, 1) // why the wait for the turn ended
	go func() { over <- t.await(patient, ref, is(func(e bridge.Turn) bool { turn = e; return true })) }()
	var ended error
	select {
	case <-t.called:
		t.put(ctx, "tools", nil)
		t.midTurn(ctx, ref, word)
		ended = <-over
	case ended = <-over:
		t.hold(ctx, "tools", false, "it was not called")
	}
	t.hold(ctx, "delivery", t.saw(ref, is(func(e bridge.Delivered) bool {
		return e.MessageID == id && e.Proof == "lifecycle"
	})), "no proof came")
	t.hold(ctx, "stream", t.saw(ref, is[bridge.Delta](nil)), "no pieces of text came")
	t.hold(ctx, "hooks", t.was("judge", wordAsked) && t.was("judge", wordDenied),
		"no callback came")
	t.hold(ctx, "permissions", t.was("permit", wordAsked) && t.made(wordAsked),
		"it was not asked for, or did not run when permitted")
	t.hold(ctx, "denials", !t.made(wordDenied) && t.was("judge", wordDenied),
		"it ran, or permission was not asked for")
	t.hold(ctx, "warnings", t.saw(ref, is(func(e bridge.ContextWarning) bool { return e.Level == "warn" })),
		"no callback came")
	t.hold(ctx, "context", t.saw(ref, is(func(e bridge.Context) bool { return e.Tokens == trialClaim })),
		"the figure was another")
	t.hold(ctx, "subagents",
		t.saw(ref, is[bridge.SubagentStart](nil)) && t.saw(ref, is[bridge.SubagentStop](nil)),
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
func (t *cliTrial) midTurn(ctx context.Context, ref bridge.AgentRef, word string) {
	defer close(t.release)
	t.within(ctx, t.stepTime(), "ping", func(ctx context.Context) error {
		signs, err := t.client.Probe(ctx, ref)
		if err == nil && !signs.Answered {
			err = errors.New("no answer")
		}
		return err
	})
	t.within(ctx, t.stepTime(), "steering", func(ctx context.Context) error {
		return t.client.Message(ctx, bridge.MessageParams{AgentRef: ref, MessageID: word, Content: "A word.", Steer: true})
	})
}

// interrupt interrupts a turn that would last an hour.
func (t *cliTrial) interrupt(ctx context.Context, ref bridge.AgentRef) error {
	id := uuid.NewString()
	t.ids = append(t.ids, id)
	err := t.client.Message(ctx, bridge.MessageParams{AgentRef: ref, MessageID: id, Content: "HOLD STILL"})
	if err == nil {
		err = t.await(ctx, ref, is(func(e bridge.Delivered) bool { return e.MessageID == id }))
	}
	if err == nil {
		_, err = t.client.Interrupt(ctx, ref)
	}
	if err == nil {
		err = t.await(ctx, ref, is(func(e bridge.Turn) bool {
			return e.Outcome == bridge.TurnInterrupted && slices.Contains(e.MessageIDs, id)
		}))
	}
	return err
}

// end ends the session in an orderly way.
func (t *cliTrial) end(ctx context.Context, ref bridge.AgentRef) error {
	if err := t.client.Kill(ctx, bridge.KillParams{AgentRef: ref}); err != nil {
		return err
	}
	var exit bridge.Exit
	err := t.await(ctx, ref, is(func(e bridge.Done) bool { exit = e.Exit; return true }))
	switch {
	case err != nil:
		return err
	case exit.Signal == "killed":
		return errors.New("it had to be killed")
	case exit.Swept > 0:
		return fmt.Errorf("%d of its processes had to be killed", exit.Swept)
	}
	return nil
}

// second resumes the session.
func (t *cliTrial) second(ctx context.Context, ref bridge.AgentRef) {
	t.cfg.Resume = true
	info, err := t.client.Spawn(ctx, bridge.SpawnParams{AgentRef: ref, Config: t.cfg, Pending: t.ids[:1]})
	if err == nil && (!info.Resumed || info.Tokens == 0) {
		err = errors.New("it began without its history")
	}
	if t.put(ctx, "resume", err) != nil {
		return
	}
	t.hold(ctx, "delivery status", len(info.Deliveries) == 1 && info.Deliveries[0].Status == bridge.DeliveryRuled,
		"it does not know that the turn ended in a verdict")
	t.within(ctx, t.turnTime(), "plain text", func(ctx context.Context) error {
		err := t.client.Message(ctx,
			bridge.MessageParams{AgentRef: ref, MessageID: uuid.NewString(), Content: "/clear WORD"})
		var turn bridge.Turn
		if err == nil {
			err = t.await(ctx, ref, is(func(e bridge.Turn) bool { turn = e; return true }))
		}
		if err == nil {
			err = verdictIs(turn, "/clear WORD")
		}
		return err
	})
	_ = t.client.Kill(ctx, bridge.KillParams{AgentRef: ref, Now: true}) // closing the bridge ends it, too
}

// query asks one question while the sessions run.
func (t *cliTrial) query(ctx context.Context) {
	r, err := t.client.Query(ctx, bridge.QueryParams{
		CWD: t.dir, SystemPrompt: "You answer.", Prompt: "ANSWER ONCE", JSONSchema: wordSchema,
		TimeoutMS: int(t.timeout / time.Millisecond),
	})
	if err == nil {
		err = verdictIs(bridge.Turn{Verdict: r.Output}, "once")
	}
	t.put(ctx, "queries", err)
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
func (t *cliTrial) made(word string) bool {
	_, err := os.Stat(filepath.Join(t.dir, word))
	return err == nil
}

// Event implements bridge.Handler.
func (t *cliTrial) Event(ev bridge.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, ev)
	close(t.change)
	t.change = make(chan struct{})
}

// ToolCall implements bridge.Handler. The tool answers when the trial releases it.
func (t *cliTrial) ToolCall(ctx context.Context, _ bridge.ToolCallParams) (bridge.ToolCallResult, error) {
	t.once.Do(func() { close(t.called) })
	select {
	case <-t.release:
		return bridge.ToolCallResult{Text: "Heard."}, nil
	case <-ctx.Done():
		return bridge.ToolCallResult{}, ctx.Err()
	}
}

// Judge implements bridge.Handler.
func (t *cliTrial) Judge(_ context.Context, p bridge.JudgeParams) (bridge.JudgeResult, error) {
	word := wordOf(string(p.Input))
	t.noted.Store("judge "+word, true)
	switch word {
	case wordDenied:
		return bridge.JudgeResult{Behavior: bridge.Deny, Message: "This is denied."}, nil
	case wordAsked:
		return bridge.JudgeResult{Behavior: bridge.Ask}, nil
	}
	return bridge.JudgeResult{Behavior: bridge.Pass}, nil
}

// Permission implements bridge.Handler.
func (t *cliTrial) Permission(_ context.Context, p bridge.PermissionParams) (bridge.PermissionResult, error) {
	word := wordOf(string(p.Input))
	t.noted.Store("permit "+word, true)
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

// was reports whether the CLI has asked how to judge a command, or to permit it.
func (t *cliTrial) was(asked, word string) bool {
	_, ok := t.noted.Load(asked + " " + word)
	return ok
}

// errEnded says that the session ended while the trial waited for an event.
var errEnded = errors.New("the session ended")

// await waits for a matching event of one incarnation, including past events.
func (t *cliTrial) await(ctx context.Context, ref bridge.AgentRef, fits func(bridge.EventBody) bool) error {
	at := 0
	for {
		t.mu.Lock()
		events, change := t.events, t.change
		t.mu.Unlock()
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
func (t *cliTrial) saw(ref bridge.AgentRef, fits func(bridge.EventBody) bool) bool {
	over, cancel := context.WithCancel(context.Background())
	cancel()
	return t.await(over, ref, fits) == nil
}

// is matches events of a type; with a function, only those for which it returns true.
func is[B bridge.EventBody](that func(B) bool) func(bridge.EventBody) bool {
	return func(body bridge.EventBody) bool {
		b, ok := body.(B)
		return ok && (that == nil || that(b))
	}
}
