package standin

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"sync/atomic"
)

// session is one running stand-in.
type session struct {
	id     string
	flags  flags
	env    environ
	cwd    string
	pid    int
	stderr io.Writer
	out    *lineWriter

	host   *host
	inbox  *inbox
	perms  *permissions
	hooks  hookSet
	mcp    *mcpServers
	ledger *ledger
	faults *faults
	diary  *diary
	api    *apiClient
	main   *thread
	board  taskBoard

	builtin         []*tool
	promptsOnStdio  bool // permission questions go to the host
	partialMessages bool
	replays         bool
	stateEvents     bool
	typed           bool         // a person types, in a terminal
	breaks          atomic.Int32 // Ctrl-C since the last line
	maxBudget       float64
	past            *past // of a resumed session, until the first turn closes it
	introduced      bool  // the conversation has its environment message

	ctx    context.Context
	cancel context.CancelCauseFunc
	aside  sync.WaitGroup // control requests that take time

	mu          sync.Mutex
	prompt      string // promptId of the turn
	modelName   string
	firstModel  string
	effortLevel string
	systemText  string // replaces the usual prompt
	appendText  string
	snapshot    []json.RawMessage // system prompt of the resumed session
	schema      *verdictSchema
	current     *turn
	state       string // running, requires_action or idle
	questions   int    // permission questions open
	results     int
	failed      bool // the last result was an error
	exit        *int
}

// verdictSchema is the schema of the turn's verdict, raw and compiled.
type verdictSchema struct {
	raw   json.RawMessage
	check *schema
}

func (s *session) promptID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.prompt
}

func (s *session) currentModel() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.modelName
}

func (s *session) effort() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.effortLevel
}

func (s *session) verdictSchema() *verdictSchema {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.schema
}

// The first blocks of every system prompt: a billing header, as the CLI sends it,
// and who speaks.
const (
	billingHeader = "x-anthropic-billing-header: cc_version=" + version + ".standin; cc_entrypoint=sdk-cli;"
	identity      = "You are a Claude agent, built on Anthropic's Claude Agent SDK."
	identityCode  = "You are Claude Code, Anthropic's official CLI for Claude, running within the Claude Agent SDK."
	usualPrompt   = "You are an agent working with the user toward their goals. (This is the stand-in for Claude Code; its prompt is short.)"
	agentPrompt   = "You are an agent for Claude Code, Anthropic's official CLI for Claude. Complete the task and report back."
)

// system is the system prompt of a request.
func (s *session) system(sub *subagent) []json.RawMessage {
	if sub != nil {
		return []json.RawMessage{textBlock(billingHeader + " cc_is_subagent=true;"), textBlock(identity), textBlock(agentPrompt)}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.snapshot != nil:
		return s.snapshot
	case s.systemText != "" && s.appendText != "":
		return []json.RawMessage{textBlock(billingHeader), textBlock(identity), textBlock(s.systemText + "\n\n" + s.appendText)}
	case s.systemText != "":
		return []json.RawMessage{textBlock(billingHeader), textBlock(identity), textBlock(s.systemText)}
	case s.appendText != "":
		return []json.RawMessage{textBlock(billingHeader), textBlock(identityCode), textBlock(usualPrompt + "\n\n" + s.appendText)}
	}
	return []json.RawMessage{textBlock(billingHeader), textBlock(identity), textBlock(usualPrompt)}
}

// emit writes a frame. Control frames go out as they are, others get the session's
// id and a uuid.
func (s *session) emit(o obj) {
	kind, _ := o["type"].(string)
	if !strings.HasPrefix(kind, "control_") {
		if _, ok := o["uuid"]; !ok {
			o["uuid"] = newUUID()
		}
		o["session_id"] = s.id
		if o["subtype"] == "init" {
			if other, ok := s.faults.otherSession(); ok {
				o["session_id"] = other
			}
		}
	}
	switch {
	case !s.typed:
		s.out.write(encode(o))
	case kind == "result":
		text, _ := o["result"].(string)
		s.out.write([]byte(text))
		s.out.write([]byte(terminalPrompt))
	}
}

func (s *session) lifecycle(uuid, state string) {
	if uuid != "" {
		s.emit(obj{"type": "command_lifecycle", "command_uuid": uuid, "state": state})
	}
}

