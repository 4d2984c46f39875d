package clients

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
)

type answerIn struct {
	Run      string `json:"run" jsonschema:"the run's id, or the beginning of it"`
	Text     string `json:"text,omitempty" jsonschema:"answers open questions, or is a message; why, if you deny"`
	Request  string `json:"request,omitempty" jsonschema:"the id of a permission request in waiting; it takes behavior"`
	Behavior string `json:"behavior,omitempty" jsonschema:"allow or deny"`
	Choice   string `json:"choice,omitempty" jsonschema:"one of the choices of an item of kind recovery"`
}

// Answered is the result of an answer.
type Answered struct {
	Run      string `json:"run"`
	Accepted bool   `json:"accepted"`
	By       string `json:"by" jsonschema:"whose answer it was: model or human"`
	Message  string `json:"message"`
}

// check rejects arguments that do not go together.
func (in answerIn) check() error {
	switch {
	case in.Request != "" && in.Choice != "":
		return errors.New("give request with behavior, or choice, not both")
	case in.Request != "" && in.Behavior != bridge.Allow && in.Behavior != bridge.Deny:
		return fmt.Errorf("behavior %.20q: use allow or deny", in.Behavior)
	case in.Request == "" && in.Behavior != "":
		return errors.New("behavior needs request: the id of a permission request in waiting")
	case in.Request == "" && in.Choice == "" && strings.TrimSpace(in.Text) == "":
		return errors.New("there is no answer: give text, request with behavior, or choice")
	}
	return nil
}

// answer is the tool answer.
func (s *MCPServer) answer(ctx context.Context, req *mcp.CallToolRequest, in answerIn) (*mcp.CallToolResult, Answered,
	error) {
	out := Answered{By: "model"}
	if err := in.check(); err != nil {
		return nil, out, err
	}
	info, err := s.find(in.Run)
	if err == nil && !info.Live {
		err = fmt.Errorf("run %s is not live: resume_run continues it", shortID(info.Run))
	}
	if err != nil {
		return nil, out, err
	}
	l, err := s.dial(ctx, info.Run)
	if err != nil {
		return nil, out, err
	}
	defer l.Close()
	out.Run = info.Run
	if in.Request == "" && in.Choice == "" {
		out.Message, out.Accepted, err = l.send(ctx, contract.Say{Text: in.Text, Strength: contract.Note})
		return nil, out, err
	}
	item, err := s.meant(ctx, l, in)
	if err != nil {
		return nil, out, err
	}
	if s.forHuman(item) {
		return s.leave(ctx, l, req, item)
	}
	var body contract.CommandBody = contract.Choose{Option: in.Choice}
	if in.Request != "" {
		if body, err = in.permit(item); err != nil {
			return nil, out, err
		}
	}
	out.Message, out.Accepted, err = l.send(ctx, body)
	return nil, out, err
}

// permit converts the answer to a permission request. An answer of a model holds once.
func (in answerIn) permit(i control.InboxItem) (contract.Permit, error) {
	r, err := requestOf(i)
	p := contract.Permit{Request: r.Request, Behavior: in.Behavior, Action: r.Action, Scope: contract.ScopeOnce}
	if in.Behavior == bridge.Deny || r.Tool == bridge.ElicitTool {
		p.Message = in.Text
	}
	return p, err
}

// meant returns the inbox item that an answer is for.
func (s *MCPServer) meant(ctx context.Context, l *mcpLive, in answerIn) (control.InboxItem, error) {
	st, err := l.Status(ctx)
	if err != nil {
		return control.InboxItem{}, err
	}
	for _, i := range st.Inbox {
		if in.Request != "" && i.ID == in.Request && i.Kind == string(supervisor.InboxPermission) {
			return i, nil
		}
		if in.Choice != "" && slices.Contains(i.Choices, in.Choice) {
			return i, nil
		}
	}
	if in.Request != "" {
		return control.InboxItem{}, fmt.Errorf("no permission request %.60q is open in run %s: it was answered, "+
			"perhaps; status shows what waits", in.Request, shortID(l.run))
	}
	return control.InboxItem{}, fmt.Errorf("nothing in run %s has the choice %.60q: status shows what waits",
		shortID(l.run), in.Choice)
}

// leave lets the human answer an item that is not for the model: in a form, or with a command that they type.
func (s *MCPServer) leave(ctx context.Context, l *mcpLive, req *mcp.CallToolRequest, i control.InboxItem) (
	*mcp.CallToolResult, Answered, error) {
	item := s.waitingItem(l.run, i, maxText)
	out := Answered{Run: l.run, By: contract.Human, Message: "This is not for you to answer. " + item.Answer}
	if !showsForms(req.ClientCapabilities()) {
		return nil, out, errors.New(out.Message)
	}
	res, answered := req.Params.InputResponses[i.ID].(*mcp.ElicitResult)
	var result *mcp.CallToolResult
	var err error
	if answered {
		out.Message, out.Accepted, err = s.sendAnswer(ctx, l, i, res)
	} else {
		result, out.Message, out.Accepted, err = s.askHuman(ctx, l, req, i)
	}
	if out.Message == "" {
		out.Message = "The user was asked and has not decided. " + item.Answer
	}
	return result, out, err
}
