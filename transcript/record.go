package transcript

import (
	"encoding/json"
	"strings"
)

// Record is one line's object, or one of several on a damaged line: User,
// Assistant, Attachment, System or Other.
//
// A field that was missing, or not of the type it should have, is empty.
type Record interface {
	Head() *Header
	record()
}

// Header holds the common fields of records. Fields that a type of record does not have are
// empty.
type Header struct {
	Type    string
	Session string
	UUID    string
	// Parent links a record to the one before it. A compaction starts anew: then
	// Logical names where the conversation continued from.
	Parent    string
	Logical   string
	Timestamp string // as written: RFC 3339 in UTC, with milliseconds
	Sidechain bool   // of a subagent
}

// Head returns the header itself, not a copy.
func (h *Header) Head() *Header { return h }

func (h *Header) record() {}

// of reports whether a record belongs to a session. A record that names none belongs to every one.
func (h *Header) of(session string) bool {
	return h.Session == "" || session == "" || strings.EqualFold(h.Session, session)
}

// User is a message to the model: from outside, from the CLI in the user's name,
// or results of tools.
type User struct {
	Header
	Meta           bool // said by the CLI, in the user's name
	CompactSummary bool // what is left of the conversation before a compaction

	// PromptSource is set in messages from outside. Merged are messages that
	// became one with this one, which bears the last one's id.
	PromptSource string
	Merged       []string

	Message Message
}

// Assistant is one content block of a message of the model.
type Assistant struct {
	Header
	APIError bool // the CLI's words: the API failed
	Message  Message
}

// Sample is the usage that the line reports.
func (a *Assistant) Sample() Sample {
	return Sample{MessageID: a.Message.ID, Model: a.Message.Model, Usage: a.Message.Usage, Sidechain: a.Sidechain}
}

// Attachment is something the CLI added to the conversation.
type Attachment struct {
	Header
	Kind string // its "type"
	// SourceUUID is the id of a message that was folded into a running turn
	// (kind queued_command).
	SourceUUID string
	// ToolUseID and Data are of an accepted verdict (kind structured_output).
	ToolUseID string
	Data      json.RawMessage
}

// System is a remark of the CLI that the model does not see.
type System struct {
	Header
	Subtype string
}

// Compacts says that the context was compacted here.
func (s *System) Compacts() bool { return s.Subtype == "compact_boundary" }

// Other is a record of a type that is of no interest here: most stand beside the
// conversation, such as what came into the CLI's queue or the session's account.
type Other struct{ Header }

// Message is a message as the API has it; of an assistant's each record holds one
// content block.
type Message struct {
	ID         string
	Model      string
	StopReason string
	Usage      Usage           // of an assistant's
	Content    json.RawMessage // text, or a list of blocks
}

// Block is a content block of a message.
type Block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	IsError   bool            `json:"is_error"`
	Content   json.RawMessage `json:"content"` // of a tool's result
}

// Blocks reads a message's content; plain text is one block. Content of another
// shape has none. The blocks are copies.
func (m *Message) Blocks() []Block {
	if m == nil || len(m.Content) == 0 {
		return nil
	}
	if m.Content[0] == '"' {
		var text string
		if json.Unmarshal(m.Content, &text) != nil {
			return nil
		}
		return []Block{{Type: "text", Text: text}}
	}
	var raw []json.RawMessage
	if json.Unmarshal(m.Content, &raw) != nil {
		return nil
	}
	blocks := make([]Block, 0, len(raw))
	for _, r := range raw {
		var b Block
		if json.Unmarshal(r, &b) == nil { // one that is odd does not hide its neighbours
			blocks = append(blocks, b)
		}
	}
	return blocks
}
