package fakecli

import (
	"cmp"
	"context"
	"encoding/json"
	"maps"
	"slices"
	"strings"
	"time"
)

// hookMatcher is one registration of `initialize`.
type hookMatcher struct {
	Matcher     string   `json:"matcher"` // names of tools, separated by |
	CallbackIDs []string `json:"hookCallbackIds"`
	Timeout     float64  `json:"timeout"` // seconds
}

// fits reports whether the registration is for a tool; "" stands for events without one.
func (m hookMatcher) fits(tool string) bool {
	return tool == "" || m.Matcher == "" || m.Matcher == "*" || slices.Contains(strings.Split(m.Matcher, "|"), tool)
}

// hookAnswer is what a host's hook may say.
type hookAnswer struct {
	Specific struct {
		Permission        string `json:"permissionDecision"`
		PermissionReason  string `json:"permissionDecisionReason"`
		AdditionalContext string `json:"additionalContext"`
	} `json:"hookSpecificOutput"`

	err error // why there is no answer
}

// hookAnswers are the answers to one event, in order of registration.
type hookAnswers []hookAnswer

// contexts are the additionalContext texts.
func (as hookAnswers) contexts() (out []string) {
	for _, a := range as {
		if a.Specific.AdditionalContext != "" {
			out = append(out, a.Specific.AdditionalContext)
		}
	}
	return out
}

// hook calls the host's hooks for an event, one after the other. tool is what matchers look
// at, "" for events without one.
func (t *thread) hook(ctx context.Context, event, tool string, extra obj) hookAnswers {
	var out hookAnswers
	for _, m := range guarded(t.s, &t.s.hooks)[event] {
		for _, id := range m.CallbackIDs {
			if m.fits(tool) && ctx.Err() == nil {
				out = append(out, t.callHook(ctx, m, id, event, extra))
			}
		}
	}
	return out
}

func (t *thread) callHook(ctx context.Context, m hookMatcher, id, event string, extra obj) (a hookAnswer) {
	s := t.s
	ctx, cancel := context.WithTimeout(ctx, time.Duration(cmp.Or(m.Timeout, 600)*float64(time.Second)))
	defer cancel()
	in := obj{"session_id": s.id, "transcript_path": s.main.tr.path, "cwd": s.cwd, "hook_event_name": event,
		"permission_mode": guarded(s, &s.mode)}
	if t.sub != nil {
		in["agent_id"], in["agent_type"] = t.sub.id, t.sub.kind
	}
	maps.Copy(in, extra)
	body, err := s.host.ask(ctx, obj{"subtype": "hook_callback", "callback_id": id, "input": in,
		"tool_use_id": extra["tool_use_id"]}, s.host.withdraw)
	if err == nil && len(body) > 0 {
		err = json.Unmarshal(body, &a)
	}
	a.err = err
	return a
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