// replay re-emits a user message (--replay-user-messages).
func (s *session) replay(m message) {
	if !s.replays {
		return
	}
	o := obj{"type": "user", "message": obj{"role": "user", "content": m.content}, "parent_tool_use_id": nil, "isReplay": true, "timestamp": now()}
	if m.uuid != "" {
		o["uuid"] = m.uuid
	}
	s.emit(o)
}

// setState shows a change of the session's state.
func (s *session) setState(state string) {
	s.mu.Lock()
	changed := s.state != state
	s.state = state
	s.mu.Unlock()
	if changed && s.stateEvents {
		s.emit(obj{"type": "system", "subtype": "session_state_changed", "state": state})
	}
}

func (s *session) currentState() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state
}

// needAction counts open permission questions: any of them puts the session into
// requires_action.
func (s *session) needAction(open bool) {
	s.mu.Lock()
	if open {
		s.questions++
	} else {
		s.questions--
	}
	state := "running"
	if s.questions > 0 {
		state = "requires_action"
	}
	s.mu.Unlock()
	s.setState(state)
}

func (s *session) startTurn(t *turn) {
	s.mu.Lock()
	s.prompt, s.current, s.main.turn = newUUID(), t, t
	s.mu.Unlock()
	s.setState("running")
}

func (s *session) endTurn() {
	s.mu.Lock()
	s.current = nil
	s.mu.Unlock()
}

func (s *session) currentTurn() *turn {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.current
}

var capabilities = strings.Fields(`interrupt_receipt_v1 interrupt_cancel_queued_v1 msg_lifecycle_v1 sdk_mcp_tools_list_changed`)

// emitInit shows the session at the start of every turn.
func (s *session) emitInit(t *turn) {
	o := obj{
		"type": "system", "subtype": "init", "cwd": s.cwd, "tools": initNames(s.main.toolset()), "mcp_servers": s.mcp.brief(),
		"model": s.currentModel(), "permissionMode": s.perms.currentMode(), "slash_commands": commandNames, "apiKeySource": s.keySource(),
		"claude_code_version": version, "stand_in": true, "output_style": "default", "agents": []string{"general-purpose"},
		"skills": []string{}, "plugins": []obj{}, "capabilities": capabilities,
	}
	if len(t.uuids) > 0 {
		o["user_message_uuids"] = t.uuids
	}
	s.emit(o)
}

func (s *session) keySource() string {
	if s.env["ANTHROPIC_API_KEY"] != "" {
		return "ANTHROPIC_API_KEY"
	}
	return "none"
}

// closePast completes a conversation that a crash had cut off, before the first
// message of the resumed session joins it.
func (s *session) closePast() {
	p := s.past
	s.past = nil
	if p == nil || !p.open && len(p.dangling) == 0 {
		return
	}
	t := s.main
	for _, id := range p.dangling {
		b := obj{"type": "tool_result", "tool_use_id": id, "content": lostOutcome, "is_error": true}
		t.hist.add(entry{role: "user", blocks: []json.RawMessage{encode(b)}})
		t.tr.link(obj{"type": "user", "message": obj{"role": "user", "content": []obj{b}}})
	}
	for _, id := range p.unanswered {
		s.inbox.answered(id)
	}
	t.hist.addText("assistant", noResponse)
	t.tr.link(obj{"type": "assistant", "message": syntheticMessage(noResponse, "stop_sequence"), "isApiErrorMessage": false})
}

// leave ends the process with a code once the turn is over: errInterrupted lets it
// end with a result, errTerminated does not. A nil code means what the last result
// says. The first call counts.
func (s *session) leave(code *int, cause error) {
	s.mu.Lock()
	if s.exit == nil {
		s.exit = code
	}
	s.mu.Unlock()
	s.cancel(cause)
	s.inbox.close()
	s.host.close()
}

// exitCode is the process's, when all is done: 1 only means that the last result
// was an error.
func (s *session) exitCode() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.exit != nil:
		return *s.exit
	case s.failed:
		return 1
	}
	return 0
}

// run takes turns until no message can come any more.
func (s *session) run() int {
	for {
		batch := s.inbox.next(s.ctx)
		if batch == nil {
			break
		}
		s.runTurn(batch)
	}
	s.cancel(errTerminated)
	s.host.close()
	s.aside.Wait()
	s.mcp.settle()
	s.main.tr.close()
	return s.exitCode()
}
