package fakecli

import (
	"bufio"
	"encoding/json"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"

	"github.com/arbiter-cli/arbiter/internal/backlog"
)

// inbound is a line from the host.
type inbound struct {
	Type      string          `json:"type"`
	RequestID string          `json:"request_id"`
	Request   *controlRequest `json:"request"`
	Response  *struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
	} `json:"response"`
	UUID    string `json:"uuid"`
	Message struct {
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// read reads lines from stdin until it ends or a line is malformed. It never waits for a turn.
func (s *session) read(stdin io.Reader) {
	r := bufio.NewReader(stoppableReader{stdin, s.faults}) // lines are unbounded: 120 MB were seen to work
	for {
		line, err := r.ReadBytes('\n')
		switch {
		case s.faults.readingStopped.Load():
			hang()
		case s.faults.stopsReading():
			<-s.ctx.Done()
			return
		}
		s.receive(line)
		if err != nil {
			// The end of input does not stop the session: queued messages still run, without a host to ask.
			s.hangUp()
			return
		}
	}
}

// receive handles one line. Unknown lines are ignored.
func (s *session) receive(line []byte) {
	var in inbound
	_ = json.Unmarshal(line, &in) // other lines have no type
	switch r := in.Response; {
	case in.Type == "control_request" && in.Request != nil:
		s.control(in.RequestID, *in.Request)
	case in.Type == "control_response" && r != nil && r.Subtype == "error":
		s.resolve(r.RequestID, reply{err: refusal(r.Error)})
	case in.Type == "control_response" && r != nil:
		s.resolve(r.RequestID, reply{body: r.Response})
	case in.Type == "user" && !s.faults.swallows():
		s.userMessage(message{uuid: in.UUID, blocks: contentBlocks(in.Message.Content), content: in.Message.Content})
	}
}

// message is a user message from the host.
type message struct {
	uuid    string            // "" if the host gave none
	blocks  []json.RawMessage // its content as blocks
	content json.RawMessage   // its content as it was sent, for the replay
}

func (m message) text() string { return textOf(m.blocks) }

func uuidsOf(messages []message) []string {
	ids := []string{}
	for _, m := range messages {
		if m.uuid != "" {
			ids = append(ids, m.uuid)
		}
	}
	return ids
}

// userMessage queues a message. A message whose uuid came before, here or to an earlier process, is dropped
// as a repetition.
func (s *session) userMessage(m message) {
	s.mu.Lock()
	answered, repeat := s.known[m.uuid]
	s.known[m.uuid] = answered
	s.mu.Unlock()
	if m.uuid == "" || !repeat {
		s.lifecycle(m.uuid, "queued") // before a turn can take it
		s.inbox.Put(m, len(m.content), backlog.Limit{})
		return
	}
	s.ledger.message("dropped", s.id, m)
	if !slices.Contains(s.waiting(), m.uuid) {
		s.replay(m)
	}
	if answered {
		s.lifecycle(m.uuid, "completed")
	}
}

// markAnswered records messages that an earlier process answered.
func (s *session) markAnswered(uuids []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range uuids {
		s.known[id] = true
	}
}

// next waits for the message of the next turn; ok is false if no more can come. Further waiting messages
// join the turn as it starts; the CLI makes one message of all of them.
func (s *session) next() (m message, ok bool) {
	for s.ctx.Err() == nil {
		last := s.inputEnded.Err() != nil // read first: nothing is queued after the end of input
		if first, _, _ := s.inbox.Take(1); len(first) > 0 {
			return first[0], true
		} else if last {
			break
		}
		select {
		case <-s.inbox.Wake():
		case <-s.inputEnded.Done():
		case <-s.ctx.Done():
		}
	}
	return message{}, false
}

// take empties the inbox.
func (s *session) take() []message {
	all, _, _ := s.inbox.Take(0)
	return all
}

func (s *session) waiting() []string { return uuidsOf(s.inbox.All()) }

// In a terminal the fake CLI is a line-based conversation, with only what a takeover needs.

// isTerminal reports whether a person resumes a session by hand.
func isTerminal(f flags, stdin io.Reader) bool {
	file, ok := stdin.(*os.File)
	return ok && !f.has("-p") && f.has("--resume") && term.IsTerminal(int(file.Fd()))
}

const terminalPrompt = "> "

// welcome shows the last answer of the session.
func (s *session) welcome() {
	last := ""
	for _, m := range s.main.messages { // no other goroutine uses it yet
		if text := textOf(m.Content); m.Role == "assistant" && text != "" {
			last = text
		}
	}
	s.out.write([]byte("Claude Code stand-in, session " + s.id + "; /exit leaves\n" + last + "\n" + terminalPrompt))
}

// readTyped reads lines until /exit or the end of the terminal.
func (s *session) readTyped(stdin io.Reader) {
	defer s.hangUp()
	for lines := bufio.NewReader(stdin); ; {
		line, err := lines.ReadString('\n')
		text := strings.TrimSpace(line)
		if text == "/exit" || err != nil {
			return
		}
		if text != "" {
			s.userMessage(message{uuid: newUUID(), blocks: []json.RawMessage{textBlock(text)}, content: encode(text)})
		}
	}
}
