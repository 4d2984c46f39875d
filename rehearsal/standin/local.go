package standin

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
)

// commandNames are the slash commands that run locally.
var commandNames = []string{"compact", "cost"}

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
	if name == "compact" {
		filled := 0
		if last := s.ledger.last(); last != nil {
			filled = last.context()
		}
		s.main.compact(ctx, "manual", filled)
		s.recordCommand(m, name, args, "Compacted")
		return ""
	}
	text := s.ledger.text()
	s.main.emit(obj{"type": "assistant", "message": syntheticMessage(text, "end_turn"),
		"local_command_source": "<local-command-stdout>" + text + "</local-command-stdout>", "timestamp": now()})
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
	s.main.tr.link(obj{"type": "user", "uuid": id, "message": obj{"role": "user", "content": text}})
}
