package bridge

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge/crashpoint"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// host is the part of the client that one incarnation can use. All its messages go out under its own name
// and generation, even if it sets others.
type host struct {
	ref AgentRef
	p   *peer
	log *slog.Logger

	mu     sync.Mutex
	closed bool // `done` was emitted, or the start has failed: no event follows
}

// Emit implements [Host]. It blocks while too much waits for the client; it returns at once when the
// connection has ended.
func (h *host) Emit(ev Event) {
	ev.AgentRef = h.ref
	line, err := eventLine(ev)
	if err != nil {
		h.log.Error("an event could not be encoded", "agent", h.ref.String(), "err", err)
		line, err = eventLine(Event{h.ref, Error{Category: CatInternal, Message: err.Error()}})
		if err != nil {
			return // impossible: two plain strings
		}
	}
	_, last := ev.Body.(Done)
	crashpoint.Here("bridge.event")
	h.p.s.out.awaitCapacity()
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed {
		h.log.Warn("dropped an event of an agent that has ended", "agent", h.ref.String(), "event", ev.Body.eventName())
		return
	}
	h.closed = last
	h.p.s.out.pushEvent(line) // under the lock, so that no event follows `done`; it never blocks
}

func (h *host) close() {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.closed = true
}

func (h *host) isClosed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.closed
}

func (h *host) ToolCall(ctx context.Context, p ToolCallParams) (ToolCallResult, error) {
	p.AgentRef = h.ref
	if _, bounded := ctx.Deadline(); !bounded {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, DefaultToolTimeout)
		defer cancel()
	}
	var r ToolCallResult
	if err := h.p.call(ctx, MethodToolCall, p, &r); err != nil {
		return ToolCallResult{Text: fmt.Sprintf("the tool %s failed: %v", p.Tool, err), IsError: true}, err
	}
	return r, nil
}

// Permission implements [Host]. Every answer but a clear allow is a deny.
func (h *host) Permission(ctx context.Context, p PermissionParams) (PermissionResult, error) {
	p.AgentRef = h.ref
	return h.decide(ctx, MethodPermission, p, "nobody could decide", Allow, Deny)
}

// Judge implements [Host]. Every answer but a pass or an ask is a deny.
func (h *host) Judge(ctx context.Context, p JudgeParams) (JudgeResult, error) {
	p.AgentRef = h.ref
	ctx, cancel := context.WithTimeout(ctx, JudgeTimeout)
	defer cancel()
	r, err := h.decide(ctx, MethodJudge, p, "the rules could not be asked", Pass, Ask, Deny)
	return JudgeResult(r), err
}

// decide asks the client for one of the behaviors; failed says what went wrong without an answer, which is a deny. It
// decodes by exact member names; encoding/json would let a "Behavior" override the "behavior" before it.
func (h *host) decide(ctx context.Context, method string, params any, failed string, behaviors ...string) (
	r PermissionResult, err error) {
	var answer map[string]json.RawMessage
	if err = h.p.call(ctx, method, params, &answer); err == nil {
		r.Behavior, _ = jsonl.String(answer["behavior"])
		r.Message, _ = jsonl.String(answer["message"])
		if slices.Contains(behaviors, r.Behavior) {
			return r, nil
		}
		err = fmt.Errorf("%s: decode the answer: behavior is not one of %s: %.40s", method, strings.Join(behaviors, ", "),
			answer["behavior"])
	}
	return PermissionResult{Behavior: Deny, Message: fmt.Sprintf("%s: %v", failed, err)}, err
}

// JudgeParams is a tool call that is about to run. It comes before any decision of the CLI.
// The client answers at once, by rules only, without asking a human.
type JudgeParams struct {
	AgentRef
	Tool     string          `json:"tool"`
	Input    json.RawMessage `json:"input"`
	ToolUse  string          `json:"tool_use,omitempty"`
	Subagent string          `json:"subagent,omitempty"` // the subagent's id, if a subagent calls
	CWD      string          `json:"cwd,omitempty"`      // the current directory of the session's shell
}

// JudgeResult can only take away. Deny: the call does not run, and the model reads
// Message. Ask: `permission` follows, whatever the CLI's own rules say. Pass: the CLI
// decides by its own rules. Any other value, an error, and no answer within JudgeTimeout mean deny.
type JudgeResult struct {
	Behavior string `json:"behavior"`
	Message  string `json:"message,omitempty"`
}
