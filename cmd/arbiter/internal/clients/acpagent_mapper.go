package clients

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/sanitize"
	"github.com/arbiter-cli/arbiter/supervisor"
	"github.com/arbiter-cli/arbiter/supervisor/contract"
	"github.com/arbiter-cli/arbiter/supervisor/words"
	"github.com/arbiter-cli/arbiter/tui/eventtext"
	"github.com/arbiter-cli/arbiter/tui/history"
)

// This part of the package serves the Agent Client Protocol (version 1) on a pair of pipes: an editor opens
// sessions, and each session is a run of Arbiter.
//
// # Sessions and runs
//
// The id of a session is the id of its run, so an editor finds the run again after any restart. The run begins with
// the first prompt, which is its task. Later prompts are messages to the Arbiter and answer its questions; a prompt
// to a finished run gives it a new task. A prompt ends when the run waits for the human or is over.
//
// # Updates
//
// A [mapper] turns the events of a run into updates of its session. It depends on the events alone, so a loaded
// session shows the same as a live one. The exception is what the protocol calls notices: they are not part of the
// history and are shown live only.
//
// What waits for the human is never derived from events: it is the inbox in the run's status. Its permission
// requests become session/request_permission, and are withdrawn when another client has answered.
//
// # Goroutines, shutdown
//
// [ServeACP] owns the connection and all goroutines: one for each session that follows its run, and one for each
// request of the client or to it. It returns when the client has closed its end, and waits for all of them. Runs
// continue after that.

const (
	maxTitle       = 200  // runes of a title, bytes of why a call asks
	maxDescription = 4000 // bytes of what an agent is for
)

// features are the protocol features beyond version 1 that the client supports.
type features struct {
	subagents  bool
	notices    bool
	compaction bool
	elicits    bool
}

// mapper turns the events of a run into updates of its session, and of the sessions of its Orchestrators if the
// client knows subagents. Its output depends only on the events so far.
type mapper struct {
	root   string // id of the session
	can    features
	dir    string // working directory of the run
	agents map[string]*agentView
	// calls are the running tool calls by id; asked are the pending permission requests by id.
	calls      map[string]acpCall
	asked      map[string]toolCall
	shownTexts map[string]string // texts that were reported last, by question id
	charges    contract.Charges
	spent      float64          // charged to the run
	ended      *contract.Result // set if the run's end is the last thing reported
	login      bool             // the last error was that Claude is not logged in
	// rehearsal is set if a scripted model plays. The protocol cannot mark a cost as simulated, so none is shown.
	rehearsal bool
	count     int // number of generated ids
}

// agentView is what the client has been shown about an agent.
type agentView struct {
	name   string
	dir    string
	state  childState
	gone   bool
	busy   bool // a message was delivered, and its turn has not ended
	tokens int
	window int
	shown  shownUsage
}

// shownUsage is the context usage that the client was shown last for an agent.
type shownUsage struct {
	used, size int
	cost       float64
}

func newMapper(session string, can features) *mapper {
	return &mapper{
		root: session, can: can, agents: map[string]*agentView{}, calls: map[string]acpCall{},
		asked: map[string]toolCall{}, shownTexts: map[string]string{},
	}
}

