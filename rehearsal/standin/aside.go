package standin

import (
	"encoding/json"
	"time"
)

// sideQuestion asks the model outside the conversation.
func (s *session) sideQuestion(id string, raw json.RawMessage) controlResult {
	var in struct{ Question string }
	_ = json.Unmarshal(raw, &in) // an empty question is still one
	s.emit(obj{"type": "system", "subtype": "control_request_progress", "request_id": id, "status": "started"})
	r := s.main.request()
	r.messages = append(r.messages, wireMessage{Role: "user", Content: []json.RawMessage{textBlock(
		"<system-reminder>This is a side question: one answer, without tools.</system-reminder>\n\n" + in.Question)}})
	text, err := s.askAside(r)
	if err != nil {
		return controlResult{refused: err.Error()}
	}
	return controlResult{payload: obj{"response": text, "synthetic": false}}
}

// askAside makes one model call outside the conversation.
func (s *session) askAside(r modelRequest) (string, error) {
	begun := time.Now()
	a, err := s.api.call(s.ctx, r, silent{})
	if err != nil {
		return "", err
	}
	s.ledger.add(r.model, a.usage, false, time.Since(begun))
	return a.text(), nil
}
