package clients

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/command"
	"github.com/arbiter-cli/arbiter/cmd/arbiter/internal/runstore"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/journal"
	"github.com/arbiter-cli/arbiter/supervisor/words"
)

// Limits for what a model gets at once.
const (
	maxNews    = 40    // lines
	mcpMaxLine = 300   // runes of a line
	maxText    = 4000  // bytes of a question
	maxTexts   = 12000 // bytes of all texts together, apart from leastText for each
	leastText  = 400
	maxAgents  = 20
	maxWaiting = 20
	lastNews   = 10 // lines of news in a status
)

// Statuses of a run, in addition to those of its result.
const (
	working       = "working"
	inputRequired = "input_required"
)

// MCPView is what a model gets about a run.
type MCPView struct {
	Run     string  `json:"run" jsonschema:"the run's id"`
	Status  string  `json:"status" jsonschema:"working, input_required, interrupted, or how it ended"`
	Next    string  `json:"next" jsonschema:"what to do next"`
	Phase   string  `json:"phase,omitempty" jsonschema:"of the task, while the run is live"`
	Does    string  `json:"does,omitempty" jsonschema:"the same in words"`
	CostUSD float64 `json:"cost_usd"`
	// Simulated: a scripted model plays, and costs are not real.
	Simulated bool       `json:"simulated,omitempty" jsonschema:"a rehearsal: no money is spent"`
	Agents    []MCPAgent `json:"agents,omitempty"`
	Waiting   []MCPItem  `json:"waiting,omitempty" jsonschema:"what waits for an answer, the oldest first"`
	News      []string   `json:"news,omitempty" jsonschema:"what has happened, the oldest first"`
	Cursor    uint64     `json:"cursor" jsonschema:"pass it as since to the next wait"`
	More      bool       `json:"more,omitempty" jsonschema:"there is more news after the cursor: call wait again"`
	Summary   string     `json:"summary,omitempty" jsonschema:"how the run ended"`
	Branch    string     `json:"branch,omitempty" jsonschema:"the branch with the result, if agents worked apart"`

	CostUnknown bool `json:"cost_unknown,omitempty" jsonschema:"it has cost more, and nobody knows how much"`
}

// MCPAgent is one of a run's agents.
type MCPAgent struct {
	ID         string  `json:"id"`
	Name       string  `json:"name"`
	Host       string  `json:"host,omitempty" jsonschema:"the host that it lives on; absent: the one of the run"`
	Make       string  `json:"make,omitempty" jsonschema:"the make of agent; absent: Claude Code"`
	Status     string  `json:"status"`
	Does       string  `json:"does" jsonschema:"the same in words"`
	ContextPct float64 `json:"context_pct"`
	CostUSD    float64 `json:"cost_usd"`

	ContextUnknown bool `json:"context_unknown,omitempty" jsonschema:"its make does not tell how full its context is"`
	CostUnknown    bool `json:"cost_unknown,omitempty" jsonschema:"it has cost more, and nobody knows how much"`
}

// MCPItem is an item that waits for an answer.
type MCPItem struct {
	ID      string   `json:"id"`
	Kind    string   `json:"kind" jsonschema:"question, acceptance, permission, trust, limit or recovery"`
	Agent   string   `json:"agent" jsonschema:"who asks"`
	Host    string   `json:"host,omitempty" jsonschema:"the host that the agent lives on; absent: the one of the run"`
	Text    string   `json:"text"`
	Seconds int      `json:"seconds" jsonschema:"how long it has waited"`
	Choices []string `json:"choices,omitempty"`
	Answer  string   `json:"answer" jsonschema:"how it is answered, and by whom"`
}

