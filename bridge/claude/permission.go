package claude

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"

	"github.com/google/uuid"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

const askUser = "AskUserQuestion"

// Tools that wait for a person at the terminal. There is none here, and
// unanswered they wait for ever, so they are denied with the way to go.
var interactive = map[string]string{
	askUser: "Nobody can answer questions in this place. Put the question into your final answer " +
		"(the structured output of this turn) and end the turn; the reply comes as your next message.",
	"ExitPlanMode":  "There is no plan mode here. Put the plan into your final answer, or carry it out.",
	"EnterPlanMode": "There is no plan mode here. Think the plan through and go on, or put it into your final answer.",
}

const needsPerson = "This tool needs a person at the terminal, and there is none. Choose another way."

// permissionAnswer answers can_use_tool. An allow contains the input of the request, unchanged: the CLI runs
// that input, and does not check a changed one again (observed with CLI 2.1.332).
type permissionAnswer struct {
	Behavior     string          `json:"behavior"`
	Message      string          `json:"message,omitempty"`
	UpdatedInput json.RawMessage `json:"updatedInput,omitempty"`
}

func deny(message string) permissionAnswer {
	return permissionAnswer{Behavior: bridge.Deny, Message: message}
}

// canUseTool answers can_use_tool. Every answer but an allow is a deny. It waits as long as the client does, which has
// the limit if there is one: people may be away for days.
func (a *agent) canUseTool(ctx context.Context, request object) (any, error) {
	r := &fieldReader{obj: request}
	p := bridge.PermissionParams{
		AgentRef: a.Ref,
		Request:  "perm-" + uuid.NewString(),
		Tool:     r.str("tool_name"),
		Input:    r.raw("input"),
		ToolUse:  r.str("tool_use_id"),
		Subagent: r.str("agent_id"),
		Reason:   r.str("decision_reason"),
		Blocked:  r.str("blocked_path"),

		ReasonType: r.str("decision_reason_type"),
	}
	p.Suggestions = suggestions(r, p.Tool)
	p.CWD = a.judged.directory(p.ToolUse)
	var needsUser bool
	r.into("requires_user_interaction", &needsUser)
	if r.err != nil || p.Tool == "" {
		return deny("The permission request could not be read."), nil
	}
	if jsonl.IsNull(p.Input) {
		p.Input = json.RawMessage("{}")
	}
	if message, ok := interactive[p.Tool]; ok {
		return deny(message), nil
	}
	if needsUser {
		return deny(needsPerson), nil
	}
	switch res, err := a.Host.Permission(ctx, p); {
	case err != nil: // the host may have given a message of its own
		return deny(cmp.Or(res.Message, fmt.Sprintf("No permission was given: %v.", err))), nil
	case res.Behavior == bridge.Allow:
		return permissionAnswer{Behavior: bridge.Allow, UpdatedInput: p.Input}, nil
	default:
		return deny(cmp.Or(res.Message, "Permission denied.")), nil
	}
}

// elicited answers a question of an MCP server, as MCP has it: with fields, or declined.
type elicited struct {
	Action  string          `json:"action"`
	Content json.RawMessage `json:"content,omitempty"`
}

// elicit asks the human what an MCP server wants to know, as a permission request. What cannot be asked is declined.
func (a *agent) elicit(ctx context.Context, request object) (any, error) {
	r := &fieldReader{obj: request}
	e := bridge.Elicitation{Server: r.str("mcp_server_name"), Message: r.str("message"), URL: r.str("url"),
		Schema: r.raw("requested_schema")}
	input, err := json.Marshal(e)
	if err != nil || r.err != nil {
		return elicited{Action: "decline"}, nil
	}
	res, err := a.Host.Permission(ctx, bridge.PermissionParams{AgentRef: a.Ref, Request: "perm-" + uuid.NewString(),
		Tool: bridge.ElicitTool, Input: input, Reason: "an MCP server asks this"})
	if err == nil && res.Behavior == bridge.Allow {
		if content, err := e.Content(res.Message); err == nil {
			return elicited{Action: "accept", Content: content}, nil
		}
	}
	return elicited{Action: "decline"}, nil
}
