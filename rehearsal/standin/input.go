package standin

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// inbound is a line from the host.
type inbound struct {
	Type      string          `json:"type"`
	RequestID string          `json:"request_id"`
	Request   json.RawMessage `json:"request"`
	Response  *struct {
		Subtype   string          `json:"subtype"`
		RequestID string          `json:"request_id"`
		Response  json.RawMessage `json:"response"`
		Error     string          `json:"error"`
	} `json:"response"`
	UUID    string `json:"uuid"`
	Message *struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
	Composed bool `json:"client_composed"`
}

// read takes lines from stdin until it ends or one is malformed. It never waits
// for a turn: requests that take time are answered aside.
func (s *session) read(stdin io.Reader) {
	r := bufio.NewReader(ears{stdin, s.faults}) // lines are unbounded: 120 MB were seen to work
	for {
		line, err := r.ReadBytes('\n')
		if s.faults.deafened.Load() {
			hang()
		}
		if errors.Is(err, os.ErrClosed) { // by ourselves: no end of input
			<-s.ctx.Done()
			return
		}
		if s.faults.deaf() {
			<-s.ctx.Done()
			return
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if bad := s.receive(line); bad != nil {
				fmt.Fprintln(s.stderr, bad)
				one := 1
				s.leave(&one, errTerminated)
				return
			}
		}
		if err != nil {
			// End of input is no stop: what is queued still runs, without a host to ask.
			s.host.close()
			s.inbox.close()
			return
		}
	}
}

// receive handles one line. The error is fatal, in the CLI's words.
func (s *session) receive(line []byte) error {
	var in inbound
	switch line[0] {
	case '{':
	case '[', '"':
		if json.Valid(line) {
			return nil
		}
	default:
		var n float64
		if json.Unmarshal(line, &n) == nil && string(line) != "null" {
			return nil
		}
	}
	if string(line) == "null" {
		return fmt.Errorf("Error parsing streaming input line (type=unknown, %d chars): TypeError", len(line))
	}
	if err := json.Unmarshal(line, &in); err != nil {
		return fmt.Errorf("Error parsing streaming input line (type=unknown, %d chars): SyntaxError", len(line))
	}
	switch in.Type {
	case "control_request":
		if len(in.Request) == 0 || string(in.Request) == "null" {
			return errors.New("Error: Missing request on control_request")
		}
		s.control(in.RequestID, in.Request)
	case "control_response":
		if in.Response != nil {
			s.answered(line, in)
		}
	case "user":
		return s.userMessage(in)
	}
	return nil
}

// answered hands the host's answer on; with --replay-user-messages the CLI echoes it.
func (s *session) answered(line []byte, in inbound) {
	r := reply{body: in.Response.Response}
	if in.Response.Subtype == "error" {
		r.refused = in.Response.Error
		if r.refused == "" {
			r.refused = "unknown error"
		}
	}
	if s.replays {
		s.out.write(bytes.Clone(line))
	}
	s.host.resolve(in.Response.RequestID, r)
}

func (s *session) userMessage(in inbound) error {
	role := "undefined"
	if in.Message != nil {
		role = in.Message.Role
	}
	if role != "user" {
		return fmt.Errorf("Error: Expected message role 'user', got '%s'", role)
	}
	blocks, err := contentBlocks(in.Message.Content)
	if err != nil {
		return errors.New("Error: Expected message content to be a string or a list of blocks")
	}
	m := message{uuid: in.UUID, blocks: blocks, content: in.Message.Content, composed: in.Composed}
	if len(m.content) == 0 {
		m.content = json.RawMessage(`""`)
	}
	if s.faults.swallows() {
		return nil
	}
	arrival := s.inbox.admit(m.uuid)
	if arrival != welcome {
		s.diary.message("dropped", s.id, m)
	}
	switch arrival {
	case repeated:
		s.replay(m)
		return nil
	case inQueue:
		return nil
	case pastDone:
		s.replay(m)
		s.lifecycle(m.uuid, "completed")
		return nil
	}
	s.setState(s.stateWhenAsked())
	s.lifecycle(m.uuid, "queued")
	s.main.tr.note(obj{"type": "queue-operation", "operation": "enqueue", "timestamp": now(), "content": m.text()})
	s.inbox.push(m)
	return nil
}

// stateWhenAsked is the state after a message came: an open question stays open.
func (s *session) stateWhenAsked() string {
	if st := s.currentState(); st != "idle" {
		return st
	}
	return "running"
}
