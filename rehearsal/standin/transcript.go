package standin

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"
	"unicode/utf16"

	"github.com/google/uuid"
)

// version is the CLI's that the stand-in stands in for.
const version = "2.1.329"

// transcript is one append-only file of a conversation, mode 0600. Without a
// path nothing is kept (--no-session-persistence).
type transcript struct {
	path string // "" = not kept
	base obj    // fields of every linked line

	once  sync.Once
	file  *os.File
	lines *lineWriter // nil until the first line, and when nothing is kept

	mu   sync.Mutex
	leaf string // uuid of the last linked line
	kept []line // linked since the last compaction
}

// now is a timestamp as frames and transcripts carry it.
func now() string { return time.Now().UTC().Format("2006-01-02T15:04:05.000Z") }

func newUUID() string { return uuid.NewString() }

// link appends a line that continues the conversation and returns its uuid.
func (t *transcript) link(line obj) string {
	if _, ok := line["uuid"]; !ok {
		line["uuid"] = newUUID()
	}
	id := line["uuid"].(string)
	if !t.open() {
		return id
	}
	for k, v := range t.base {
		if _, ok := line[k]; !ok {
			line[k] = v
		}
	}
	line["timestamp"] = now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if _, ok := line["parentUuid"]; !ok {
		line["parentUuid"] = nullable(t.leaf)
	}
	t.leaf = id
	t.kept = append(t.kept, describeLine(line))
	t.lines.write(encode(line))
	return id
}

// note appends a line outside the chain.
func (t *transcript) note(line obj) {
	if !t.open() {
		return
	}
	line["sessionId"] = t.base["sessionId"]
	t.lines.write(encode(line))
}

// open creates the file with the first line (not at start, like the CLI) and
// tells whether there is one. A file that cannot be had is done without.
func (t *transcript) open() bool {
	t.once.Do(func() {
		if t.path == "" || os.MkdirAll(filepath.Dir(t.path), 0o755) != nil {
			return
		}
		f, err := os.OpenFile(t.path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
		if err == nil {
			t.file, t.lines = f, newLineWriter(f)
		}
	})
	return t.lines != nil
}

// last is the uuid the next line will continue from.
func (t *transcript) last() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.leaf
}

// lastGroup are the uuids of the lines that a compaction keeps as they are; from
// now on only later lines count.
func (t *transcript) lastGroup() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	uuids := lastGroup(t.kept)
	t.kept = nil
	return uuids
}

// flush waits until all lines so far are in the file.
func (t *transcript) flush() {
	if t.open() {
		t.lines.flush()
	}
}

// close writes what is left. It is the last call.
func (t *transcript) close() {
	t.once.Do(func() {})
	if t.lines != nil {
		t.lines.close(2 * time.Second)
		t.file.Close()
	}
}

func nullable(s string) any {
	if s == "" {
		return nil
	}
	return s
}

// newTranscript describes a file; agent is the id of a subagent, or "".
func newTranscript(path, cwd, session, agent string) *transcript {
	base := obj{
		"isSidechain": agent != "", "userType": "external", "entrypoint": "sdk-cli",
		"cwd": cwd, "sessionId": session, "version": version, "gitBranch": "HEAD",
	}
	if agent != "" {
		base["agentId"] = agent
	}
	return &transcript{path: path, base: base}
}

// mungeLimit is the length from which a directory name is cut and hashed.
const mungeLimit = 200

// munge names the project directory of a working directory: every UTF-16 unit
// that is no ASCII letter or digit becomes a dash (observed with CLI 2.1.329; the
// hash of names that are too long is its own, so ours differs).
func munge(dir string) string {
	var b strings.Builder
	for _, u := range utf16.Encode([]rune(dir)) {
		if u < 0x80 && (u >= '0' && u <= '9' || u >= 'A' && u <= 'Z' || u >= 'a' && u <= 'z') {
			b.WriteByte(byte(u))
		} else {
			b.WriteByte('-')
		}
	}
	s := b.String()
	if len(s) <= mungeLimit {
		return s
	}
	var h uint32
	for _, c := range []byte(s) {
		h = h*31 + uint32(c)
	}
	return fmt.Sprintf("%s-%06x", s[:mungeLimit], h&0xffffff)
}
