package fakecli

import (
	"cmp"
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"sync"
)

// transcriptFile is the append-only file of a conversation, mode 0600. Without a path nothing
// is kept (--no-session-persistence).
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
func (t *transcriptFile) note(line obj) {
	t.mu.Lock()
	defer t.mu.Unlock()
	line["sessionId"] = t.base["sessionId"]
	t.write(line)
}

// write appends a line. The first one creates the file, like the CLI; a session continues
// without a file that cannot be had.
func (t *transcriptFile) write(line obj) {
	if t.path == "" {
		return
	}
	if t.file == nil {
		_ = os.MkdirAll(filepath.Dir(t.path), 0o755)
		t.file, _ = os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	}
	_, _ = t.file.Write(append(encode(line), '\n'))
}

// close is the last call.
func (t *transcriptFile) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	_ = t.file.Close()
}

// systemText adds a text of role system to the conversation and, as an attachment, to the
// transcript, from where a resume reads it.
func (t *thread) systemText(kind, text string, extra obj) {
	t.add("system", textBlock(text))
	attachment := obj{"type": kind}
	maps.Copy(attachment, extra)
	t.tr.link(obj{"type": "attachment", "attachment": attachment, "rendered": []obj{{"content": text}}})
}

// linkUser adds a message of role user to the transcript.
func (t *thread) linkUser(uuid string, content any, extra obj) {
	line := obj{"type": "user", "uuid": cmp.Or(uuid, newUUID()), "message": obj{"role": "user", "content": content}}
	maps.Copy(line, extra)
	t.tr.link(line)
}

var notAlphanumeric = regexp.MustCompile(`[^A-Za-z0-9]`)

// munge names the project directory of a working directory, much like the CLI.
func munge(dir string) string {
	name := notAlphanumeric.ReplaceAllString(dir, "-")
	return name[max(0, len(name)-200):]
}

// contentBlocks reads message content: a list of blocks, or bare text.
func contentBlocks(raw json.RawMessage) ([]json.RawMessage, error) {
	if len(raw) == 0 || string(raw) == "null" {
		return nil, nil
	}
	if raw[0] == '"' {
		var s string
		err := json.Unmarshal(raw, &s)
		return []json.RawMessage{textBlock(s)}, err
	}
	var blocks []json.RawMessage
	err := json.Unmarshal(raw, &blocks)
	return blocks, err
}
