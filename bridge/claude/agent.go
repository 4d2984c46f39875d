package claude

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/driver"
	"github.com/arbiter-cli/arbiter/transcript"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

const (
	askTimeout   = 3 * time.Minute // a side question is an API call
	modelTimeout = time.Minute     // set_model tries the model with an API call
)

// agent is one CLI process. See the package documentation for its goroutines.
type agent struct {
	*driver.Process         // Config.Resume: there was something to resume
	past            history // set before Launch returns

	judged  judgedCalls
	program build // as it was found before the start
	builds  *builds

	in     *stdin
	calls  *calls
	asks   *asks
	tools  *toolServer // nil without tools of Arbiter
	turns  *turns
	gauge  *gauge
	follow *follower
	reader *reader // set before anything runs

	adviser *adviser // nil without hooks

	judgeTimeout time.Duration // how long a tool call waits for the client's rules
	enterTimeout time.Duration // how long an interrupt waits for the message before it

	silent chan struct{} // closed when stdout has ended

	foreignOnce sync.Once
	foreign     chan struct{} // closed when the process speaks for another session

	prober  *prober
	closing sync.Once // of turns, when the end is requested

	mode         atomic.Pointer[string] // the permission mode that the CLI has to be in; nil: not known
	startProblem atomic.Pointer[string] // the first error result without a message

	noticeMu sync.Mutex
	noticed  map[string]bool
}

var _ bridge.Agent = (*agent)(nil)

func newAgent(p bridge.SpawnParams, program build, host bridge.Host, in *os.File) *agent {
	a := &agent{
		Process: driver.NewProcess(p.AgentRef, p.Config, host), program: program,
		in: newStdin(in), turns: newTurns(), gauge: newGauge(p.Config), adviser: newAdviser(p.Config.Hooks),
		silent: make(chan struct{}), foreign: make(chan struct{}), noticed: map[string]bool{},
	}
	a.calls = &calls{in: a.in, pending: map[string]func(controlResponse){}, over: make(chan struct{})}
	a.asks = newAsks(a.in)
	a.prober = &prober{a: a, timeout: bridge.ProbeTimeout}
	a.follow = &follower{a: a, named: make(chan string, 1), look: transcript.NewBell()}
	a.reader = newReader(a)
	return a
}

// maxNotices bounds how many kinds of oddities are reported and remembered.
const maxNotices = 200

// notice reports an oddity, once per kind.
func (a *agent) notice(kind, text string) { a.noticeOnce(kind, bridge.Notice{Text: text}) }

func (a *agent) noticeOnce(kind string, n bridge.Notice) {
	a.noticeMu.Lock()
	fresh := !a.noticed[kind] && len(a.noticed) < maxNotices
	if fresh {
		a.noticed[kind] = true
	}
	a.noticeMu.Unlock()
	if fresh {
		a.Emit(n)
	}
}

// answer serves a control request of the CLI. It only starts the work, except for hooks: their answers are
// decided in the order of the frames.
func (r *reader) answer(f controlRequest) {
	a := r.a
	switch {
	case f.Subtype == "hook_callback" && r.hooked(f):
	case f.Subtype == "can_use_tool":
		a.asks.serve(a.Ctx, f.ID, func(ctx context.Context) (any, error) { return a.canUseTool(ctx, f.Request) })
	case f.Subtype == "elicitation":
		a.asks.serve(a.Ctx, f.ID, func(ctx context.Context) (any, error) { return a.elicit(ctx, f.Request) })
	case f.Subtype == "mcp_message" && a.tools != nil:
		a.asks.serve(a.Ctx, f.ID, a.tools.accept(f.Request))
	default:
		a.notice("request "+f.Subtype, fmt.Sprintf("the CLI asked for %.80q, which is not served", f.Subtype))
		a.asks.serve(a.Ctx, f.ID, refuse(fmt.Errorf("unsupported control request subtype: %.80q", f.Subtype)))
	}
}

type userLine struct {
	Type    string      `json:"type"`
	UUID    string      `json:"uuid"`
	Message userMessage `json:"message"`
	// Parent must be present, as null.
	Parent *string `json:"parent_tool_use_id"`
	// ClientComposed keeps a leading / or an @ from being executed.
	ClientComposed bool `json:"client_composed"`
}

