package fakecli

import (
	"bufio"
	"encoding/json"
	"errors"
	"io"
	"os"
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
		if len(line) > 0 {
			s.receive(line)
		}
		if err != nil {
			// End of input is not a stop: what is queued still runs, without a host to ask.
			s.host.close()
			s.inbox.close()
			return
		}
	}
}

// receive handles one line. What is not understood is passed over.
func (s *session) receive(line []byte) {
	var in inbound
	_ = json.Unmarshal(line, &in) // another shape has no type
	switch r := in.Response; {
	case in.Type == "control_request" && in.Request != nil:
		s.control(in.RequestID, *in.Request)
	case in.Type == "control_response" && r != nil:
		s.host.resolve(r.RequestID, reply{r.Response, r.Subtype == "error", r.Error})
	case in.Type == "user":
		s.userMessage(in)
	}
}

func (s *session) userMessage(in inbound) {
	blocks, _ := contentBlocks(in.Message.Content) // another shape says nothing
	m := message{uuid: in.UUID, blocks: blocks, content: in.Message.Content}
	if s.faults.swallows() {
		return
	}
	arrival := s.inbox.push(m, func() { s.lifecycle(m.uuid, "queued") })
	if arrival != fresh {
		s.ledger.message("dropped", s.id, m)
	}
	if arrival >= repeated {
		s.replay(m)
	}
	if arrival == answeredBefore {
		s.lifecycle(m.uuid, "completed")
	}
}