// waitingItem converts an inbox item, with advice how to answer it. The text has at most most bytes.
func (s *MCPServer) waitingItem(run string, i supervisor.InboxItem, most int) MCPItem {
	item := MCPItem{ID: i.ID, Kind: string(i.Kind), Agent: i.Agent, Host: sanitize.Line(i.Host, 60),
		Text: clip(sanitize.Text(i.Text), most), Seconds: int(max(time.Since(i.Since), 0).Seconds()), Choices: i.Choices}
	switch i.Kind {
	case supervisor.InboxPermission:
		item.Text = clip(s.o.Full(contract.Event{ID: i.Agent, Body: *i.Request}), most)
		allow := []string{i.ID}
		if i.Request.Tool == bridge.ElicitTool {
			allow = append(allow, "--message", "TEXT")
		}
		item.Answer = "The user decides: " + s.o.Typed("allow", run, allow...) + ", or deny instead of allow."
		if s.o.ModelAnswers {
			item.Answer = "You or the user decide: answer with request and behavior."
		}
	case supervisor.InboxTrust, supervisor.InboxLimit:
		item.Answer = "The user decides: " + s.o.Typed("choose", run, strings.Join(i.Choices, "|"))
	case supervisor.InboxRecovery:
		item.Answer = "Answer with one of the choices as choice."
	default:
		item.Answer = "Answer with text; ask your user if you do not know."
	}
	return item
}

// liveView returns the view of a live run, without news.
func (s *MCPServer) liveView(st runstore.LiveStatus) MCPView {
	v := MCPView{Run: st.Run, Status: working, Phase: phase(st), Does: st.Does, CostUSD: st.CostUSD,
		CostUnknown: st.CostUnknown(), Simulated: st.Rehearsal}
	for _, a := range st.Agents[:min(len(st.Agents), maxAgents)] {
		v.Agents = append(v.Agents, MCPAgent{ID: a.ID, Name: sanitize.Line(a.Name, 60),
			Host: sanitize.Line(a.Host, 60), Make: sanitize.Line(a.Make, 60), Status: a.Status, Does: a.Does,
			ContextPct: math.Round(a.Context*10) / 10, CostUSD: contract.RoundUSD(a.Cost),
			ContextUnknown: a.ContextUnknown, CostUnknown: a.CostUnknown})
	}
	rest := maxTexts
	for _, i := range st.Inbox[:min(len(st.Inbox), maxWaiting)] {
		item := s.waitingItem(st.Run, i, max(min(maxText, rest), leastText))
		rest -= len(item.Text)
		v.Waiting = append(v.Waiting, item)
		if !i.Optional {
			v.Status = inputRequired
		}
	}
	v.Next = nextOf(v.Status)
	if held := supervisor.Held(st.Paused, st.Halted); held != "" {
		v.Next = "Tell the user that " + held + ". " + v.Next
	}
	if more := len(st.Inbox) - maxWaiting; more > 0 {
		v.Next += fmt.Sprintf(" %d more wait, which are shown when these are answered.", more)
	}
	return v
}

func phase(st runstore.LiveStatus) string {
	switch {
	case st.Halted:
		return "halted"
	case st.Paused:
		return "paused"
	}
	return st.Phase
}

func nextOf(status string) string {
	switch status {
	case working:
		return "Call wait with the cursor as since."
	case inputRequired:
		return "See answer of each item in waiting; then call wait with the cursor as since."
	}
	return ""
}

// endedView returns the view of a run that no process plays. result is nil if the last process that played the run
// reported none.
func endedView(info journal.Info, result *contract.Result) MCPView {
	v := MCPView{Run: info.Run, Status: contract.StatusInterrupted, CostUnknown: info.CostUnknown,
		Simulated: info.Rehearsal}
	if result != nil {
		v.Status = result.Status
		v.Summary = clip(sanitize.Text(result.Summary), maxText)
		v.CostUSD = contract.RoundUSD(result.CostUSD)
		if result.Changes != nil {
			v.Branch = sanitize.Line(result.Changes.Branch, mcpMaxLine)
		}
	} else {
		v.Summary = "The process of the run has ended without a result: it was killed, or the machine went down."
	}
	switch {
	case info.Unfinished && v.Status == contract.StatusInterrupted:
		v.Next = "resume_run continues it from where it stopped; nothing is lost."
	case info.Unfinished:
		v.Next = "It has ended, and resume_run continues it; report shows what it did."
	default:
		v.Next = "It has ended: report shows what it did."
	}
	if info.Problem != "" {
		v.Summary, v.Next = cmp.Or(v.Summary, sanitize.Line(info.Problem, mcpMaxLine)), "It cannot be resumed: "+
			sanitize.Line(info.Problem, mcpMaxLine)
	}
	return v
}

