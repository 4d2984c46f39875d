package acp

import (
	"bytes"
	"encoding/json"
	"io"
	"log/slog"
	"os"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/arbiter-cli/arbiter/bridge"
	"github.com/arbiter-cli/arbiter/transcript/jsonl"
)

// connect begins to speak with the agent.
func (a *agent) connect(in *os.File, out io.Reader) {
	said := &stdout{a: a, lines: jsonl.NewLineReader(out, 0), ready: make(chan struct{})}
	a.conn = sdk.NewClientSideConnection(a, stdin{a, in}, said)
	a.conn.SetLogger(slog.New(slog.DiscardHandler))
	close(said.ready)
}

// stdout is what the agent says, for the library, but for the updates of the session: they are served here, one after
// the other. The library has a queue for them, which requests overtake, and it ends the connection when there are 1024
// in it: the history of a session that is loaded, or a client that does not read for a moment, has more.
type stdout struct {
	a     *agent
	lines *jsonl.LineReader
	ready chan struct{} // closed when conn is set
	rest  []byte        // of the line that is being read
}

// maxLine is the longest line that the library reads, in bytes: it ends the connection at a longer one.
const maxLine = 10<<20 - 2

func (s *stdout) Read(b []byte) (int, error) {
	<-s.ready
	for len(s.rest) == 0 {
		line, err := s.lines.Next()
		if err != nil {
			return 0, err
		}
		s.a.NoteOutput()
		if s.update(line.Data) {
			continue
		}
		if line.Oversize || len(line.Data) > maxLine {
			s.a.Emit(bridge.Error{Category: bridge.CatProtocol,
				Message: "it sent a message that is too long; it is ended"})
			return 0, io.EOF
		}
		s.rest = append(bytes.Clone(line.Data), '\n')
	}
	n := copy(b, s.rest)
	s.rest = s.rest[n:]
	return n, nil
}

// update serves a line that is an update. It returns false for others, and for what it cannot read.
func (s *stdout) update(line []byte) bool {
	var m struct {
		ID     json.RawMessage
		Method string
		Params sdk.SessionNotification
	}
	if !bytes.Contains(line, []byte(sdk.ClientMethodSessionUpdate)) || json.Unmarshal(line, &m) != nil ||
		m.Method != sdk.ClientMethodSessionUpdate || !jsonl.IsNull(m.ID) || m.Params.Validate() != nil {
		return false
	}
	_ = s.a.SessionUpdate(s.a.Ctx, m.Params) // it does not fail
	return true
}

// stdin is the agent's input, for the library. It sees when the prompt of a turn is written, and does not wait forever
// for an agent that does not read.
type stdin struct {
	a    *agent
	pipe *os.File
}

func (s stdin) Write(line []byte) (int, error) {
	_ = s.pipe.SetWriteDeadline(time.Now().Add(writeTimeout)) // only fails when it is closed
	n, err := s.pipe.Write(line)
	if err != nil && n > 0 {
		s.a.breakOff() // a line was cut short: a further line would be garbage
	}
	s.a.mu.Lock()
	defer s.a.tell()
	if t := s.a.turn; err == nil && t != nil && strings.Contains(string(line), markOf(t.id)) {
		t.once.Do(func() {
			close(t.written)
			s.a.say(bridge.Delivered{MessageID: t.id, Proof: bridge.ProofWritten})
		})
	}
	return n, err
}
