package fakecli

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"slices"
)

// Texts that a resume adds to a conversation that was cut off (CLI 2.1.329).
const (
	noResponse  = "No response requested."
	lostOutcome = "[Tool call interrupted: the session ended before its result was recorded, so its outcome is unknown.]"
)

// past is what a transcript tells the process that resumes it.
type past struct {
	messages   []wireMessage
	answered   []string // uuids of messages that have an answer, at least in part
	unanswered []string // uuids of messages after the last answer
	dangling   []string // tool_use ids without a result
	open       bool     // the last message has no answer yet
	leaf       string
	cost       costState
	last       *usage // of the last answer
}

// costState is the transcript's line about what was spent.
type costState struct {
	Total float64               `json:"totalCostUSD"`
	Usage map[string]modelUsage `json:"modelUsage"`
}

// pastLine is what is read of a transcript line.
type pastLine struct {
	Type       string   `json:"type"`
	UUID       string   `json:"uuid"`
	Merged     []string `json:"mergedSendUuids"`
	APIError   bool     `json:"isApiErrorMessage"`
	Attachment struct {
		SourceUUID string `json:"source_uuid"`
	} `json:"attachment"`
	Rendered []struct {
		Content string `json:"content"`
	} `json:"rendered"`
	Message struct {
		Role    string          `json:"role"`
		Model   string          `json:"model"`
		Content json.RawMessage `json:"content"`
		Usage   *usage          `json:"usage"`
	} `json:"message"`
	costState
}

// readPast reads a transcript; nil if nobody has said anything in it. Lines that are not JSON
// are skipped: a crash can leave a torn one behind. Only stand-ins wrote it, one after the
// other, so it has no branches.
func readPast(path string) (*past, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read transcript: %w", err)
	}
	p := &past{}
	for line := range bytes.Lines(raw) {
		var l pastLine
		if json.Unmarshal(line, &l) == nil {
			p.take(&l)
		}
	}
	if p.leaf == "" {
		return nil, nil
	}
	return p, nil
}

func (p *past) take(l *pastLine) {
	role := l.Message.Role
	blocks, _ := contentBlocks(l.Message.Content) // a damaged line says nothing
	switch l.Type {
	case "user":
		p.unanswered = append(append(p.unanswered, l.Merged...), l.UUID)
		p.open = true
	case "assistant":
		p.answered, p.unanswered, p.open = append(p.answered, p.unanswered...), nil, false
		if l.APIError {
			blocks = nil // an answer that the model never sees
		} else if l.Message.Model != synthetic {
			p.last = l.Message.Usage
		}
	case "attachment":
		role = "system"
		p.unanswered = append(p.unanswered, l.Attachment.SourceUUID)
		for _, r := range l.Rendered {
			blocks = append(blocks, textBlock(r.Content))
		}
	case "cost-state":
		p.cost = l.costState
		return
	}
	p.leaf = l.UUID
	p.messages = appendMessage(p.messages, role, blocks...)
	p.pair(blocks)
}

// pair keeps account of the tool calls that have no result.
func (p *past) pair(blocks []json.RawMessage) {
	for _, raw := range blocks {
		var b struct {
			Type  string `json:"type"`
			ID    string `json:"id"`
			UseID string `json:"tool_use_id"`
		}
		_ = json.Unmarshal(raw, &b) // another shape has no type
		switch b.Type {
		case "tool_use":
			p.dangling = append(p.dangling, b.ID)
		case "tool_result":
			p.dangling = slices.DeleteFunc(p.dangling, func(id string) bool { return id == b.UseID })
		}
	}
}

// closePast completes a conversation that a crash cut off, before the first message of the
// resumed session joins it.
func (s *session) closePast() {
	p := s.past
	s.past = nil
	if p == nil || !p.open && len(p.dangling) == 0 {
		return
	}
	for _, id := range p.dangling {
		b := encode(obj{"type": "tool_result", "tool_use_id": id, "content": lostOutcome, "is_error": true})
		s.main.add("user", b)
		s.main.linkUser("", []json.RawMessage{b}, nil)
	}
	s.inbox.markAnswered(p.unanswered)
	s.main.add("assistant", textBlock(noResponse))
	s.main.tr.link(obj{"type": "assistant", "message": syntheticMessage(noResponse)})
}