// add returns the updates that follow from an event.
func (m *mapper) add(e contract.Event) []frame {
	for _, c := range m.charges.Take(e) {
		m.spent += c.CostUSD
	}
	switch b := e.Body.(type) {
	case contract.Session:
		m.ended, m.dir, m.login, m.rehearsal = nil, b.CWD, false, b.Rehearsal // the run continues
		return m.leftOver()
	case contract.Spawn:
		return m.spawn(e.ID, b)
	case contract.Done:
		return m.done(e.ID, b)
	case contract.Delivered:
		m.setBusy(e.ID, true)
		return m.childState(e.ID, childState{State: "running"})
	case contract.Message:
		return m.message(b)
	case contract.Question:
		text, again := m.shownTexts[b.Question]
		if again && text == b.Text {
			return nil // a resumed run asks its open question again
		}
		m.shownTexts[b.Question] = b.Text
		id := b.Question
		if again { // a text of the same id would continue the first one
			id = m.newID(id)
		}
		return m.chunk(m.root, agentChunk, id, b.Text)
	case contract.Settled:
		if m.shownTexts[b.Item] != "" {
			m.shownTexts[b.Item] = ""
		}
	case contract.Assistant:
		return m.prose(e.ID, b)
	case contract.ToolUse:
		return m.toolUse(e.ID, b)
	case contract.ToolResult:
		return m.toolResult(b)
	case contract.PermissionRequest:
		return m.permissionRequest(e.ID, b)
	case contract.Permission:
		return m.permission(e.ID, b)
	case contract.Plan:
		return m.plan(b)
	case contract.Context:
		if a := m.agents[e.ID]; a != nil {
			a.tokens, a.window = b.Tokens, b.Window
			return m.usage(e.ID)
		}
	case contract.Turn:
		return m.turn(e.ID, b)
	case contract.Compact:
		return m.compact(e.ID, b)
	case contract.Workspace:
		return m.workspace(e.ID, b)
	case contract.Error:
		return m.showError(e.ID, b)
	case contract.Result:
		return m.result(b)
	case contract.Decision:
		session, _ := m.home(e.ID)
		return m.chunk(session, thoughtChunk, "", strings.TrimSpace("Decision: "+b.Decision+". "+b.Reason))
	case contract.Handoff, contract.Check, contract.Acceptance, contract.Merge, contract.Changes,
		contract.Takeover:
		return m.aside(e)
	case contract.Notice, contract.Retry, contract.Restart, contract.ContextWarning, contract.Overlap, contract.Halted,
		contract.Quiet, contract.Budget, contract.Fuse:
		return m.notice(e)
	}
	return nil
}

// home returns the session in which an agent's activity is shown, and a prefix for its texts if that is not the
// agent's own session.
func (m *mapper) home(id string) (session, prefix string) {
	if id == contract.Arbiter || id == contract.Supervisor || id == contract.Human {
		return m.root, ""
	}
	if m.can.subagents && m.agents[id] != nil {
		return m.child(id), ""
	}
	return m.root, m.name(id) + ": "
}

// child returns the session id of an Orchestrator, which [server.session] splits.
func (m *mapper) child(id string) string { return m.root + "/" + id }

func (m *mapper) name(id string) string {
	if a := m.agents[id]; a != nil {
		return a.name
	}
	switch id {
	case contract.Arbiter:
		return "Arbiter"
	case contract.Human:
		return "You"
	case contract.Supervisor:
		return "Supervisor"
	}
	return sanitize.Line(id, maxTitle)
}

// newID makes an id for an update without one. The same events always get the same ids.
func (m *mapper) newID(kind string) string {
	m.count++
	return fmt.Sprintf("%s-%d", kind, m.count)
}

func (m *mapper) on(session string, update any) []frame { return []frame{{session, update}} }

// chunk is a text in a transcript. It ends with a paragraph break: clients without message ids join it with the
// next text.
func (m *mapper) chunk(session, kind, id, text string) []frame {
	text = strings.TrimSpace(sanitize.Text(text))
	if text == "" {
		return nil
	}
	if id == "" {
		id = m.newID("text")
	}
	if kind != userChunk {
		text += "\n\n"
	}
	return m.on(session, object{"sessionUpdate": kind, "messageId": id, "content": textOf(text)})
}

// aside shows an event outside the conversation as one line of thought.
func (m *mapper) aside(e contract.Event) []frame {
	session, _ := m.home(e.ID)
	return m.chunk(session, thoughtChunk, "", eventtext.Line(e, m.name))
}

// noticed is the kind of updates that are not part of the history.
const noticed = "notice"

// notice shows a problem that the run has recovered from.
func (m *mapper) notice(e contract.Event) []frame {
	if !m.can.notices {
		return m.aside(e)
	}
	text := sanitize.Line(eventtext.Line(e, m.name), maxDescription)
	if text == "" {
		return nil
	}
	severity := "warning"
	if _, ok := e.Body.(contract.Notice); ok {
		severity = "info"
	}
	session, _ := m.home(e.ID)
	return m.on(session, object{"sessionUpdate": noticed, "severity": severity, "title": text})
}

// showError shows an error that a person should know about, and the possible answers.
func (m *mapper) showError(id string, b contract.Error) []frame {
	m.login = b.Category == bridge.CatAuth
	text := b.Message
	if len(b.RecoveryOptions) > 0 {
		text += "\n\nAnswer with one of these words: " + strings.Join(b.RecoveryOptions, ", ")
	}
	if id != contract.Supervisor && id != contract.Arbiter {
		text = m.name(id) + ": " + text
	}
	return m.chunk(m.root, agentChunk, "", text)
}

