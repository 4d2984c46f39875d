package fakecli

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
	Message struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// read takes lines from stdin until it ends or one is malformed. It never waits for a turn.
func (s *session) read(stdin io.Reader) {
	r := bufio.NewReader(deafReader{stdin, s.faults}) // lines are unbounded: 120 MB were seen to work
	for {
		line, err := r.ReadBytes('\n')
		if s.faults.deafened.Load() {
			hang()
		}
		if s.faults.deaf() || errors.Is(err, os.ErrClosed) { // closed by a fault: no end of input
			<-s.ctx.Done()
			return
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			if bad := s.receive(line); bad != nil {
				fmt.Fprintln(s.stderr, bad)
				s.leave(1, errTerminated)
				return
			}
		}
		if err != nil {
			// End of input is not a stop: what is queued still runs, without a host to ask.
			s.host.close()
			s.inbox.close()
			return
		}
	}
}

// receive handles one line. The error is fatal, in the CLI's words.
func (s *session) receive(line []byte) error {
	var in inbound
	err := json.Unmarshal(line, &in)
	var wrongType *json.UnmarshalTypeError
	if err != nil && !errors.As(err, &wrongType) {
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

// answered delivers the host's answer; with --replay-user-messages the CLI echoes it.
func (s *session) answered(line []byte, in inbound) {
	r := reply{body: in.Response.Response}
	if in.Response.Subtype == "error" {
		r.refused = in.Response.Error
		if r.refused == "" {
			r.refused = "unknown error"
		}
	}
	if s.flags.has("--replay-user-messages") {
		s.out.write(bytes.Clone(line))
	}
	s.host.resolve(in.Response.RequestID, r)
}

func (s *session) userMessage(in inbound) error {
	role := in.Message.Role
	if role == "" {
		role = "undefined"
	}
	if role != "user" {
		return fmt.Errorf("Error: Expected message role 'user', got '%s'", role)
	}
	blocks, err := contentBlocks(in.Message.Content)
	if err != nil || blocks == nil {
		return errors.New("Error: Expected message content to be a string or a list of blocks")
	}
	m := message{uuid: in.UUID, blocks: blocks, content: in.Message.Content}
	if s.faults.swallows() {
		return nil
	}
	arrival := s.inbox.push(m, func() { s.lifecycle(m.uuid, "queued") })
	if arrival != fresh {
		s.ledger.message("dropped", s.id, m)
	}
	if arrival == repeated || arrival == answeredBefore {
		s.replay(m)
	}
	if arrival == answeredBefore {
		s.lifecycle(m.uuid, "completed")
	}
	return nil
}