// clip cuts a text to a number of bytes at the end of a rune, and marks the cut.
func clip(text string, most int) string {
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most], "") + " … (cut here)"
}

// news collects the events of a run after a cursor. It reads only the event log, so the result does not depend on
// which process plays the run, or on restarts.
type news struct {
	log    *journal.EventLog
	line   func(contract.Event) string
	from   journal.LogPosition
	cursor uint64    // the number of the last line read
	at     time.Time // time of the last line that a model was shown; zero: none of this process
	lines  []string
	more   bool
	last   int // number of last lines wanted; 0: all after the cursor
}

// maxRead is how many lines readLast reads at most.
const maxRead = 10_000

// openNews opens a run's event log after a cursor. The caller closes the log.
func (s *MCPServer) openNews(ctx context.Context, run string, since uint64) (*news, error) {
	log, err := s.o.Runs.Log(run)
	if err != nil {
		return nil, err
	}
	n := &news{log: log, line: s.o.Line}
	if since > 0 {
		err = log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
			if e.N > since {
				return true
			}
			n.from, n.cursor, n.at = e.Next(), e.N, e.At
			return false
		})
	}
	if err != nil {
		log.Close()
		return nil, err
	}
	return n, nil
}

// read collects new lines, up to the number that a model is shown at once.
func (n *news) read(ctx context.Context) error {
	if n.more {
		return nil
	}
	if n.last > 0 {
		return n.readLast(ctx)
	}
	health, err := n.log.Each(ctx, n.from, func(e journal.LogEntry) error {
		if line := n.render(e); line != "" {
			if len(n.lines) == maxNews {
				n.more = true
				return journal.ErrEnough
			}
			n.lines = append(n.lines, line)
		}
		n.from, n.cursor = e.Next(), e.N
		return nil
	})
	if err == nil && health.Next.Offset > n.from.Offset {
		n.from = health.Next
	}
	return err
}

// render renders an entry as one line; empty: it is not for a model.
func (n *news) render(e journal.LogEntry) string {
	if e.Line == nil {
		return ""
	}
	event, err := contract.DecodeWritten(e.Line)
	if _, again := event.Body.(contract.Session); again {
		n.at = time.Time{} // a resumed run asks its open questions again
	}
	if err != nil || !worth(event.Body) {
		return ""
	}
	return sanitize.Line(n.line(event), mcpMaxLine)
}

// readLast collects the last lines.
func (n *news) readLast(ctx context.Context) error {
	read := 0
	n.lines = nil
	err := n.log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
		n.cursor = max(n.cursor, e.N)
		if line := n.render(e); line != "" {
			n.lines = append(n.lines, line)
		}
		read++
		return len(n.lines) < n.last && read < maxRead
	})
	slices.Reverse(n.lines)
	return err
}

// result returns the result of the last process that played the run; nil if it reported none.
func (n *news) result(ctx context.Context) (result *contract.Result, err error) {
	err = n.log.Backward(ctx, journal.LogPosition{}, func(e journal.LogEntry) bool {
		event, _ := contract.DecodeWritten(e.Line)
		switch b := event.Body.(type) {
		case contract.Result:
			result = &b
			return false
		case contract.Session:
			return false
		}
		return true
	})
	return result, err
}

// worth reports whether an event is shown to a model: it sees the work, but not each tool call.
func worth(b contract.Body) bool {
	switch b := b.(type) {
	case contract.ToolCall, contract.Rejected, contract.Withdrawn, contract.Compact, contract.ContextWarning:
		return false
	case contract.Session:
		return b.Resumed
	case contract.Permission:
		return b.By == contract.Human
	case contract.Notice:
		return true
	}
	return !contract.Narrates(b) && !contract.Fine(b)
}

func (n *news) fill(v *MCPView) {
	v.News, v.Cursor, v.More = n.lines, n.cursor, n.more
	if n.more {
		v.Next = "Call wait again with the cursor as since: there is more news."
	}
}

const (
	// maxForm bounds the part of a request in a form, in bytes. A longer request cannot be allowed in a form,
	// because the hidden part could be important.
	maxForm = 6000
	// shownLines is the number of lines of a form that every client shows.
	shownLines = 3
	// maxRules is the number of suggested rules that are offered.
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
	// schema has the fields that an MCP server asks for: what is said in them is the answer that allows.
	schema json.RawMessage
}