// result ends the run and everything that is still open in it.
func (m *mapper) result(b contract.Result) []frame {
	m.ended = &b
	text := "The run ended: " + strings.ReplaceAll(b.Status, "_", " ")
	if b.Summary != "" {
		text += ". " + b.Summary
	}
	text = words.Sentence(text) + " " + strings.Join(eventtext.Spent(b), ", ") + "."
	frames := m.closeCalls("")
	frames = append(frames, m.usage(contract.Arbiter)...)
	return append(frames, m.chunk(m.root, agentChunk, "", text)...)
}

// plan shows the steps of the plan and, if the client knows subagents, the task lists of the agents.
func (m *mapper) plan(b contract.Plan) []frame {
	frames := m.on(m.root, planOf(b.Steps))
	if !m.can.subagents {
		return frames
	}
	for _, t := range b.Tasks {
		if m.agents[t.Agent] != nil {
			frames = append(frames, frame{m.child(t.Agent), planOf(t.Items)})
		}
	}
	return frames
}

func planOf(steps []contract.Step) object {
	entries := []object{}
	for _, s := range steps {
		text, status := sanitize.Line(s.Text, maxDescription), pending
		switch s.Status {
		case contract.StepActive:
			status = inProgress
		case contract.StepDone:
			status = completed
		case contract.StepFailed, contract.StepSkipped: // the protocol has no such status
			text, status = text+" ("+s.Status+")", completed
		}
		entries = append(entries, object{"content": text, "priority": "medium", "status": status})
	}
	return object{"sessionUpdate": "plan", "entries": entries}
}

// usage shows how full the context of an agent is. The update of the root session has the cost of the whole run,
// except in a rehearsal.
func (m *mapper) usage(id string) []frame {
	a := m.agents[id]
	if a == nil || a.window <= 0 {
		return nil
	}
	now := shownUsage{max(a.tokens, 0), a.window, 0}
	session := m.root
	u := object{"sessionUpdate": "usage_update", "used": now.used, "size": now.size}
	switch {
	case id == contract.Arbiter && m.rehearsal:
	case id == contract.Arbiter:
		now.cost = contract.RoundUSD(m.spent + m.charges.Live())
		u["cost"] = object{"amount": now.cost, "currency": "USD"}
	case m.can.subagents:
		session = m.child(id)
	default:
		return nil
	}
	if now == a.shown {
		return nil
	}
	a.shown = now
	return m.on(session, u)
}

// turn shows that an agent is idle, and what the run has cost.
func (m *mapper) turn(id string, b contract.Turn) []frame {
	m.setBusy(id, false)
	frames := append(m.closeCalls(id), m.usage(contract.Arbiter)...)
	reason := map[string]string{"done": stopEndTurn, "interrupted": stopCancelled}[b.Outcome]
	return append(frames, m.childState(id, childState{State: "idle", StopReason: reason})...)
}

func (m *mapper) setBusy(id string, busy bool) {
	if a := m.agents[id]; a != nil {
		a.busy = busy
	}
}

// works reports whether an agent is in the middle of a turn.
func (m *mapper) works() bool {
	for _, a := range m.agents {
		if a.busy && !a.gone {
			return true
		}
	}
	return false
}

func (m *mapper) compact(id string, b contract.Compact) []frame {
	if !m.can.compaction {
		return m.aside(contract.Event{ID: id, Body: b})
	}
	c := object{"sessionUpdate": "compaction_update", "compactionId": m.newID("compaction"), "status": completed}
	if b.Blocked {
		c["status"], c["error"] = failed, "Arbiter blocked it: the agent hands its work over instead."
	}
	session, _ := m.home(id)
	if id != contract.Arbiter && !m.can.subagents {
		return nil
	}
	return m.on(session, c)
}

