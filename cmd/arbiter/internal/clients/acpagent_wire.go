package clients

import "encoding/json"

// The methods, with their names in the protocol.
const (
	methodInitialize   = "initialize"
	methodAuthenticate = "authenticate"
	methodNew          = "session/new"
	methodLoad         = "session/load"
	methodResume       = "session/resume"
	methodList         = "session/list"
	methodClose        = "session/close"
	methodPrompt       = "session/prompt"
	methodCancel       = "session/cancel"
	methodSetMode      = "session/set_mode"
	methodSetOption    = "session/set_config_option"

	methodUpdate        = "session/update"
	methodPermission    = "session/request_permission"
	methodElicit        = "elicitation/create"
	methodCancelRequest = "$/cancel_request"
)

// Error codes, in addition to those of JSON-RPC.
const (
	codeAuthRequired = -32000
	codeNotFound     = -32002
)

// Stop reasons of a prompt.
const (
	stopEndTurn   = "end_turn"
	stopLimit     = "max_turn_requests"
	stopCancelled = "cancelled"
)

type (
	empty struct{}

	implementation struct {
		Name    string `json:"name"`
		Title   string `json:"title,omitempty"`
		Version string `json:"version"`
	}
	initializeParams struct {
		ClientCapabilities struct {
			Auth struct {
				Terminal bool `json:"terminal"`
			} `json:"auth"`
			Elicitation *struct {
				Form *empty `json:"form"`
			} `json:"elicitation"`
			Session *struct {
				Compaction *empty `json:"compaction"`
				Notices    *empty `json:"notices"`
			} `json:"session"`
			Subagents *empty `json:"subagents"`
		} `json:"clientCapabilities"`
	}
	initializeResult struct {
		ProtocolVersion   int               `json:"protocolVersion"`
		AgentInfo         implementation    `json:"agentInfo"`
		AgentCapabilities agentCapabilities `json:"agentCapabilities"`
		AuthMethods       []authMethod      `json:"authMethods"`
	}
	agentCapabilities struct {
		LoadSession         bool                `json:"loadSession"`
		PromptCapabilities  promptCapabilities  `json:"promptCapabilities"`
		SessionCapabilities sessionCapabilities `json:"sessionCapabilities"`
	}
	promptCapabilities struct {
		Image           bool `json:"image"`
		Audio           bool `json:"audio"`
		EmbeddedContext bool `json:"embeddedContext"`
	}
	sessionCapabilities struct {
		List   empty `json:"list"`
		Resume empty `json:"resume"`
		Close  empty `json:"close"`
	}
	authMethod struct {
		Type        string   `json:"type"`
		ID          string   `json:"id"`
		Name        string   `json:"name"`
		Description string   `json:"description,omitempty"`
		Args        []string `json:"args,omitempty"`
	}

	// sessionParams has the parameters of all methods that name a session or a directory.
	sessionParams struct {
		SessionID  string            `json:"sessionId"`
		CWD        string            `json:"cwd"`
		MCPServers []json.RawMessage `json:"mcpServers"`
		ModeID     string            `json:"modeId"`
		ConfigID   string            `json:"configId"`
		Value      json.RawMessage   `json:"value"`
		Cursor     string            `json:"cursor"`
		Prompt     []contentBlock    `json:"prompt"`
	}
	sessionResult struct {
		SessionID     string         `json:"sessionId,omitempty"`
		Modes         *modeState     `json:"modes,omitempty"`
		ConfigOptions []configOption `json:"configOptions,omitempty"`
	}
	modeState struct {
		CurrentModeID  string `json:"currentModeId"`
		AvailableModes []mode `json:"availableModes"`
	}
	mode struct {
		ID          string `json:"id"`
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	configOption struct {
		Type         string        `json:"type"`
		ID           string        `json:"id"`
		Name         string        `json:"name"`
		Description  string        `json:"description,omitempty"`
		Category     string        `json:"category"`
		CurrentValue string        `json:"currentValue"`
		Options      []configValue `json:"options"`
	}
	configValue struct {
		Value       string `json:"value"`
		Name        string `json:"name"`
		Description string `json:"description"`
	}
	listResult struct {
		Sessions   []sessionInfo `json:"sessions"`
		NextCursor string        `json:"nextCursor,omitempty"`
	}
	sessionInfo struct {
		SessionID string `json:"sessionId"`
		CWD       string `json:"cwd"`
		Title     string `json:"title,omitempty"`
		UpdatedAt string `json:"updatedAt,omitempty"`
	}
	promptResult struct {
		StopReason string `json:"stopReason"`
	}
	cancelRequestParams struct {
		RequestID json.RawMessage `json:"requestId"`
	}

	permissionParams struct {
		SessionID string             `json:"sessionId"`
		ToolCall  toolCall           `json:"toolCall"`
		Options   []permissionOption `json:"options"`
	}
	permissionOption struct {
		OptionID string `json:"optionId"`
		Name     string `json:"name"`
		Kind     string `json:"kind"`
	}
	permissionResult struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
	elicitParams struct {
		Mode            string       `json:"mode"`
		SessionID       string       `json:"sessionId"`
		Message         string       `json:"message"`
		RequestedSchema elicitSchema `json:"requestedSchema"`
	}
	elicitSchema struct {
		Type       string                 `json:"type"`
		Properties map[string]elicitField `json:"properties"`
		Required   []string               `json:"required"`
	}
	elicitField struct {
		Type  string   `json:"type"`
		Title string   `json:"title"`
		Enum  []string `json:"enum,omitempty"`
	}
	elicitResult struct {
		Action  string `json:"action"`
		Content struct {
			Answer string `json:"answer"`
		} `json:"content"`
	}
)

// Kinds of updates.
const (
	userChunk      = "user_message_chunk"
	agentChunk     = "agent_message_chunk"
	thoughtChunk   = "agent_thought_chunk"
	toolStarted    = "tool_call"
	toolChanged    = "tool_call_update"
	planned        = "plan"
	usageChanged   = "usage_update"
	infoChanged    = "session_info_update"
	modeChanged    = "current_mode_update"
	optionsChanged = "config_option_update"
	noticed        = "notice"
	compacted      = "compaction_update"
	subagent       = "subagent_update"
	sessionMessage = "session_message"
)

// Statuses of a tool call or of a plan's entry.
const (
	pending    = "pending"
	inProgress = "in_progress"
	completed  = "completed"
	failed     = "failed"
)

// frame is an update of a session: the session of the run or of one of its Orchestrators.
type frame struct {
	SessionID string `json:"sessionId"`
	Update    any    `json:"update"`
}

type (
	// contentBlock is a part of a prompt or of a message.
	contentBlock struct {
		Type     string    `json:"type"`
		Text     string    `json:"text,omitempty"`
		URI      string    `json:"uri,omitempty"`
		Name     string    `json:"name,omitempty"`
		Resource *resource `json:"resource,omitempty"`
	}
	resource struct {
		URI  string  `json:"uri"`
		Text *string `json:"text,omitempty"`
	}
	chunk struct {
		Kind      string    `json:"sessionUpdate"`
		MessageID string    `json:"messageId,omitempty"`
		Content   textBlock `json:"content"`
	}
	// textBlock always has its text, even if that is empty.
	textBlock struct {
		Type string `json:"type"`
		Text string `json:"text"`
	}
	// toolCall is a tool_call, a tool_call_update, or the call in a permission request, which has no sessionUpdate.
	toolCall struct {
		Update     string          `json:"sessionUpdate,omitempty"`
		ToolCallID string          `json:"toolCallId"`
		Title      string          `json:"title,omitempty"`
		Name       string          `json:"name,omitempty"`
		Kind       string          `json:"kind,omitempty"`
		Status     string          `json:"status,omitempty"`
		Content    []toolContent   `json:"content,omitempty"`
		Locations  []location      `json:"locations,omitempty"`
		RawInput   json.RawMessage `json:"rawInput,omitempty"`
	}
	// toolContent is a text or a change of a file.
	toolContent struct {
		Type    string     `json:"type"`
		Content *textBlock `json:"content,omitempty"`
		Path    string     `json:"path,omitempty"`
		OldText *string    `json:"oldText,omitempty"`
		NewText *string    `json:"newText,omitempty"`
	}
	location struct {
		Path string `json:"path"`
		Line int    `json:"line,omitempty"`
	}
	plan struct {
		Kind    string      `json:"sessionUpdate"`
		Entries []planEntry `json:"entries"`
	}
	planEntry struct {
		Content  string `json:"content"`
		Priority string `json:"priority"`
		Status   string `json:"status"`
	}
	usage struct {
		Kind string `json:"sessionUpdate"`
		Used int    `json:"used"`
		Size int    `json:"size"`
		Cost *cost  `json:"cost,omitempty"`
	}
	cost struct {
		Amount   float64 `json:"amount"`
		Currency string  `json:"currency"`
	}
	info struct {
		Kind  string `json:"sessionUpdate"`
		Title string `json:"title"`
	}
	currentMode struct {
		Kind          string `json:"sessionUpdate"`
		CurrentModeID string `json:"currentModeId"`
	}
	currentOptions struct {
		Kind          string         `json:"sessionUpdate"`
		ConfigOptions []configOption `json:"configOptions"`
	}
	acpNotice struct {
		Kind     string `json:"sessionUpdate"`
		Severity string `json:"severity"`
		Title    string `json:"title"`
	}
	compaction struct {
		Kind         string `json:"sessionUpdate"`
		CompactionID string `json:"compactionId"`
		Status       string `json:"status"`
		Error        string `json:"error,omitempty"`
	}
	subagentUpdate struct {
		Kind         string             `json:"sessionUpdate"`
		SessionID    string             `json:"sessionId"`
		Title        string             `json:"title,omitempty"`
		Description  string             `json:"description,omitempty"`
		CWD          string             `json:"cwd,omitempty"`
		Capabilities *childCapabilities `json:"capabilities,omitempty"`
		State        *childState        `json:"state,omitempty"`
	}
	childCapabilities struct {
		Cancel *empty `json:"cancel,omitempty"`
	}
	childState struct {
		State      string `json:"state"`
		StopReason string `json:"stopReason,omitempty"`
	}
	acpBetween struct {
		Kind               string      `json:"sessionUpdate"`
		MessageID          string      `json:"messageId"`
		SenderSessionID    string      `json:"senderSessionId"`
		RecipientSessionID string      `json:"recipientSessionId"`
		SenderMessageID    string      `json:"senderMessageId,omitempty"`
		RecipientMessageID string      `json:"recipientMessageId,omitempty"`
		Content            []textBlock `json:"content"`
	}
)

func textOf(s string) textBlock { return textBlock{Type: "text", Text: s} }
