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