// spawn shows an agent: as a session of its own, or as a tool call in the session of the run.
func (m *mapper) spawn(id string, b contract.Spawn) []frame {
	a, known := m.agents[id], m.agents[id] != nil
	if !known {
		a = &agentView{}
		m.agents[id] = a
	}
	name := sanitize.Line(cmp.Or(b.Name, id), maxTitle)
	a.name, a.gone, a.busy = eventtext.Whole(name, b.Host, b.Make), false, false
	frames := m.closeCalls(id) // of an earlier process
	if id == contract.Arbiter {
		return frames
	}
	title := a.name
	if b.SuccessorOf != "" {
		title += ", successor of " + m.name(b.SuccessorOf)
	}
	if b.Mode != "" {
		title += " (" + sanitize.Line(b.Mode, maxTitle) + ")"
	}
	prompt := clip(sanitize.Text(b.Prompt), maxDescription)
	if m.can.subagents {
		a.state = childState{State: "running"}
		u := m.subagent(id, object{"title": title, "capabilities": object{"cancel": object{}}, "state": a.state})
		if prompt != "" {
			u["description"] = prompt
		}
		return append(frames, frame{m.root, u})
	}
	if known {
		return append(frames, frame{m.root, toolCall{Update: toolChanged, ToolCallID: id, Status: inProgress}})
	}
	call := toolCall{Update: toolStarted, ToolCallID: id, Title: title, Kind: "think", Status: inProgress}
	if prompt != "" {
		call.Content = []object{textContent(prompt)}
	}
	return m.on(m.root, call)
}

// done shows that an agent has ended.
func (m *mapper) done(id string, b contract.Done) []frame {
	a := m.agents[id]
	if a == nil || a.gone || id == contract.Arbiter {
		return nil
	}
	frames := m.closeCalls(id)
	a.gone = true
	if m.can.subagents {
		a.state = childState{State: "idle", StopReason: stopEndTurn}
		return append(frames, frame{m.root, m.subagent(id, object{"capabilities": object{}, "state": a.state})})
	}
	text := textContent("Ended: " + sanitize.Line(b.Reason, maxTitle))
	return append(frames, frame{m.root, toolCall{Update: toolChanged, ToolCallID: id, Status: completed,
		Content: []object{text}}})
}

// leftOver ends what the process before has left: an agent that goes on is spawned again.
func (m *mapper) leftOver() []frame {
	frames := m.closeCalls("")
	for _, id := range slices.Sorted(maps.Keys(m.agents)) {
		m.setBusy(id, false)
		frames = append(frames, m.done(id, contract.Done{Reason: "the run's process has ended"})...)
	}
	return frames
}

// childState shows the state of an Orchestrator, if it has changed.
func (m *mapper) childState(id string, s childState) []frame {
	a := m.agents[id]
	if a == nil || !m.can.subagents || id == contract.Arbiter || a.gone || a.state == s {
		return nil
	}
	a.state = s
	return m.on(m.root, m.subagent(id, object{"state": s}))
}

// subagent completes an update about the session of an Orchestrator.
func (m *mapper) subagent(id string, update object) object {
	update["sessionUpdate"], update["sessionId"] = "subagent_update", m.child(id)
	return update
}

// workspace shows the working directory of an Orchestrator, if it has its own.
func (m *mapper) workspace(id string, b contract.Workspace) []frame {
	a := m.agents[id]
	if a == nil || a.dir == b.Dir {
		return nil
	}
	before := cmp.Or(a.dir, m.dir)
	a.dir = b.Dir
	if !m.can.subagents || id == contract.Arbiter || before == b.Dir {
		return nil
	}
	return m.on(m.root, m.subagent(id, object{"cwd": b.Dir}))
}

// message shows a message from one party to another.
func (m *mapper) message(b contract.Message) []frame {
	id := b.MessageID
	if b.Edited {
		id = m.newID(id)
	}
	from, to := m.agents[b.From], m.agents[b.To]
	switch {
	case b.From == contract.Human && b.To == contract.Arbiter:
		frames := m.chunk(m.root, userChunk, id, b.Text)
		if b.Kind == "task" && m.shownTexts[b.Kind] == "" { // the run keeps its first title
			m.shownTexts[b.Kind] = b.Text
			title := sanitize.Line(b.Text, maxTitle)
			frames = append(frames, frame{m.root, object{"sessionUpdate": "session_info_update", "title": title}})
		}
		return frames
	case b.From == contract.Human:
		session, _ := m.home(b.To)
		text := b.Text
		if session == m.root {
			text = "To " + m.name(b.To) + ": " + text
		}
		return m.chunk(session, userChunk, id, text)
	case b.To == contract.Human && b.From == contract.Arbiter:
		return m.chunk(m.root, agentChunk, id, b.Text)
	case b.To == contract.Human:
		return m.chunk(m.root, agentChunk, id, m.name(b.From)+": "+b.Text)
	case m.can.subagents && from != nil && to != nil:
		return m.between(b, id)
	}
	session := m.root
	if m.can.subagents && to != nil {
		session, _ = m.home(b.To)
	}
	text := fmt.Sprintf("%s → %s (%s): %s", m.name(b.From), m.name(b.To), sanitize.Line(b.Kind, maxTitle), b.Text)
	return m.chunk(session, thoughtChunk, id, text)
}

