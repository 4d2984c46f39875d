package standin

import (
	"context"
	"encoding/json"
	"strconv"
	"strings"
	"time"
)

// window is the space the conversation has.
type window struct {
	size   int // compaction window: what get_context_usage calls maxTokens
	auto   bool
	source string
}

// threshold is where compaction sets in.
func (w window) threshold() int { return w.size - compactReserve }

// window reads it from the model, --autocompact and the environment.
func (s *session) window() window {
	w := window{size: modelWindow(s.currentModel(), s.env), auto: true, source: "model-default"}
	set := s.env.number("CLAUDE_CODE_AUTO_COMPACT_WINDOW", 0)
	if n, err := strconv.Atoi(s.flags.get("--autocompact")); err == nil {
		set = n
	}
	if set >= 100_000 && set < w.size {
		w.size, w.source = set, "override"
	}
	var settings struct {
		Auto *bool `json:"autoCompactEnabled"`
	}
	_ = json.Unmarshal([]byte(s.flags.get("--settings")), &settings) // a file name leaves the default
	if s.env.on("DISABLE_AUTO_COMPACT") || s.env.on("DISABLE_COMPACT") || settings.Auto != nil && !*settings.Auto {
		w.auto = false
	}
	return w
}

const summaryRequest = "CRITICAL: Respond with TEXT ONLY. Do NOT call any tools.\n\n" +
	"Sum the conversation up, inside a <summary> block, for one who will know nothing else of it."

// compact replaces the conversation by a summary the model writes of it. It tells
// whether it did.
func (t *thread) compact(ctx context.Context, trigger string, filled int) bool {
	s := t.s
	begun := time.Now()
	s.emit(obj{"type": "system", "subtype": "status", "status": "compacting"})
	as := t.hook(ctx, "PreCompact", "", obj{"trigger": trigger, "custom_instructions": nil})
	fail := func(why string) bool {
		s.emit(obj{"type": "system", "subtype": "status", "status": nil, "compact_result": "failed", "compact_error": why})
		return false
	}
	if reason, ok := as.block(); ok {
		return fail("Compaction blocked by PreCompact hook: " + reason)
	}
	r := t.request()
	r.messages = append(r.messages, wireMessage{Role: "user", Content: []json.RawMessage{textBlock(summaryRequest)}})
	a, err := s.api.call(ctx, r, silent{})
	if err != nil {
		return fail(err.Error())
	}
	s.ledger.add(r.model, a.usage, false, time.Since(begun))
	said := a.text()
	// The summary is made by an internal agent without a type, which hooks hear of.
	t.hook(ctx, "SubagentStop", "", obj{"agent_id": "a" + randomHex(8), "agent_type": "", "stop_hook_active": false,
		"last_assistant_message": said, "background_tasks": []obj{}, "session_crons": []obj{}})
	t.hook(ctx, "SessionStart", "", obj{"source": "compact"})
	t.hook(ctx, "PostCompact", "", obj{"trigger": trigger, "compact_summary": said})
	s.emit(obj{"type": "system", "subtype": "status", "status": nil, "compact_result": "success"})
	t.restart(trigger, filled, said, time.Since(begun))
	return true
}

// restart begins the conversation anew from its summary.
func (t *thread) restart(trigger string, filled int, said string, took time.Duration) {
	s := t.s
	if _, rest, ok := strings.Cut(said, "<summary>"); ok {
		said, _, _ = strings.Cut(rest, "</summary>")
	}
	text := "What was said before did not fit any more. Its summary:\n" + strings.TrimSpace(said) +
		"\n\nAll of it is in " + t.tr.path + ". Go on where it left off."
	before := t.hist.size()
	t.hist.replace(nil)
	boundary := newUUID()
	line := obj{"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": boundary, "level": "info",
		"parentUuid": nil, "compactMetadata": obj{"trigger": trigger, "preTokens": filled, "durationMs": took.Milliseconds()}}
	line["logicalParentUuid"] = nullable(t.tr.last())
	t.tr.link(line)
	t.hist.addText("user", text)
	after := t.hist.size()
	s.emit(obj{"type": "system", "subtype": "compact_boundary", "uuid": boundary, "compact_metadata": obj{
		"trigger": trigger, "pre_tokens": filled, "post_tokens": after, "cumulative_dropped_tokens": max(0, before-after),
		"duration_ms": took.Milliseconds()}})
	id := newUUID()
	t.tr.link(obj{"type": "user", "uuid": id, "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
		"promptId": s.promptID(), "message": obj{"role": "user", "content": text}})
	t.emit(obj{"type": "user", "uuid": id, "timestamp": now(), "isSynthetic": true, "message": obj{"role": "user", "content": text}})
	t.environment()
	s.ledger.forgetContext()
}

// silent is a sink for calls outside the conversation.
type silent struct{}

func (silent) opened(*answer)                              {}
func (silent) block(json.RawMessage)                       {}
func (silent) event(json.RawMessage)                       {}
func (silent) partial(json.RawMessage)                     {}
func (silent) retrying(int, int, time.Duration, *apiError) {}

// contextUsage is the answer to get_context_usage. The CLI says the last call's
// usage or its own estimate of prompt and conversation, whichever is more.
func (s *session) contextUsage() obj {
	w := s.window()
	prompt, tools := 0, 0
	for _, b := range s.system(nil) {
		prompt += len(b) / 4
	}
	for _, t := range s.main.toolset() {
		tools += (len(t.InputSchema) + len(t.Description)) / 4
	}
	total := prompt + tools
	var api any
	if last := s.ledger.last(); last != nil {
		api = last
		total = max(total, last.context())
	}
	category := func(id, name, kind string, n int) obj {
		return obj{"id": id, "name": name, "tokens": n, "color": "inactive", "kind": kind}
	}
	cats := []obj{
		category("system_prompt", "System prompt", "used", prompt), category("system_tools", "System tools", "used", tools),
		category("messages", "Messages", "used", max(0, total-prompt-tools)),
	}
	free := w.size - total
	if w.auto {
		cats = append(cats, category("autocompact_buffer", "Autocompact buffer", "buffer", compactReserve))
		free -= compactReserve
	}
	cats = append(cats, category("free_space", "Free space", "free", max(0, free)))
	out := obj{
		"categories": cats, "totalTokens": total, "maxTokens": w.size, "rawMaxTokens": w.size,
		"autocompactSource": w.source, "percentage": (100*total + w.size/2) / w.size, "gridRows": []obj{},
		"model": s.currentModel(), "memoryFiles": []obj{}, "mcpTools": []obj{}, "agents": []obj{},
		"isAutoCompactEnabled": w.auto, "apiUsage": api,
	}
	if w.auto {
		out["autoCompactThreshold"] = w.threshold()
	}
	return out
}
