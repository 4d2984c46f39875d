package standin

import (
	"context"
	"encoding/json"
	"path/filepath"
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

// compact replaces the conversation by a summary the model writes of it; one that
// sets in by itself keeps the last group as it is. It tells whether it did.
func (t *thread) compact(ctx context.Context, trigger string, filled int) bool {
	s, auto := t.s, trigger == "auto"
	begun := time.Now()
	before := func() {
		s.emit(obj{"type": "system", "subtype": "status", "status": "compacting", "compact_output_chars": 0})
	}
	if !auto {
		before()
	}
	as := t.hook(ctx, "PreCompact", "", obj{"trigger": trigger, "custom_instructions": nil})
	if auto {
		before() // the hooks are asked first then
	}
	fail := func(why string) bool {
		s.emit(obj{"type": "system", "subtype": "status", "status": nil, "compact_result": "failed", "compact_error": why})
		return false
	}
	starts := t.hist.groups()
	partial := auto && len(starts) >= fewestGroups
	switch reason, blocked := as.block(); {
	case blocked && auto:
		s.emit(obj{"type": "system", "subtype": "status", "status": nil})
		return false
	case blocked:
		return fail("Compaction blocked by PreCompact hook: " + reason)
	case auto && !partial && !t.hist.compactedBefore():
		return fail("too_few_groups")
	}
	r := t.request()
	r.messages = append(r.messages, wireMessage{Role: "user", Content: []json.RawMessage{textBlock(summaryRequest)}})
	a, err := s.api.call(ctx, r, silent{})
	if err != nil {
		return fail(err.Error())
	}
	s.ledger.add(r.model, a.usage, false, time.Since(begun))
	said := a.text()
	contexts := t.hookCompacted(ctx, trigger, said)
	s.emit(obj{"type": "system", "subtype": "status", "status": nil, "compact_result": "success"})
	var kept []entry
	if partial {
		kept = t.hist.from(starts[len(starts)-1])
	}
	t.restart(trigger, filled, said, kept, time.Since(begun))
	for _, text := range contexts {
		t.systemText("hook_additional_context", "SessionStart hook additional context: "+text, obj{})
	}
	t.hist.settle()
	return true
}

// hookCompacted tells the hooks of a compaction and returns what the model is to
// read after it.
func (t *thread) hookCompacted(ctx context.Context, trigger, said string) (contexts []string) {
	// The summary is made by an internal agent without a type, which hooks hear of.
	id := "a" + randomHex(8)
	t.hook(ctx, "SubagentStop", "", obj{"agent_id": id, "agent_type": "", "stop_hook_active": false,
		"agent_transcript_path":  filepath.Join(strings.TrimSuffix(t.tr.path, ".jsonl"), "subagents", "agent-"+id+".jsonl"),
		"last_assistant_message": said, "background_tasks": []obj{}, "session_crons": []obj{}})
	as := t.hook(ctx, "SessionStart", "", obj{"source": "compact", "model": t.model()})
	t.hook(ctx, "PostCompact", "", obj{"trigger": trigger, "compact_summary": said})
	return as.contexts()
}

// restart begins the conversation anew from its summary and what is kept of it.
// The lines of that are named, not written again.
func (t *thread) restart(trigger string, filled int, said string, kept []entry, took time.Duration) {
	s := t.s
	if _, rest, ok := strings.Cut(said, "<summary>"); ok {
		said, _, _ = strings.Cut(rest, "</summary>")
	}
	text := "What was said before did not fit any more. Its summary:\n" + strings.TrimSpace(said) +
		"\n\nAll of it is in " + t.tr.path + ". Go on where it left off."
	t.hist.replace(nil)
	boundary, summary := newUUID(), newUUID()
	group := t.tr.lastGroup()
	t.hist.addText("user", text)
	for _, e := range kept {
		t.hist.add(e)
	}
	after := t.hist.size()
	t.dropped += max(0, filled-after)
	data := obj{"trigger": trigger, "preTokens": filled, "postTokens": after, "cumulativeDroppedTokens": t.dropped, "durationMs": took.Milliseconds()}
	shown := obj{"trigger": trigger, "pre_tokens": filled, "post_tokens": after, "cumulative_dropped_tokens": t.dropped,
		"duration_ms": took.Milliseconds()}
	if len(kept) > 0 && len(group) > 0 {
		data["preservedMessages"] = obj{"anchorUuid": summary, "uuids": group}
		shown["preserved_messages"] = obj{"anchor_uuid": summary, "uuids": group}
	}
	t.tr.link(obj{"type": "system", "subtype": "compact_boundary", "content": "Conversation compacted", "uuid": boundary, "level": "info",
		"parentUuid": nil, "logicalParentUuid": nullable(t.tr.last()), "compactMetadata": data})
	s.emit(obj{"type": "system", "subtype": "compact_boundary", "uuid": boundary, "compact_metadata": shown})
	t.tr.link(obj{"type": "user", "uuid": summary, "isCompactSummary": true, "isVisibleInTranscriptOnly": true,
		"promptId": s.promptID(), "message": obj{"role": "user", "content": text}})
	var content any = text
	if trigger == "auto" {
		content = []obj{{"type": "text", "text": text}}
		t.turn.countUser()
	}
	t.emit(obj{"type": "user", "uuid": summary, "timestamp": now(), "isSynthetic": true, "message": obj{"role": "user", "content": content}})
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
// usage with an estimate of what followed it, or its own estimate of prompt and
// tools, whichever is more.
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
		total = max(total, last.context()+s.main.hist.unread())
	} else {
		total += s.main.hist.size() // before the first call, and after a compaction
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
