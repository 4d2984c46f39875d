package fakecli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"sync"
)

// transcriptFile is the append-only file of a conversation, mode 0600. Without a path nothing is written
// (--no-session-persistence).
type transcriptFile struct {
	path string
	base obj // fields of every linked line

	mu   sync.Mutex
	file *os.File
	leaf string // uuid of the last linked line
}

func newTranscript(path string, s *session) *transcriptFile {
	return &transcriptFile{path: path,
		base: obj{"isSidechain": false, "cwd": s.cwd, "sessionId": s.id, "version": version}}
}

// link appends a line that continues the conversation.
func (t *transcriptFile) link(line obj) {
	maps.Copy(line, t.base)
	if _, ok := line["uuid"]; !ok {
		line["uuid"] = newUUID()
	}
	line["timestamp"] = now()
	t.mu.Lock()
	defer t.mu.Unlock()
	line["parentUuid"] = nullable(t.leaf)
	t.leaf, _ = line["uuid"].(string)
	t.write(line)
}

// note appends a line outside the conversation.
func (t *transcriptFile) note(line any) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.write(line)
}

// write appends a line. The first one creates the file, like the CLI; if the file cannot be opened, the
// session continues without it.
func (t *transcriptFile) write(line any) {
	if t.path == "" {
		return
	}
	if t.file == nil {
		_ = os.MkdirAll(filepath.Dir(t.path), 0o755)
		t.file, _ = os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	_, _ = t.file.Write(append(encode(line), '\n'))
}

// close must be the last call.
func (t *transcriptFile) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.file.Close()
}

// systemText adds a text of role system to the conversation, and to the transcript with the attachment that
// the CLI's transcripts have for it.
func (t *thread) systemText(kind, text string, extra obj) {
	blocks, attachment := []json.RawMessage{textBlock(text)}, obj{"type": kind}
	maps.Copy(attachment, extra)
	t.add("system", blocks...)
	t.tr.link(obj{"type": "attachment", "attachment": attachment, "message": wireMessage{"system", blocks}})
}

// linkUser adds a message of role user to the transcript.
func (t *thread) linkUser(uuid string, content any, extra obj) {
	line := obj{"type": "user", "uuid": cmp.Or(uuid, newUUID()), "message": obj{"role": "user", "content": content}}
	maps.Copy(line, extra)
	t.tr.link(line)
}

// projectName names the project directory of a working directory, much like the CLI.
func projectName(dir string) string {
	name := regexp.MustCompile("[^a-zA-Z0-9]").ReplaceAllLiteralString(dir, "-")
	return name[max(0, len(name)-200):]
}

// contentBlocks reads message content: a list of blocks, or plain text. Other content counts as empty.
func contentBlocks(raw json.RawMessage) (blocks []json.RawMessage) {
	var text string
	if json.Unmarshal(raw, &text) == nil && text != "" {
		return []json.RawMessage{textBlock(text)}
	}
	_ = json.Unmarshal(raw, &blocks)
	return blocks
}

// Texts that a resume adds to a conversation that was cut off (CLI 2.1.329).
const (
	noResponse  = "No response requested."
	lostOutcome = "[Tool call interrupted: the session ended before its result was recorded, " +
		"so its outcome is unknown.]"
)

// costState is the transcript's line about costs, from which a resume continues.
type costState struct {
	Type    string     `json:"type"` // cost-state
	Session string     `json:"sessionId"`
	Cost    float64    `json:"totalCostUSD"`
	Usage   modelUsage `json:"modelUsage"`
}

// transcriptLine holds the fields that are read from a transcript line.
type transcriptLine struct {
	UUID       string `json:"uuid"`
	APIError   bool   `json:"isApiErrorMessage"`
	Attachment struct {
		SourceUUID string `json:"source_uuid"`
	} `json:"attachment"`
	Message struct {
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   *usage          `json:"usage"`
	} `json:"message"`
	costState
}

// takeUp reads the transcript of the session that this process resumes. It skips lines that are not JSON: a crash can
// leave an incomplete one. Only stand-ins wrote the file, one after the other, so it has no branches.
func (s *session) takeUp(path string) {
	raw, _ := os.ReadFile(path) // an unreadable file counts as empty
	for line := range bytes.Lines(raw) {
		var l transcriptLine
		if json.Unmarshal(line, &l) == nil {
			s.takeLine(&l)
		}
	}
}

func (s *session) takeLine(l *transcriptLine) {
	blocks := contentBlocks(l.Message.Content)
	switch l.Type {
	case "user":
		s.unanswered = append(s.unanswered, l.UUID)
	case "assistant":
		s.answered()
		if l.APIError {
			blocks = nil // an answer that the model never sees
		} else if l.Message.Model != synthetic {
			s.account.last = l.Message.Usage
		}
	case "attachment":
		s.unanswered = append(s.unanswered, l.Attachment.SourceUUID)
	case "cost-state":
		s.account.cost = l.Cost
		maps.Copy(s.account.total, l.Usage)
		return
	}
	s.main.tr.leaf = l.UUID
	s.main.add(l.Message.Role, blocks...)
	for _, b := range parse(blocks) {
		if b.Type == "tool_use" {
			s.dangling = append(s.dangling, b.ID)
		}
		s.dangling = slices.DeleteFunc(s.dangling, func(id string) bool { return id == b.ToolUseID })
	}
}

// answered records that an earlier process has answered what was not answered so far, at least in part.
func (s *session) answered() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range s.unanswered {
		s.known[id] = true
	}
	s.unanswered = nil
}

// closeOpenCalls completes a conversation that a crash cut off, before the first message of the
// resumed session joins it.
func (s *session) closeOpenCalls() {
	if len(s.unanswered) == 0 && len(s.dangling) == 0 {
		return
	}
	for _, id := range s.dangling {
		b := encode(obj{"type": "tool_result", "tool_use_id": id, "content": lostOutcome, "is_error": true})
		s.main.add("user", b)
		s.main.linkUser("", []json.RawMessage{b}, nil)
	}
	s.dangling = nil
	s.answered()
	s.main.add("assistant", textBlock(noResponse))
	s.main.tr.link(obj{"type": "assistant", "message": syntheticMessage(noResponse)})
}