// forHuman reports whether an item is not for the model that calls the tools.
func (s *MCPServer) forHuman(i supervisor.InboxItem) bool {
	switch i.Kind {
	case supervisor.InboxPermission:
		return !s.o.ModelAnswers
	case supervisor.InboxTrust, supervisor.InboxLimit:
		return true
	}
	return false
}

func (s *MCPServer) formOf(run string, i supervisor.InboxItem) form {
	about := "Run " + command.ShortID(run) + ": "
	if r, ok := s.refused.Load(i.ID); ok {
		about += "Your answer is not accepted: " + r.(refusal).why + ". "
	}
	full := ""
	if i.Request != nil {
		full = compact(s.o.Full(contract.Event{ID: i.Agent, Body: *i.Request}))
	}
	return formFor(about, full, i, s.o.Typed("status", run))
}

// formFor returns the form of an item. about comes before it; full is a permission request in words, and whole the
// command that shows it.
func formFor(about, full string, i supervisor.InboxItem, whole string) form {
	if i.Request != nil {
		return permissionForm(about, full, *i.Request, whole)
	}
	f := form{message: about + clip(sanitize.Text(i.Text), maxForm)}
	for _, c := range i.Choices {
		f.options = append(f.options, option{sanitize.Line(c, 60), contract.Choose{Option: c}})
	}
	return f
}

// compact removes empty lines: Claude Code shows three lines of a form, and the number of hidden ones (observed
// with CLI 2.1.329).
func compact(text string) string {
	return strings.Join(slices.DeleteFunc(strings.Split(text, "\n"), func(line string) bool {
		return strings.TrimSpace(line) == ""
	}), "\n")
}

// permissionForm offers the answers to a permission request. whole is the command that shows the request in full.
func permissionForm(about, full string, r contract.PermissionRequest, whole string) form {
	f := form{note: true}
	long := len(full) > maxForm
	if !long {
		_, f.schema = elicited(r)
	}
	for _, o := range permitsFor(r) {
		if !long || o.permit.Behavior == bridge.Deny {
			f.options = append(f.options, option{o.label, o.permit})
		}
	}
	if long {
		f.options = append(f.options, option{label: "Decide in a terminal"})
		about += "(too long for a form; in full: " + whole + ") "
	} else if n := strings.Count(full, "\n") + 1; n > shownLines {
		about += fmt.Sprintf("(%d lines; in full: %s) ", n, whole)
	}
	f.message = about + clip(full, maxForm)
	return f
}

// permitOption is an answer to a permission request that an editor, or the client of a model, offers its human.
type permitOption struct {
	id, kind string // for an editor
	label    string
	permit   contract.Permit
}

var permitOptions = []permitOption{
	{"once", "allow_once", "Allow once", contract.Permit{Behavior: bridge.Allow, Scope: contract.ScopeOnce}},
	{"run", "allow_always", "Allow this for the whole run",
		contract.Permit{Behavior: bridge.Allow, Scope: contract.ScopeRun}},
	{"always", "allow_always", "Always allow here: ",
		contract.Permit{Behavior: bridge.Allow, Scope: contract.ScopeAlways}},
	{"deny", "reject_once", "Deny", contract.Permit{Behavior: bridge.Deny, Scope: contract.ScopeOnce}},
	{"deny-run", "reject_always", "Deny this for the whole run",
		contract.Permit{Behavior: bridge.Deny, Scope: contract.ScopeRun}},
}

// permitsFor lists the answers to a request. A rule is offered only if it is shown exactly as it is. A question of an
// MCP server is answered once.
func permitsFor(r contract.PermissionRequest) (list []permitOption) {
	for _, o := range permitOptions {
		if r.Tool == bridge.ElicitTool && o.permit.Scope != contract.ScopeOnce {
			continue
		}
		o.permit.Request, o.permit.Action = r.Request, r.Action
		if o.permit.Scope != contract.ScopeAlways {
			list = append(list, o)
			continue
		}
		for i, rule := range r.Suggestions[:min(len(r.Suggestions), maxRules)] {
			if sanitize.Line(rule, 200) == rule {
				o := o
				o.permit.Rule, o.label = rule, o.label+rule+" ("+words.Rules(rule)+")"
				if i > 0 {
					o.id += "-" + strconv.Itoa(i+1)
				}
				list = append(list, o)
			}
		}
	}
	return list
}

