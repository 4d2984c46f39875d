package claude

import (
	"bytes"
	"encoding/json"
	"fmt"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript"
)

// frame is the sealed union of what the CLI writes on stdout.
type frame interface{ isFrame() }

// synthetic is the model name of assistant frames the CLI made up itself.
const synthetic = "<synthetic>"

type (
	// initFrame comes at the start of every turn.
	initFrame struct{ SessionID string }
	// assistantFrame carries one content block of an API message.
	assistantFrame struct {
		MessageID, Model string
		Parent           string // tool use id of the subagent's Agent call
		Usage            *bridge.Usage
		Blocks           []block
		ErrorKind        string // synthetic frames: authentication_failed, rate_limit …
		APIStatus        int
	}
	// userFrame is a tool result, a replayed or a synthetic message.
	userFrame struct {
		UUID, Parent string
		Replay       bool
		Blocks       []block
		Denied       []string        // tool use ids of calls that were not permitted
		Result       json.RawMessage // tool_use_result of the one block, if it is a small object
	}
	resultFrame struct {
		Subtype, TerminalReason, StopReason string
		IsError                             bool
		Text                                string
		Errors                              []string
		APIStatus                           int
		Verdict                             json.RawMessage // structured_output, nil if absent
		MessageUUIDs                        []string
		Origin                              json.RawMessage // set if no message of this driver began the turn
		Usage                               bridge.Usage
		TotalCost                           float64
		ModelUsage, SinceLast               map[string]modelUsage
		NumTurns                            int
		NoTurn                              bool // num_turns is stated as 0: the model was asked nothing
		DurationMS                          int64
		SessionID                           string
	}
	// lifecycleFrame reports the delivery status of a message: queued, started, completed, cancelled.
	lifecycleFrame struct{ UUID, State, SessionID string }
	// stateFrame reports what the session does: running, requires_action, idle.
	stateFrame struct{ State string }
	// streamFrame is a piece of an API stream (--include-partial-messages).
	streamFrame struct {
		Parent, Event, BlockType, BlockName string
		Index                               int
		Text, JSON                          string
	}
	controlRequest struct {
		ID, Subtype string
		Request     object
	}
	controlResponse struct {
		ID, Error, ErrorCode string
		Response             json.RawMessage
	}
	// controlCancel withdraws a request of the CLI.
	controlCancel struct{ ID string }
	apiRetry      struct {
		Attempt, Max, Status int
		DelayMS              int64
		Reason               string
	}
	taskStarted struct{ TaskType, ToolUse, Description, AgentType string }
	// taskProgress reports what a task has used so far. Tokens are those of its own context.
	taskProgress struct {
		ToolUse, LastTool string
		Tokens, ToolUses  int
		DurationMS        int64
	}
	taskEnded struct {
		ToolUse, Status string
		Tokens          int
	}
	compactBoundary struct {
		Trigger   string
		Pre, Post int
	}
	compactFailed  struct{ Reason string }
	rateLimitEvent struct {
		Status   string
		ResetsAt int64
		Windows  []bridge.Quota // by name
	}
	// writesLost says, as the CLI ends, that a full disk or quota kept it from writing.
	writesLost struct {
		Why  string // ENOSPC, EDQUOT
		Lost []string
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

func (initFrame) isFrame()       {}
func (assistantFrame) isFrame()  {}
func (userFrame) isFrame()       {}
func (resultFrame) isFrame()     {}
func (lifecycleFrame) isFrame()  {}
func (stateFrame) isFrame()      {}
func (streamFrame) isFrame()     {}
func (controlRequest) isFrame()  {}
func (controlResponse) isFrame() {}
func (controlCancel) isFrame()   {}
func (apiRetry) isFrame()        {}
func (taskStarted) isFrame()     {}
func (taskProgress) isFrame()    {}
func (taskEnded) isFrame()       {}
func (compactBoundary) isFrame() {}
func (compactFailed) isFrame()   {}
func (rateLimitEvent) isFrame()  {}
func (writesLost) isFrame()      {}
func (quiet) isFrame()           {}
func (Unknown) isFrame()         {}

// decode reads one line. It fails only if the line is not a JSON object; an object it cannot read is
// Unknown. The frame does not refer to line.
func decode(line []byte) (frame, error) {
	obj, err := split(line)
	if err != nil {
		return nil, fmt.Errorf("decode frame: %w", err)
	}
	r := &fieldReader{obj: obj}
	kind := r.str("type")
	f := decodeKind(kind, r)
	if r.err == nil && f != nil {
		return f, nil
	}
	u := Unknown{Type: kind, Raw: bytes.Clone(line), Err: r.err}
	rest := &fieldReader{obj: r.obj}
	u.Subtype, u.RequestID = rest.str("subtype"), rest.str("request_id")
	return u, nil
}

func decodeKind(kind string, r *fieldReader) frame {
	switch kind {
	case "assistant":
		return decodeAssistant(r)
	case "user":
		return decodeUser(r)
	case "result":
		return decodeResult(r)
	case "stream_event":
		return decodeStream(r)
	case "system":
		return decodeSystem(r.str("subtype"), r)
	case "command_lifecycle":
		return lifecycleFrame{UUID: r.str("command_uuid"), State: r.str("state"), SessionID: r.str("session_id")}
	case "control_request":
		req := r.object("request")
		f := controlRequest{ID: r.str("request_id"), Subtype: req.str("subtype"), Request: req.obj}
		r.join(req)
		return f
	case "control_response":
		res := r.object("response")
		f := controlResponse{ID: res.str("request_id"), ErrorCode: res.str("error_code"), Response: res.raw("response")}
		if res.str("subtype") != "success" {
			if f.Error = res.str("error"); f.Error == "" {
				f.Error = "no reason given"
			}
		}
		r.join(res)
		return f
	case "control_cancel_request":
		return controlCancel{ID: r.str("request_id")}
	case "rate_limit_event":
		info := r.object("rate_limit_info")
		f := rateLimitEvent{Status: info.str("status"), ResetsAt: int64(info.number("resetsAt")), Windows: quotas(info)}
		r.join(info)
		return f
	case "tool_progress", "keep_alive", "conversation_reset", "tool_use_summary", "prompt_suggestion":
		return quiet{} // tool_progress: its parent_tool_use_id is the tool itself, no subagent
	default:
		return nil
	}
}

func decodeSystem(subtype string, r *fieldReader) frame {
	switch subtype {
	case "init":
		return initFrame{SessionID: r.str("session_id")}
	case "api_retry":
		return apiRetry{Attempt: r.integer("attempt"), Max: r.integer("max_retries"), Status: r.integer("error_status"),
			DelayMS: int64(r.number("retry_delay_ms")), Reason: r.str("error")}
	case "task_started":
		return taskStarted{TaskType: r.str("task_type"), ToolUse: r.str("tool_use_id"),
			Description: r.str("description"), AgentType: r.str("subagent_type")}
	case "task_progress":
		usage := r.object("usage")
		f := taskProgress{ToolUse: r.str("tool_use_id"), LastTool: r.str("last_tool_name"),
			Tokens: usage.integer("total_tokens"), ToolUses: usage.integer("tool_uses"),
			DurationMS: int64(usage.number("duration_ms"))}
		r.join(usage)
		return f
	case "task_notification":
		usage := r.object("usage")
		f := taskEnded{ToolUse: r.str("tool_use_id"), Status: r.str("status"), Tokens: usage.integer("total_tokens")}
		r.join(usage)
		return f
	case "compact_boundary":
		meta := r.object("compact_metadata")
		f := compactBoundary{Trigger: meta.str("trigger"), Pre: meta.integer("pre_tokens"),
			Post: meta.integer("post_tokens")}
		r.join(meta)
		return f
	case "status":
		if r.str("compact_result") == "failed" {
			return compactFailed{Reason: r.str("compact_error")}
		}
		return quiet{}
	case "session_writes_lost":
		return writesLost{Why: r.str("error_code"), Lost: r.strings("lost")}
	case "session_state_changed":
		return stateFrame{State: r.str("state")}
	case "task_updated", "background_tasks_changed", "informational",
		"thinking_tokens", "permission_denied", "control_request_progress", "model_refusal_no_fallback",
		"hook_started", "hook_response", "hook_progress", "notification", "local_command_output":
		return quiet{}
	default:
		return nil
	}
}

func decodeAssistant(r *fieldReader) frame {
	m := r.object("message")
	f := assistantFrame{MessageID: m.str("id"), Model: m.str("model"), Parent: r.str("parent_tool_use_id"),
		ErrorKind: r.str("error"), APIStatus: r.integer("api_error_status")}
	f.Usage, f.Blocks = m.usage("usage"), m.blocks("content")
	r.join(m)
	return f
}

func decodeUser(r *fieldReader) frame {
	f := userFrame{UUID: r.str("uuid"), Parent: r.str("parent_tool_use_id"), Replay: r.boolean("isReplay")}
	m := r.object("message")
	// A plain string is a message; only blocks hold tool results.
	if raw := m.obj["content"]; len(raw) > 0 && raw[0] == '[' {
		f.Blocks = m.blocks("content")
		r.outcomes(&f)
	}
	r.join(m)
	return f
}

// maxToolResult bounds what is kept of a tool_use_result: a list of tasks is smaller, a
// file that was written may not be.
const maxToolResult = 256 << 10

// outcomes reads what the frame says about results in addition to the text for the model.
func (r *fieldReader) outcomes(f *userFrame) {
	var metas []struct {
		ID       string `json:"id"`
		Decision struct {
			Decision string `json:"decision"`
		} `json:"permission_decision"`
	}
	r.into("tool_result_meta", &metas)
	for _, meta := range metas {
		if meta.Decision.Decision == "reject" {
			f.Denied = append(f.Denied, meta.ID)
		}
	}
	if raw := r.obj["tool_use_result"]; len(f.Blocks) == 1 && len(raw) > 0 && len(raw) <= maxToolResult &&
		raw[0] == '{' {
		f.Result = r.raw("tool_use_result")
	}
}

func decodeResult(r *fieldReader) frame {
	f := resultFrame{
		Subtype: r.str("subtype"), TerminalReason: r.str("terminal_reason"), StopReason: r.str("stop_reason"),
		IsError: r.boolean("is_error"), Text: r.str("result"), Errors: r.strings("errors"),
		APIStatus: r.integer("api_error_status"), MessageUUIDs: r.strings("user_message_uuids"),
		TotalCost: r.number("total_cost_usd"), NumTurns: r.integer("num_turns"),
		DurationMS: int64(r.number("duration_ms")), SessionID: r.str("session_id"),
	}
	f.Verdict, f.Origin = r.raw("structured_output"), r.raw("origin")
	f.NoTurn = len(r.obj["num_turns"]) > 0 && f.NumTurns == 0
	if usage := r.usage("usage"); usage != nil {
		f.Usage = *usage
	}
	r.into("modelUsage", &f.ModelUsage)
	r.into("model_usage_since_last_result", &f.SinceLast)
	return f
}

func decodeStream(r *fieldReader) frame {
	ev := r.object("event")
	f := streamFrame{Parent: r.str("parent_tool_use_id"), Event: ev.str("type"), Index: ev.integer("index")}
	switch f.Event {
	case "content_block_start":
		b := ev.object("content_block")
		f.BlockType, f.BlockName = b.str("type"), b.str("name")
		ev.join(b)
	case "content_block_delta":
		d := ev.object("delta")
		f.Text, f.JSON = d.str("text"), d.str("partial_json")
		ev.join(d)
	}
	r.join(ev)
	return f
}
