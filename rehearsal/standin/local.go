package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// commandNames are the slash commands that run locally.
var commandNames = []string{"clear", "compact", "context", "cost", "help", "model", "usage"}

// command is the local command the message calls, or "". Machine-made text
// (client_composed) calls none.
func (m message) command() string {
	rest, ok := strings.CutPrefix(m.text(), "/")
	if !ok || m.composed {
		return ""
	}
	name, _, _ := strings.Cut(rest, " ")
	if name = strings.TrimSpace(name); !slices.Contains(commandNames, name) {
		return ""
	}
	return name
}

// runCommand runs it and returns what the result says.
func (s *session) runCommand(ctx context.Context, t *turn, name string) string {
	m := t.message
	_, args, _ := strings.Cut(m.text(), " ")
	var text string
	switch name {
	case "cost", "usage":
		text = s.ledger.text()
	case "context":
		u := s.contextUsage()
		text = fmt.Sprintf("## Context Usage\n\n**Model:** %s  \n**Tokens:** %v / %v (%v%%)\n", s.currentModel(), u["totalTokens"], u["maxTokens"], u["percentage"])
	case "model":
		if args == "" {
			text = "Current model: `" + s.currentModel() + "`"
		} else {
			s.setModel(args)
			text = "Set model to " + s.currentModel()
		}
	case "help":
		text = "/help isn't available in this environment."
	case "compact":
		filled := 0
		if last := s.ledger.last(); last != nil {
			filled = last.context()
		}
		s.main.compact(ctx, "manual", filled)
		s.recordCommand(m, name, args, "Compacted")
		return ""
	case "clear":
		s.recordCommand(m, name, args, "")
		return ""
	}
	frame := obj{"type": "assistant", "message": syntheticMessage(text, "end_turn"),
		"local_command_source": "<local-command-stdout>" + text + "</local-command-stdout>", "timestamp": now()}
	s.main.emit(frame)
	s.recordCommand(m, name, args, text)
	return text
}

// recordCommand keeps the command in the transcript; the model reads it with the
// next message.
func (s *session) recordCommand(m message, name, args, output string) {
	said := fmt.Sprintf("<command-name>/%s</command-name>\n<command-message>%s</command-message>\n<command-args>%s</command-args>", name, name, args)
	line := obj{"type": "user", "promptId": s.promptID(), "message": obj{"role": "user", "content": said}}
	if m.uuid != "" {
		line["uuid"] = m.uuid
	}
	s.main.tr.link(line)
	m.content = encode(said)
	s.replay(m)
	s.main.tr.link(obj{"type": "system", "subtype": "local_command", "level": "info",
		"content": "<local-command-stdout>" + output + "</local-command-stdout>"})
}

// clear begins a new conversation in the same process, under a new session id.
func (s *session) clear(ctx context.Context, m message) {
	s.main.hook(ctx, "SessionEnd", "", obj{"reason": "clear"})
	fresh, conversation := newUUID(), newUUID() // two ids, observed with CLI 2.1.329
	s.emit(obj{"type": "conversation_reset", "uuid": conversation, "new_conversation_id": conversation, "trigger": "clear", "user_message_uuid": m.uuid})
	old := s.main.tr
	old.close()
	path := ""
	if old.path != "" {
		path = filepath.Join(filepath.Dir(old.path), fresh+".jsonl")
	}
	s.mu.Lock()
	s.id, s.snapshot, s.main.tr = fresh, nil, newTranscript(path, s.cwd, fresh, "")
	s.mu.Unlock()
	s.main.hist.replace(nil)
	s.introduced = false
	s.ledger.forgetContext()
	s.main.hook(ctx, "SessionStart", "", obj{"source": "clear"})
}

// setModel changes the model from the next call on; the change is in the stream
// and in the history.
func (s *session) setModel(name string) {
	s.mu.Lock()
	if name == "" || name == "default" {
		s.modelName = s.firstModel
	} else {
		s.modelName = resolveModel(name)
	}
	model := s.modelName
	s.mu.Unlock()
	text := "<local-command-stdout>Set model to `" + model + "`</local-command-stdout>"
	id := newUUID()
	s.emit(obj{"type": "user", "uuid": id, "isReplay": true, "parent_tool_use_id": nil, "message": obj{"role": "user", "content": text}})
	s.main.hist.add(entry{role: "user", blocks: []json.RawMessage{textBlock(text)}})
	s.transcript().link(obj{"type": "user", "uuid": id, "message": obj{"role": "user", "content": text}})
}