// elicited returns what an MCP server asks a human, and the schema of the answer; nil: the request is another one.
func elicited(r contract.PermissionRequest) (text string, schema json.RawMessage) {
	if r.Tool != bridge.ElicitTool {
		return "", nil
	}
	var e bridge.Elicitation
	err := json.Unmarshal(r.Input, &e)
	if err == nil {
		schema, err = clean(e.Schema, maxText)
	}
	if err != nil { // consent is the answer, or else the run says what is wrong
		schema = json.RawMessage(`{"type":"object","properties":{}}`)
	}
	return sanitize.Text(strings.TrimSpace("The MCP server " + e.Server + " asks: " + e.Message + "\n" + e.URL)), schema
}

func (f form) params() *mcp.ElicitParams {
	if f.schema != nil {
		return &mcp.ElicitParams{Mode: "form", Message: f.message, RequestedSchema: f.schema}
	}
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
		i := slices.IndexFunc(f.options, func(o option) bool {
			permit, ok := o.command.(contract.Permit)
			return ok && permit.Behavior == bridge.Deny
		})
		if res.Action == "decline" && i >= 0 {
			return f.options[i].command
		}
		return nil
	}
	if f.schema != nil {
		permit := f.options[0].command.(contract.Permit)
		if len(res.Content) > 0 {
			said, _ := json.Marshal(res.Content) // it was decoded
			permit.Message = string(said)
		}
		return permit
	}
	if len(f.options) == 0 {
		text, _ := res.Content[fieldAnswer].(string)
		if text = strings.TrimSpace(text); text == "" {
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

// showsForms reports whether the client of a request can show a form.
func showsForms(c *mcp.ClientCapabilities) bool {
	// A client without details has forms: older versions of the protocol had no other kind.
	return c != nil && c.Elicitation != nil && (c.Elicitation.Form != nil || c.Elicitation.URL == nil)
}

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
	case in.Choice != "" && strings.TrimSpace(in.Text) != "":
		return errors.New("give choice or text, not both: a choice says nothing else")
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
		err = fmt.Errorf("run %s is not live: resume_run continues it", command.ShortID(info.Run))
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
	item, err := l.meant(in)
	if err != nil {
		return nil, out, err
	}
	if s.forHuman(item) {
		return s.leave(ctx, l, req, item)
	}
	var body contract.CommandBody = contract.Choose{Option: in.Choice}
	if in.Request != "" {
		body = in.permit(item)
	}
	out.Message, out.Accepted, err = l.send(ctx, body)
	return nil, out, err
}

// permit converts the answer to a permission request. An answer of a model holds once.
func (in answerIn) permit(i supervisor.InboxItem) contract.Permit {
	r := i.Request
	p := contract.Permit{Request: r.Request, Behavior: in.Behavior, Action: r.Action, Scope: contract.ScopeOnce}
	if in.Behavior == bridge.Deny || r.Tool == bridge.ElicitTool {
		p.Message = in.Text
	}
	return p
}

// meant returns the item that an answer is for.
func (l *mcpLive) meant(in answerIn) (supervisor.InboxItem, error) {
	for _, i := range l.first.Inbox {
		if in.Request != "" && i.ID == in.Request && i.Kind == supervisor.InboxPermission {
			return i, nil
		}
		if in.Choice != "" && slices.Contains(i.Choices, in.Choice) {
			return i, nil
		}
	}
	if in.Request != "" {
		return supervisor.InboxItem{}, fmt.Errorf("no permission request %.60q is open in run %s: it was answered, "+
			"perhaps; status shows what waits", in.Request, command.ShortID(l.run))
	}
	return supervisor.InboxItem{}, fmt.Errorf("nothing in run %s has the choice %.60q: status shows what waits",
		command.ShortID(l.run), in.Choice)
}

// leave lets the human answer an item that is not for the model: in a form, or with a command that they type.
func (s *MCPServer) leave(ctx context.Context, l *mcpLive, req *mcp.CallToolRequest, i supervisor.InboxItem) (
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
