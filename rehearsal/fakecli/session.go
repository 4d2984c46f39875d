package fakecli

import (
	"context"
	"io"
	"strings"
	"sync"

	"github.com/arbiter-cli/arbiter/internal/backlog"
)

// version is the version of the CLI that is imitated.
const version = "2.1.329"

// session is one running fake CLI.
type session struct {
	id, cwd string
	flags   flags
	stderr  io.Writer
	out     *lineWriter
	inbox   *backlog.Queue[message]
	faults  *faults
	ledger  ledger
	main    *thread

	builtin  []tool        // never changed
	settings settings      // never changed: of --settings
	fixed    []rule        // never changed: rules of the command line
	typed    bool          // a person types, in a terminal
	model    string        // never changed
	resumed  *resumedState // of a resumed session; the first turn completes it

	ctx        context.Context
	cancel     context.CancelCauseFunc
	handshakes sync.WaitGroup // with MCP servers: the first turn waits for them
	background sync.WaitGroup // of side questions
	inputEnded context.Context
	endOfInput context.CancelFunc

	// mu guards the following fields. It is never held during I/O or a request to the host.
	mu         sync.Mutex
	mode       string                   // the permission mode
	applied    settings                 // of the last apply_flag_settings
	systemText string                   // the prompt of the host's
	hooks      map[string][]hookMatcher // by event
	mcpTools   []tool                   // of the host's MCP servers
	turn       *turn
	account    account
	pending    map[string]chan reply // requests to the host; nil once none can be sent
	known      map[string]bool       // uuids of received messages; true: an earlier process answered it
	failed     int                   // exit code by the last result: 1 if it was an error
	exit       *int                  // exit code by a signal
}

// guarded reads a field that session.mu guards.
func guarded[T any](s *session, field *T) T {
	s.mu.Lock()
	defer s.mu.Unlock()
	return *field
}

// set changes a field that session.mu guards.
func set[T any](s *session, field *T, value T) {
	s.mu.Lock()
	defer s.mu.Unlock()
	*field = value
}

// emit writes a frame. Control frames are written unchanged, others get the session's id and a uuid. In a
// terminal only results are shown.
func (s *session) emit(o obj) {
	kind, _ := o["type"].(string)
	if !strings.HasPrefix(kind, "control_") {
		if _, ok := o["uuid"]; !ok {
			o["uuid"] = newUUID()
		}
		o["session_id"] = s.id
		if o["subtype"] == "init" && s.faults.is("other-session") {
			o["session_id"] = "0badc0de-0000-4000-8000-000000000000"
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

// replay repeats a user message (--replay-user-messages): the proof that it arrived.
func (s *session) replay(m message) {
	if s.flags.has("--replay-user-messages") && m.uuid != "" {
		s.emit(obj{"type": "user", "isReplay": true, "uuid": m.uuid, "parent_tool_use_id": nil,
			"message": obj{"role": "user", "content": m.content}})
	}
}

// emitInit shows the session at the start of every turn.
func (s *session) emitInit(t *turn) {
	var names []string
	for _, tl := range s.main.toolset() {
		names = append(names, tl.Name)
	}
	s.emit(obj{"type": "system", "subtype": "init", "cwd": s.cwd, "tools": names, "model": s.model,
		"permissionMode": guarded(s, &s.mode), "claude_code_version": version, "stand_in": true,
		"user_message_uuids": uuidsOf(t.messages)})
}