type userMessage struct {
	Role    string `json:"role"`
	Content any    `json:"content"` // a string, or a list of texts and images
}

// contentOf is the content of a message: blocks only if it has images.
func contentOf(p bridge.MessageParams) any {
	if len(p.Images) == 0 {
		return p.Content
	}
	blocks := []map[string]any{{"type": "text", "text": p.Content}}
	for _, i := range p.Images {
		source := map[string]any{"type": "base64", "media_type": i.MediaType, "data": i.Data}
		blocks = append(blocks, map[string]any{"type": "image", "source": source})
	}
	return blocks
}

// Message implements bridge.Agent. If the message was already sent and has not been answered, it is written
// again under its id: the CLI drops the repetition.
func (a *agent) Message(ctx context.Context, p bridge.MessageParams) error {
	repeat, err := a.turns.begin(p.MessageID, p.Steer)
	if err != nil {
		return err
	}
	err = a.in.send(ctx, userLine{Type: "user", UUID: p.MessageID,
		Message: userMessage{Role: "user", Content: contentOf(p)}, ClientComposed: true})
	if err == nil || repeat {
		return err
	}
	if !a.turns.withdraw(p.MessageID) {
		return nil // the process died meanwhile, and the turn was reported lost
	}
	return fmt.Errorf("send message %s: %w", p.MessageID, err)
}

// Interrupt implements bridge.Agent. The interrupt is sent only after the message written before it has
// entered the conversation: the CLI drops a message that is interrupted while its UserPromptSubmit hooks
// still run (observed with CLI 2.1.329).
func (a *agent) Interrupt(ctx context.Context) (bridge.InterruptResult, error) {
	timer := time.NewTimer(a.enterTimeout)
	defer timer.Stop()
	select {
	case <-a.turns.whenEntered():
	case <-timer.C:
	case <-ctx.Done():
		return bridge.InterruptResult{}, ctx.Err()
	}
	raw, err := a.calls.do(ctx, controlTimeout, "interrupt", nil)
	if err != nil {
		return bridge.InterruptResult{}, err
	}
	var res bridge.InterruptResult
	if !jsonl.IsNull(raw) { // an interrupt whose answer has no payload succeeded too
		if err := json.Unmarshal(raw, &res); err != nil {
			return res, fmt.Errorf("read interrupt answer: %w", err)
		}
	}
	return res, nil
}

func (a *agent) Ask(ctx context.Context, question string) (string, error) {
	raw, err := a.calls.do(ctx, askTimeout, "side_question", map[string]any{"question": question})
	if err != nil {
		return "", err
	}
	var res struct {
		Response string `json:"response"`
	}
	if err := json.Unmarshal(raw, &res); err != nil {
		return "", fmt.Errorf("read side answer: %w", err)
	}
	return res.Response, nil
}

func (a *agent) Configure(ctx context.Context, p bridge.ConfigureParams) error {
	if p.PermissionMode == bridge.BypassPermissions {
		return badConfig("permission mode %s: an agent is started in it, or never asks for less",
			bridge.BypassPermissions)
	}
	if p.Model != "" {
		if _, err := a.calls.do(ctx, modelTimeout, "set_model", map[string]any{"model": p.Model}); err != nil {
			return err
		}
		// Another model may have another window. If the CLI does not answer, the next result reports it.
		if _, err := a.askContext(ctx); err == nil {
			a.gauge.revise()
			a.gauge.report(a.Emit)
		}
	}
	if p.Reminder != "" && a.adviser != nil {
		a.adviser.remind(p.Reminder)
	}
	if p.PermissionMode != "" {
		before := a.mode.Swap(nil) // until the CLI answers, a call may come in either mode
		if _, err := a.calls.do(ctx, controlTimeout, "set_permission_mode",
			map[string]any{"mode": p.PermissionMode}); err != nil {
			a.mode.Store(before)
			return err
		}
		a.mode.Store(&p.PermissionMode)
	}
	if p.Rules != nil {
		notTaken, err := a.applyRules(ctx, *p.Rules)
		if err != nil {
			return err
		}
		if len(notTaken) > 0 {
			a.Emit(bridge.Notice{Text: "this Claude CLI does not know the allow rule " + strings.Join(notTaken, ", ") +
				", and still asks about what it is for"})
		}
	}
	return nil
}
