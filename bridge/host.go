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
	var answer strictPermission
	if err := h.p.call(ctx, MethodPermission, p, &answer); err != nil {
		return PermissionResult{Behavior: Deny, Message: fmt.Sprintf("nobody could decide: %v", err)}, err
	}
	return PermissionResult(answer), nil
}

// Judge implements [Host]. Every answer but a pass or an ask is a deny.
func (h *host) Judge(ctx context.Context, p JudgeParams) (JudgeResult, error) {
	p.AgentRef = h.ref
	ctx, cancel := context.WithTimeout(ctx, JudgeTimeout)
	defer cancel()
	var answer strictJudgement
	if err := h.p.call(ctx, MethodJudge, p, &answer); err != nil {
		return JudgeResult{Behavior: Deny, Message: fmt.Sprintf("the rules could not be asked: %v", err)}, err
	}
	return JudgeResult(answer), nil
}

// strictPermission decodes by exact member names; encoding/json would let a "Behavior" override the
// "behavior" before it.
type strictPermission PermissionResult

func (s *strictPermission) UnmarshalJSON(data []byte) (err error) {
	s.Behavior, s.Message, err = strictAnswer(data, Allow, Deny)
	return err
}

// strictJudgement is the same for JudgeResult.
type strictJudgement JudgeResult

func (s *strictJudgement) UnmarshalJSON(data []byte) (err error) {
	s.Behavior, s.Message, err = strictAnswer(data, Pass, Ask, Deny)
	return err
}

func strictAnswer(data []byte, behaviors ...string) (behavior, message string, err error) {
	var m map[string]json.RawMessage
	if err := json.Unmarshal(data, &m); err != nil {
		return "", "", err
	}
	behavior, _ = jsonl.String(m["behavior"])
	message, _ = jsonl.String(m["message"])
	if !slices.Contains(behaviors, behavior) {
		return "", "", fmt.Errorf("behavior is not one of %s: %.40s", strings.Join(behaviors, ", "), m["behavior"])
	}
	return behavior, message, nil
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