// between shows a message between two agents in the transcripts of both.
func (m *mapper) between(b contract.Message, id string) []frame {
	from, _ := m.home(b.From)
	to, _ := m.home(b.To)
	u := object{"sessionUpdate": "session_message", "messageId": id, "senderSessionId": from, "recipientSessionId": to,
		"content": []object{textOf(sanitize.Text(b.Text))}}
	if from == to {
		return m.on(from, u)
	}
	sent, received := maps.Clone(u), maps.Clone(u)
	sent["recipientMessageId"], received["senderMessageId"] = id, id
	return []frame{{from, sent}, {to, received}}
}

// prose shows text of an agent outside its verdict: as a message in the agent's own session, otherwise as a
// thought.
func (m *mapper) prose(id string, b contract.Assistant) []frame {
	session, prefix := m.home(id)
	kind := thoughtChunk
	switch {
	case b.Subagent != "":
		prefix += "(subagent) "
	case session != m.root:
		kind = agentChunk
	}
	return m.chunk(session, kind, "", prefix+b.Text)
}

const (
	maxResult = 64 << 10 // bytes of a shown result
	ownTools  = "mcp__arbiter__"
)

// acpCall is a running tool call.
type acpCall struct {
	agent   string
	session string
	tool    string
	input   json.RawMessage
	diff    bool
}

// toolInput has the members of tool inputs that a client is shown separately.
type toolInput struct {
	FilePath     string  `json:"file_path"`
	NotebookPath string  `json:"notebook_path"`
	Path         string  `json:"path"`
	OldString    string  `json:"old_string"`
	NewString    *string `json:"new_string"`
	Content      *string `json:"content"`
	Offset       int     `json:"offset"`
}

func kindOf(tool string) string {
	switch tool {
	case "Bash", "BashOutput", "KillShell", "Monitor", "PowerShell":
		return "execute"
	case "Read", "NotebookRead", "LSP":
		return "read"
	case "Edit", "MultiEdit", "Write", "NotebookEdit":
		return "edit"
	case "Grep", "Glob", "LS", "ToolSearch":
		return "search"
	case "WebFetch", "WebSearch":
		return "fetch"
	case "Task", "Agent", "TodoWrite", "TaskCreate", "TaskUpdate", "Skill":
		return "think"
	}
	return "other"
}

// describe returns a tool call in the form in which the client is shown it.
func (m *mapper) describe(agent, tool string, input json.RawMessage) toolCall {
	var in toolInput
	_ = json.Unmarshal(input, &in) // input that cannot be parsed is shown unchanged
	t := toolCall{Title: sanitize.Line(eventtext.CallText(tool, input), maxTitle), Name: tool, Kind: kindOf(tool)}
	if isObject(input) {
		t.RawInput = input
	}
	path := cmp.Or(in.FilePath, in.NotebookPath, in.Path)
	if path == "" {
		return t
	}
	if !filepath.IsAbs(path) {
		dir := m.dir
		if a := m.agents[agent]; a != nil {
			dir = cmp.Or(a.dir, dir)
		}
		path = filepath.Join(dir, path)
	}
	if !filepath.IsAbs(path) {
		return t
	}
	path = sanitize.Line(path, 0)
	t.Locations = []object{{"path": path}}
	if in.Offset > 0 {
		t.Locations[0]["line"] = in.Offset
	}
	diff := object{"type": "diff", "path": path}
	switch {
	case tool == "Edit" && in.NewString != nil:
		diff["oldText"], diff["newText"] = sanitize.Text(in.OldString), sanitize.Text(*in.NewString)
	case tool == "Write" && in.Content != nil:
		diff["newText"] = sanitize.Text(*in.Content)
	default:
		return t
	}
	t.Content = []object{diff}
	return t
}

