package clients

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/bridge/control"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

const (
	// maxForm bounds the part of a request in a form, in bytes. A longer request cannot be allowed in a form,
	// because the hidden part could be important.
	maxForm = 6000
	// shownLines is the number of lines of a form that every client shows.
	shownLines = 3
	// maxRules is the number of suggested rules that a form offers.
	maxRules = 2
)

// Fields of the forms.
const (
	fieldAnswer   = "answer"   // text
	fieldDecision = "decision" // one of the options
	fieldNote     = "note"     // text for the agent whose request is denied
)

// option is a choice in a form, with its command. A nil command changes nothing.
type option struct {
	label   string
	command contract.CommandBody
}

// form asks a human about one item. Without options it asks for a text.
type form struct {
	message string
	options []option
	note    bool // a denial may have a text
}

// forHuman reports whether an item is not for the model that calls the tools.
func (s *MCPServer) forHuman(i control.InboxItem) bool {
	switch supervisor.InboxKind(i.Kind) {
	case supervisor.InboxPermission:
		return !s.o.ModelAnswers
	case supervisor.InboxTrust, supervisor.InboxLimit:
		return true
	}
	return false
}

func (s *MCPServer) formOf(run string, i control.InboxItem) (form, error) {
	about := "Run " + shortID(run) + ": "
	switch supervisor.InboxKind(i.Kind) {
	case supervisor.InboxPermission:
		r, err := requestOf(i)
		if err != nil {
			return form{}, err
		}
		return permissionForm(about, compact(s.o.Full(contract.Event{ID: i.Agent, Body: r})), r,
			s.o.Typed("status", run)), nil
	case supervisor.InboxTrust, supervisor.InboxRecovery, supervisor.InboxLimit:
		f := form{message: about + clip(sanitize.Text(i.Text), maxForm)}
		for _, c := range i.Choices {
			f.options = append(f.options, option{sanitize.Line(c, 60), contract.Choose{Option: c}})
		}
		return f, nil
	}
	return form{message: about + clip(sanitize.Text(i.Text), maxForm)}, nil
}

func requestOf(i control.InboxItem) (r contract.PermissionRequest, err error) {
	if err = json.Unmarshal(i.Request, &r); err != nil {
		err = fmt.Errorf("read permission request %s: %w", i.ID, err)
	}
	return r, err
}

// compact removes empty lines: Claude Code shows three lines of a form, and the number of hidden ones (observed
// with CLI 2.1.329).
func compact(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.TrimSpace(line) == ""
	}), "\n")
}

// permissionForm offers the answers of arbiter allow and deny. whole is the command that shows the request in full.
func permissionForm(about, full string, r contract.PermissionRequest, whole string) form {
	permit := func(behavior, scope, rule string) contract.Permit {
		return contract.Permit{Request: r.Request, Behavior: behavior, Action: r.Action, Scope: scope, Rule: rule}
	}
	deny := option{"Deny", permit(bridge.Deny, contract.ScopeOnce, "")}
	if len(full) > maxForm {
		return form{note: true, options: []option{deny, {label: "Decide in a terminal"}},
			message: about + "(too long for a form; in full: " + whole + ") " + clip(full, maxForm)}
	}
	if n := strings.Count(full, "\n") + 1; n > shownLines {
		about += fmt.Sprintf("(%d lines; in full: %s) ", n, whole)
	}
	f := form{note: true, message: about + full, options: []option{
		{"Allow once", permit(bridge.Allow, contract.ScopeOnce, "")},
		{"Allow this for the whole run", permit(bridge.Allow, contract.ScopeRun, "")},
	}}
	for _, rule := range r.Suggestions[:min(len(r.Suggestions), maxRules)] {
		if sanitize.Line(rule, 200) == rule { // offer a rule only if it is shown exactly as it is
			f.options = append(f.options, option{"Always allow here: " + rule + " (" + words.Rules(rule) + ")",
				permit(bridge.Allow, contract.ScopeAlways, rule)})
		}
	}
	f.options = append(f.options, deny)
	return f
}

func (f form) params() *mcp.ElicitParams {
	text := func(title string) map[string]any { return map[string]any{"type": "string", "title": title} }
	properties, required := map[string]any{fieldAnswer: text("Answer")}, fieldAnswer
	if len(f.options) > 0 {
		var labels []string
		for _, o := range f.options {
			labels = append(labels, o.label)
		}
		decision := text("Decision")
		decision["enum"] = labels
		properties, required = map[string]any{fieldDecision: decision}, fieldDecision
	}
	if f.note {
		properties[fieldNote] = text("If you deny: a message to the agent")
	}
	return &mcp.ElicitParams{Mode: "form", Message: f.message, RequestedSchema: map[string]any{
		"type": "object", "properties": properties, "required": []string{required}}}
}

// command returns the command for a human's answer; nil if they closed the form without a decision. To decline a
// permission form means to deny.
func (f form) command(res *mcp.ElicitResult) contract.CommandBody {
	if res.Action != "accept" {
		if i := f.denial(); res.Action == "decline" && i >= 0 {
			return f.options[i].command
		}
		return nil
	}
	if len(f.options) == 0 {
		text, _ := res.Content[fieldAnswer].(string)
		if text == "" {
			return nil
		}
		return contract.Say{Text: text, Strength: contract.Note}
	}
	label, _ := res.Content[fieldDecision].(string)
	i := slices.IndexFunc(f.options, func(o option) bool { return o.label == label })
	if i < 0 {
		return nil
	}
	permit, ok := f.options[i].command.(contract.Permit)
	if note, _ := res.Content[fieldNote].(string); ok && permit.Behavior == bridge.Deny {
		permit.Message = note
		return permit
	}
	return f.options[i].command
}

// denial returns the index of the option that denies; -1: there is none.
func (f form) denial() int {
	return slices.IndexFunc(f.options, func(o option) bool {
		permit, ok := o.command.(contract.Permit)
		return ok && permit.Behavior == bridge.Deny
	})
}

// showsForms reports whether the client of a request can show a form.
func showsForms(c *mcp.ClientCapabilities) bool {
	// A client without details has forms: older versions of the protocol had no other kind.
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

func shortID(run string) string { return run[:min(len(run), 8)] }

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
