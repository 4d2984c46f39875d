package claude

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"sync"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// frame is one of the types below: what the CLI writes on stdout. Tags are the paths of members.
type frame any

// synthetic is the model name of assistant frames the CLI made up itself.
const synthetic = "<synthetic>"

type (
	// initFrame comes at the start of every turn.
	initFrame struct {
		SessionID string `wire:"session_id"`
	}
	// assistantFrame carries one content block of an API message.
	assistantFrame struct {
		MessageID string       `wire:"message.id"`
		Model     string       `wire:"message.model"`
		Parent    string       `wire:"parent_tool_use_id"` // tool use id of the subagent's Agent call
		Usage     bridge.Usage `wire:"message.usage"`
		Blocks    []block      `wire:"message.content"`
		ErrorKind string       `wire:"error"` // synthetic frames: authentication_failed, rate_limit …
		APIStatus int          `wire:"api_error_status"`
	}
	// userFrame is a tool result, a replayed or a synthetic message.
	userFrame struct {
		UUID   string          `wire:"uuid"`
		Parent string          `wire:"parent_tool_use_id"`
		Replay bool            `wire:"isReplay"`
		Blocks []block         // only of tool results: a plain string is a message
		Denied []string        // tool use ids of calls that were not permitted
		Result json.RawMessage // tool_use_result of the one block, if it is a small object
	}
	resultFrame struct {
		Subtype        string                `wire:"subtype"`
		TerminalReason string                `wire:"terminal_reason"`
		StopReason     string                `wire:"stop_reason"`
		IsError        bool                  `wire:"is_error"`
		Text           string                `wire:"result"`
		Errors         []string              `wire:"errors"`
		APIStatus      int                   `wire:"api_error_status"`
		Verdict        json.RawMessage       `wire:"structured_output"` // nil if absent
		MessageUUIDs   []string              `wire:"user_message_uuids"`
		Origin         json.RawMessage       `wire:"origin"` // set if no message of this driver began the turn
		Usage          bridge.Usage          `wire:"usage"`
		TotalCost      float64               `wire:"total_cost_usd"`
		ModelUsage     map[string]modelUsage `wire:"modelUsage"`
		SinceLast      map[string]modelUsage `wire:"model_usage_since_last_result"`
		NumTurns       int                   `wire:"num_turns"`
		NoTurn         bool                  // num_turns is stated as 0: the model was asked nothing
		DurationMS     int64                 `wire:"duration_ms"`
		SessionID      string                `wire:"session_id"`
	}
	// lifecycleFrame reports the delivery status of a message: queued, started, completed, cancelled.
	lifecycleFrame struct {
		UUID      string `wire:"command_uuid"`
		State     string `wire:"state"`
		SessionID string `wire:"session_id"`
	}
	// stateFrame reports what the session does: running, requires_action, idle.
	stateFrame struct {
		State string `wire:"state"`
	}
	// streamFrame is a piece of an API stream (--include-partial-messages).
	streamFrame struct {
		Parent    string `wire:"parent_tool_use_id"`
		Event     string `wire:"event.type"`
		BlockType string `wire:"event.content_block.type"`
		BlockName string `wire:"event.content_block.name"`
		Index     int    `wire:"event.index"`
		Text      string `wire:"event.delta.text"`
		JSON      string `wire:"event.delta.partial_json"`
	}
	controlRequest struct {
		ID      string `wire:"request_id"`
		Subtype string `wire:"request.subtype"`
		Request object `wire:"request"`
	}
	controlResponse struct {
		ID        string          `wire:"response.request_id"`
		Error     string          `wire:"response.error"`
		ErrorCode string          `wire:"response.error_code"`
		Response  json.RawMessage `wire:"response.response"`
	}
	// controlCancel withdraws a request of the CLI.
	controlCancel struct {
		ID string `wire:"request_id"`
	}
	apiRetry struct {
		Attempt int    `wire:"attempt"`
		Max     int    `wire:"max_retries"`
		Status  int    `wire:"error_status"`
		DelayMS int64  `wire:"retry_delay_ms"`
		Reason  string `wire:"error"`
	}
	taskStarted struct {
		TaskType    string `wire:"task_type"`
		ToolUse     string `wire:"tool_use_id"`
		Description string `wire:"description"`
		AgentType   string `wire:"subagent_type"`
	}
	// taskProgress reports what a task has used so far. Tokens are those of its own context.
	taskProgress struct {
		ToolUse    string `wire:"tool_use_id"`
		LastTool   string `wire:"last_tool_name"`
		Tokens     int    `wire:"usage.total_tokens"`
		ToolUses   int    `wire:"usage.tool_uses"`
		DurationMS int64  `wire:"usage.duration_ms"`
	}
	taskEnded struct {
		ToolUse string `wire:"tool_use_id"`
		Status  string `wire:"status"`
		Tokens  int    `wire:"usage.total_tokens"`
	}
	compactBoundary struct {
		UUID    string `wire:"uuid"` // its transcript line has the same
		Trigger string `wire:"compact_metadata.trigger"`
		Pre     int    `wire:"compact_metadata.pre_tokens"`
		Post    int    `wire:"compact_metadata.post_tokens"`
	}
	compactFailed struct {
		Reason string `wire:"compact_error"`
	}
	rateLimitEvent struct {
		Status   string         `wire:"rate_limit_info.status"`
		ResetsAt int64          `wire:"rate_limit_info.resetsAt"`
		Windows  []bridge.Quota // by name
	}
	// writesLost says, as the CLI ends, that a full disk or quota kept it from writing.
	writesLost struct {
		Why  string   `wire:"error_code"` // ENOSPC, EDQUOT
		Lost []string `wire:"lost"`
	}
	// quiet frames are known and need no handling.
	quiet struct{}
	// Unknown is a frame that this version does not know, or cannot read (Err).
	Unknown struct {
		Type, Subtype, RequestID string
		Raw                      json.RawMessage
		Err                      error
	}
)

