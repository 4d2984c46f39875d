package fakecli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"time"
)

// hookMatcher is one registration of `initialize`.
type hookMatcher struct {
	Matcher     string   `json:"matcher"`
	CallbackIDs []string `json:"hookCallbackIds"`
	Timeout     float64  `json:"timeout"` // seconds
	OnFailure   string   `json:"onFailure"`
}

// fits reports whether the registration is for a tool; "" stands for events without one.
func (m hookMatcher) fits(tool string) bool {
	if tool == "" || m.Matcher == "" || m.Matcher == "*" {
		return true
	}
	found, err := regexp.MatchString("^(?:"+m.Matcher+")$", tool)
	return err == nil && found
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

	err error // why there is no answer: errHookTimeout, or errStreamClosed
}

// hookAnswers are the answers to one event, in order of registration.
type hookAnswers []hookAnswer

// block returns the reason of the first answer that blocks. No answer in time blocks, too.
func (as hookAnswers) block() (reason string, ok bool) {
	for _, a := range as {
		if a.Decision == "block" || a.err == errHookTimeout {
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

var errHookTimeout = errors.New("hook timed out")

// hook calls the host's hooks for an event, one after the other. tool is what matchers look
// at, "" for events without one.
func (t *thread) hook(ctx context.Context, event, tool string, extra obj) hookAnswers {
	t.s.mu.Lock()
	matchers := t.s.hooks[event]
	t.s.mu.Unlock()
	var out hookAnswers
	for _, m := range matchers {
		for _, id := range m.CallbackIDs {
			if m.fits(tool) && ctx.Err() == nil {
				out = append(out, t.callHook(ctx, m, id, event, extra))
			}
		}
	}
	return out
}

func (t *thread) callHook(ctx context.Context, m hookMatcher, id, event string, extra obj) hookAnswer {
	wait := 600 * time.Second
	if event == "UserPromptSubmit" {
		wait = 30 * time.Second
	}
	if m.Timeout > 0 {
		wait = time.Duration(m.Timeout * float64(time.Second))
	}
	ctx, cancel := context.WithTimeoutCause(ctx, wait, errHookTimeout)
	defer cancel()
	body, err := t.s.host.ask(ctx, obj{"subtype": "hook_callback", "callback_id": id, "input": t.hookInput(event, extra),
		"tool_use_id": extra["tool_use_id"]})
	var a hookAnswer
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &a)
	}
	switch a.Specific.Permission {
	case "", "allow", "deny", "ask", "defer":
	default:
		err = fmt.Errorf("permissionDecision is %q", a.Specific.Permission)
	}
	switch {
	case err == nil && (a.Specific.Event == "" || a.Specific.Event == event):
		return a
	case errors.Is(err, errHookTimeout) && event != "Stop", errors.Is(err, errStreamClosed) && event == "PreToolUse":
		return hookAnswer{err: err}
	case m.OnFailure == "block":
		return hookAnswer{Decision: "block", Reason: "[callback]: failed; blocking because onFailure is \"block\"\n" +
			"Hook callback " + id + " failed: the SDK host replied with an error or an invalid answer."}
	}
	return hookAnswer{}
}

// hookInput builds the input of an event.
func (t *thread) hookInput(event string, extra obj) obj {
	s := t.s
	in := obj{"session_id": s.id, "transcript_path": s.main.tr.path, "cwd": s.cwd, "hook_event_name": event,
		"permission_mode": s.currentMode()}
	if t.sub != nil {
		in["agent_id"], in["agent_type"] = t.sub.id, t.sub.kind
	}
	maps.Copy(in, extra)
	return in
}

// remember keeps what hooks add for the model until the results of the calls are in.
func (t *thread) remember(event string, texts []string) {
	t.s.mu.Lock()
	defer t.s.mu.Unlock()
	for _, text := range texts {
		t.contexts = append(t.contexts, event+" hook additional context: "+text)
	}
}

// tellContexts adds what hooks said to the conversation.
func (t *thread) tellContexts() {
	t.s.mu.Lock()
	texts := t.contexts
	t.contexts = nil
	t.s.mu.Unlock()
	for _, text := range texts {
		t.systemText("hook_additional_context", text, nil)
	}
}