// toolUse shows a call. Calls of Arbiter's own tools are not shown: their effects are.
func (m *mapper) toolUse(id string, b contract.ToolUse) []frame {
	if strings.HasPrefix(b.Tool, ownTools) || b.Tool == bridge.VerdictTool {
		return nil
	}
	session, prefix := m.home(id)
	t := m.describe(id, b.Tool, b.Input)
	t.Update, t.ToolCallID, t.Status = toolStarted, b.ToolUse, inProgress
	if t.ToolCallID == "" {
		t.ToolCallID = m.newID("call")
	}
	if b.Subagent != "" {
		prefix += "(subagent) "
	}
	t.Title = sanitize.Line(prefix+t.Title, maxTitle)
	m.calls[t.ToolCallID] = acpCall{id, session, b.Tool, slices.Clone(b.Input), len(t.Content) > 0}
	return m.on(session, t)
}

// toolResult ends a call. The diff of a file change stays visible.
func (m *mapper) toolResult(b contract.ToolResult) []frame {
	c, ok := m.calls[b.ToolUse]
	if !ok {
		return nil
	}
	delete(m.calls, b.ToolUse)
	t := toolCall{Update: toolChanged, ToolCallID: b.ToolUse, Status: completed}
	if b.IsError {
		t.Status = failed
	}
	text := strings.TrimSpace(clip(sanitize.Text(b.Text), maxResult))
	switch {
	case text == "" || c.diff && !b.IsError:
	case kindOf(c.tool) == "execute" || kindOf(c.tool) == "read" || kindOf(c.tool) == "search":
		t.Content = []object{textContent(words.Fenced(text))}
	default:
		t.Content = []object{textContent(text)}
	}
	return m.on(c.session, t)
}

// permissionRequest shows that a call waits for the human. The request does not name its call: it is the call of
// the same agent with the same input. If there is no such call, the request is shown as a call of its own.
func (m *mapper) permissionRequest(id string, b contract.PermissionRequest) []frame {
	if _, again := m.asked[b.Request]; again {
		return nil // the run was resumed
	}
	session, prefix := m.home(id)
	t := m.describe(id, b.Tool, b.Input)
	t.Title, t.Status = sanitize.Line(prefix+t.Title, maxTitle), pending
	for callID, c := range m.calls {
		if c.agent == id && c.tool == b.Tool && sameJSON(c.input, b.Input) && !slices.ContainsFunc(
			slices.Collect(maps.Values(m.asked)), func(t toolCall) bool { return t.ToolCallID == callID }) {
			t.ToolCallID = cmp.Or(min(t.ToolCallID, callID), callID)
		}
	}
	for _, about := range []string{b.Reason, eventtext.PlaceOf(b.Place), eventtext.DeniedAt(b.Deadline)} {
		if about != "" {
			t.Content = append(t.Content, textContent(clip(sanitize.Text(about), maxTitle)))
		}
	}
	frames := m.childState(id, childState{State: "requires_action"})
	if t.ToolCallID != "" {
		m.asked[b.Request] = t
		return append(frames, frame{session, toolCall{Update: toolChanged, ToolCallID: t.ToolCallID, Status: pending}})
	}
	t.ToolCallID = b.Request
	m.asked[b.Request] = t
	t.Update = toolStarted
	return append(frames, frame{session, t})
}

// inFull is the call of a permission request with all that a human decides on: a title is cut, and an editor need not
// show the input. A difference shows a change of a file, but no character that is not seen.
func (m *mapper) inFull(t toolCall, i supervisor.InboxItem) toolCall {
	text := eventtext.Unseen
	if len(t.Content) == 0 || t.Content[0]["type"] != "diff" {
		t.Content = nil // the text has the reason and the place
		text, _ = eventtext.Text(history.Entry{Event: contract.Event{ID: i.Agent, Body: *i.Request}}, m.name)
		text = words.Fenced(sanitize.Text(text))
	} else if !eventtext.Concealed(i.Request.Input) {
		return t
	}
	t.Content = append(slices.Clip(t.Content), textContent(text))
	return t
}

