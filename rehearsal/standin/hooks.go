package standin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"regexp"
	"slices"
	"sync"
	"time"
)

// hookMatcher is one registration of `initialize`.
type hookMatcher struct {
	Matcher     string   `json:"matcher"`
	CallbackIDs []string `json:"hookCallbackIds"`
	Timeout     float64  `json:"timeout"` // seconds
	OnFailure   string   `json:"onFailure"`
}

// hookSet holds the host's hooks by event; a repeated `initialize` replaces them.
type hookSet struct {
	mu      sync.Mutex
	byEvent map[string][]hookMatcher
}

func (h *hookSet) set(m map[string][]hookMatcher) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.byEvent = m
}

func (h *hookSet) of(event, tool string) []hookMatcher {
	h.mu.Lock()
	defer h.mu.Unlock()
	var out []hookMatcher
	for _, m := range h.byEvent[event] {
		if tool == "" || m.Matcher == "" || m.Matcher == "*" {
			out = append(out, m)
			continue
		}
		if re, err := regexp.Compile("^(?:" + m.Matcher + ")$"); err == nil && re.MatchString(tool) {
			out = append(out, m)
		}
	}
	return out
}

// hookAnswer is what a host's hook may say.
type hookAnswer struct {
	Decision string `json:"decision"`
	Reason   string `json:"reason"`
	Specific struct {
		Event             string          `json:"hookEventName"`
		Permission        string          `json:"permissionDecision"`
		PermissionReason  string          `json:"permissionDecisionReason"`
		UpdatedInput      json.RawMessage `json:"updatedInput"`
		AdditionalContext string          `json:"additionalContext"`
	} `json:"hookSpecificOutput"`

	timedOut bool
	gone     bool // the host is
}

// invalid says why an answer is none to an event.
func (a hookAnswer) invalid(event string) error {
	switch p := a.Specific.Permission; {
	case a.Specific.Event != "" && a.Specific.Event != event:
		return fmt.Errorf("hookEventName is %q, not %q", a.Specific.Event, event)
	case p != "" && p != "allow" && p != "deny" && p != "ask" && p != "defer":
		return fmt.Errorf("permissionDecision is %q", p)
	}
	return nil
}

// hookAnswers are the answers to one event, in order of registration.
type hookAnswers []hookAnswer

// block returns the reason of the first answer that blocks.
func (as hookAnswers) block() (reason string, ok bool) {
	for _, a := range as {
		if a.Decision == "block" {
			return a.Reason, true
		}
	}
	return "", false
}

// contexts are the additionalContext texts.
func (as hookAnswers) contexts() (out []string) {
	for _, a := range as {
		if a.Specific.AdditionalContext != "" {
			out = append(out, a.Specific.AdditionalContext)
		}
	}
	return out
}

func (as hookAnswers) timedOut() bool {
	for _, a := range as {
		if a.timedOut {
			return true
		}
	}
	return false
}

// defaultHookTimeout: 600 s, but a prompt is not held longer than 30 s.
func defaultHookTimeout(event string) time.Duration {
	if event == "UserPromptSubmit" {
		return 30 * time.Second
	}
	return 600 * time.Second
}

// hook calls the host's hooks for an event, one after the other. tool is what
// matchers look at, "" for events without one.
func (t *thread) hook(ctx context.Context, event, tool string, extra obj) hookAnswers {
	var out hookAnswers
	for _, m := range t.s.hooks.of(event, tool) {
		for _, id := range m.CallbackIDs {
			if ctx.Err() != nil {
				return out
			}
			out = append(out, t.callHook(ctx, m, id, event, extra))
		}
	}
	return out
}

var errHookTimeout = errors.New("hook timed out")

func (t *thread) callHook(ctx context.Context, m hookMatcher, id, event string, extra obj) hookAnswer {
	wait := defaultHookTimeout(event)
	if m.Timeout > 0 {
		wait = time.Duration(m.Timeout * float64(time.Second))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errHookTimeout)
	defer cancel()
	request := obj{"subtype": "hook_callback", "callback_id": id, "input": t.hookInput(event, extra), "tool_use_id": newUUID()}
	if use, ok := extra["tool_use_id"]; ok {
		request["tool_use_id"] = use
	}
	body, err := t.s.host.ask(ctx, request)
	var a hookAnswer
	if err == nil && len(body) > 0 {
		if err = json.Unmarshal(body, &a); err == nil {
			err = a.invalid(event)
		}
	}
	switch {
	case err == nil:
		return a
	case errors.Is(err, errHookTimeout):
		return hookAnswer{timedOut: true}
	case errors.Is(err, errStreamClosed) && event == "PreToolUse":
		return hookAnswer{gone: true} // the tool is refused
	}
	if ctx.Err() == nil {
		t.s.emit(obj{"type": "system", "subtype": "informational", "tag": "hook_callback_failed", "level": "warning",
			"content": fmt.Sprintf("%s hook callback failed: %v", event, err)})
		fmt.Fprintf(t.s.stderr, "Error in hook callback %s: %v\n", id, err)
	}
	if m.OnFailure == "block" {
		return hookAnswer{Decision: "block", Reason: "[callback]: failed; blocking because onFailure is \"block\"\n" +
			"Hook callback " + id + " failed: the SDK host replied with an error or an invalid answer."}
	}
	return hookAnswer{}
}

// bareEvents come without permission_mode and effort (observed with CLI 2.1.329).
var bareEvents = []string{"SubagentStart", "PreCompact", "PostCompact", "SessionStart", "SessionEnd"}

// hookInput builds the common input of an event.
func (t *thread) hookInput(event string, extra obj) obj {
	s := t.s
	in := obj{
		"session_id": s.id, "transcript_path": s.main.tr.path, "cwd": s.cwd,
		"hook_event_name": event, "prompt_id": s.promptID(),
	}
	if !slices.Contains(bareEvents, event) {
		in["permission_mode"] = s.perms.currentMode()
		if event != "UserPromptSubmit" {
			in["effort"] = obj{"level": s.effort()}
		}
	}
	if t.sub != nil {
		in["agent_id"], in["agent_type"] = t.sub.id, t.sub.kind
	}
	for k, v := range extra {
		in[k] = v
	}
	return in
}