// block is a content block of a message, as in the transcript.
type block = transcript.Block

// frames has a value of each frame's type, by the frame's type and, of system, its subtype.
var frames = sync.OnceValue(func() map[string]frame {
	known := map[string]frame{
		"assistant": assistantFrame{}, "user": userFrame{}, "result": resultFrame{}, "stream_event": streamFrame{},
		"command_lifecycle": lifecycleFrame{}, "control_request": controlRequest{}, "control_response": controlResponse{},
		"control_cancel_request": controlCancel{}, "rate_limit_event": rateLimitEvent{},
		"system init": initFrame{}, "system api_retry": apiRetry{}, "system task_started": taskStarted{},
		"system task_progress": taskProgress{}, "system task_notification": taskEnded{},
		"system compact_boundary": compactBoundary{}, "system status": compactFailed{},
		"system session_writes_lost": writesLost{}, "system session_state_changed": stateFrame{},
	}
	for _, name := range []string{"keep_alive", "conversation_reset", "tool_use_summary", "prompt_suggestion",
		"tool_progress", // its parent_tool_use_id is the tool itself, no subagent
		"system task_updated", "system background_tasks_changed", "system informational", "system thinking_tokens",
		"system permission_denied", "system control_request_progress", "system model_refusal_no_fallback",
		"system hook_started", "system hook_response", "system hook_progress", "system notification",
		"system local_command_output"} {
		known[name] = quiet{}
	}
	return known
})

// decode reads one line. It fails only if the line is not a JSON object; an object it cannot read is
// Unknown. The frame does not refer to line.
func decode(line []byte) (frame, error) {
	obj, err := split(line)
	if err != nil {
		return nil, fmt.Errorf("decode frame: %w", err)
	}
	r := &fieldReader{obj: obj}
	name, u := r.str("type"), Unknown{}
	u.Type = name
	if name == "system" {
		name += " " + r.str("subtype")
	}
	if kind := frames()[name]; kind != nil {
		f := reflect.New(reflect.TypeOf(kind))
		r.fill(f.Elem())
		if f := r.complete(f.Interface()); r.err == nil {
			return f, nil
		}
	}
	u.Raw, u.Err = bytes.Clone(line), r.err
	rest := &fieldReader{obj: obj}
	u.Subtype, u.RequestID = rest.str("subtype"), rest.str("request_id")
	return u, nil
}

// complete reads what is not the value of one member.
func (r *fieldReader) complete(f any) frame {
	switch f := f.(type) {
	case *userFrame:
		r.outcomes(f)
	case *resultFrame:
		f.NoTurn = len(r.obj["num_turns"]) > 0 && f.NumTurns == 0
	case *controlResponse:
		if r.str("response.subtype") == "success" {
			f.Error = ""
		} else {
			f.Error = cmp.Or(f.Error, "no reason given")
		}
	case *compactFailed:
		if r.str("compact_result") != "failed" {
			return quiet{}
		}
	case *rateLimitEvent:
		f.Windows = r.quotas()
	}
	return reflect.ValueOf(f).Elem().Interface()
}

// maxToolResult bounds what is kept of a tool_use_result: a list of tasks is smaller, a
// file that was written may not be.
const maxToolResult = 256 << 10

// outcomes reads the blocks of a user frame, and what it says about results in addition to the text for the model.
func (r *fieldReader) outcomes(f *userFrame) {
	if raw := r.raw("message.content"); len(raw) == 0 || raw[0] != '[' {
		return
	}
	r.into("message.content", &f.Blocks)
	var metas []struct {
		ID       string `wire:"id"`
		Decision string `wire:"permission_decision.decision"`
	}
	r.into("tool_result_meta", &metas)
	for _, meta := range metas {
		if meta.Decision == "reject" {
			f.Denied = append(f.Denied, meta.ID)
		}
	}
	if raw := r.raw("tool_use_result"); len(f.Blocks) == 1 && len(raw) > 0 && len(raw) <= maxToolResult && raw[0] == '{' {
		f.Result = raw
	}
}

// quotas reads, by name, how much of the plan's usage windows is used. The CLI reports it with a login, not
// with an API key: each window under its name, and separately a window that is nearly used up (observed
// with CLI 2.1.329).
func (r *fieldReader) quotas() (list []bridge.Quota) {
	type window struct {
		Name  string   `wire:"rateLimitType"`
		Used  *float64 `wire:"utilization"`
		Reset int64    `wire:"resetsAt"`
	}
	add := func(name string, w window) {
		if w.Used != nil && name != "" {
			list = append(list, bridge.Quota{Window: name, UsedPct: math.Round(*w.Used*1e4) / 100,
				ResetsAt: unixSeconds(w.Reset)})
		}
	}
	var windows object
	r.into("rate_limit_info.unifiedWindows", &windows)
	for _, name := range slices.Sorted(maps.Keys(windows)) {
		var w window
		r.into("rate_limit_info.unifiedWindows."+name, &w)
		add(name, w)
	}
	var nearest window
	if r.into("rate_limit_info", &nearest); len(list) == 0 {
		add(nearest.Name, nearest)
	}
	return list
}