// permission shows how a request was decided. A decision without a human is shown with its call.
func (m *mapper) permission(id string, b contract.Permission) []frame {
	t, ok := m.asked[b.Request]
	if !ok {
		return nil
	}
	delete(m.asked, b.Request)
	session, _ := m.home(id)
	u := toolCall{Update: toolChanged, ToolCallID: t.ToolCallID, Status: inProgress}
	own := t.ToolCallID == b.Request
	switch {
	case b.Behavior == bridge.Deny:
		u.Status = failed
	case own:
		u.Status = completed
	}
	said, _ := eventtext.Text(history.Entry{Event: contract.Event{ID: id, Body: b}}, m.name) // for whom, too
	frames := append(m.on(session, u), m.chunk(session, thoughtChunk, "", said)...)
	if a := m.agents[id]; a != nil && a.state.State == "requires_action" { // otherwise its turn is over
		frames = append(m.childState(id, childState{State: "running"}), frames...)
	}
	return frames
}

// closeCalls ends the calls of an agent whose turn or process has ended, or of all agents if agent is empty: they get
// no result any more.
func (m *mapper) closeCalls(agent string) []frame {
	var frames []frame
	for _, id := range slices.Sorted(maps.Keys(m.calls)) {
		c := m.calls[id]
		if agent == "" || c.agent == agent {
			delete(m.calls, id)
			frames = append(frames, frame{c.session, toolCall{Update: toolChanged, ToolCallID: id, Status: failed}})
		}
	}
	return frames
}

func textContent(text string) object { return object{"type": "content", "content": textOf(text)} }

func isObject(raw json.RawMessage) bool {
	raw = bytes.TrimSpace(raw)
	return len(raw) > 0 && raw[0] == '{' && json.Valid(raw)
}

// sameJSON compares two inputs by value, regardless of formatting.
func sameJSON(a, b json.RawMessage) bool {
	var x, y any
	return json.Unmarshal(a, &x) == nil && json.Unmarshal(b, &y) == nil && reflect.DeepEqual(x, y)
}

// object is a message to the client, or a part of one, with the names of the protocol.
type object map[string]any

// Methods that the client serves.
const (
	methodUpdate        = "session/update"
	methodPermission    = "session/request_permission"
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
	initializeParams struct {
		ClientCapabilities struct {
			Auth struct {
				Terminal bool `json:"terminal"`
			} `json:"auth"`
			Elicitation *struct {
				Form *object `json:"form"`
			} `json:"elicitation"`
			Session *struct {
				Compaction *object `json:"compaction"`
				Notices    *object `json:"notices"`
			} `json:"session"`
			Subagents *object `json:"subagents"`
		} `json:"clientCapabilities"`
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
	permissionResult struct {
		Outcome struct {
			Outcome  string `json:"outcome"`
			OptionID string `json:"optionId"`
		} `json:"outcome"`
	}
)

// Kinds of updates that have several places.
const (
	userChunk    = "user_message_chunk"
	agentChunk   = "agent_message_chunk"
	thoughtChunk = "agent_thought_chunk"
	toolStarted  = "tool_call"
	toolChanged  = "tool_call_update"
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
	Update    any    `json:"update"` // object or toolCall
}

type (
	// contentBlock is a part of a prompt.
	contentBlock struct {
		Type     string `json:"type"`
		Text     string `json:"text"`
		URI      string `json:"uri"`
		Resource *struct {
			URI  string  `json:"uri"`
			Text *string `json:"text"`
		} `json:"resource"`
	}
	// toolCall is a tool_call, a tool_call_update, or the call in a permission request, which has no sessionUpdate.
	toolCall struct {
		Update     string          `json:"sessionUpdate,omitempty"`
		ToolCallID string          `json:"toolCallId"`
		Title      string          `json:"title,omitempty"`
		Name       string          `json:"name,omitempty"`
		Kind       string          `json:"kind,omitempty"`
		Status     string          `json:"status,omitempty"`
		Content    []object        `json:"content,omitempty"` // texts, and changes of a file
		Locations  []object        `json:"locations,omitempty"`
		RawInput   json.RawMessage `json:"rawInput,omitempty"`
	}
	// childState is the state of an Orchestrator's session.
	childState struct {
		State      string `json:"state"`
		StopReason string `json:"stopReason,omitempty"`
	}
)

func textOf(s string) object { return object{"type": "text", "text": s} }
