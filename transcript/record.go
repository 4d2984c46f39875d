package transcript

import (
	"encoding/json"
	"strings"
)

// Record is the object of one line, or one of several objects on a damaged line: User, Assistant, Attachment,
// System or Other.
//
// A field that is missing or has the wrong type is empty.
type Record interface {
	Head() *Header
	record()
}

// Header holds the common fields of records. Fields that a type of record does not have are empty.
type Header struct {
	Type    string
	Session string
	UUID    string
	// Parent is the record that this one continues. A compaction begins a new tree; then Logical is the record
	// where the conversation continued from.
	Parent    string
	Logical   string
	Timestamp string // as written: RFC 3339 in UTC, with milliseconds
	Sidechain bool   // of a subagent
}

// Head returns the header itself, not a copy.
func (h *Header) Head() *Header { return h }

func (h *Header) record() {}

// of reports whether a record belongs to a session. A record without a session belongs to every session.
func (h *Header) of(session string) bool {
	return h.Session == "" || session == "" || strings.EqualFold(h.Session, session)
}

// User is a message to the model: from outside, from the CLI in the user's name, or with the results of tools.
type User struct {
	Header
	Meta           bool // written by the CLI in the user's name
	CompactSummary bool // the summary of the conversation before a compaction

	// PromptSource is set in messages from outside. Merged are the ids of messages that were merged into this
	// one, which has the id of the last one.
	PromptSource string
	Merged       []string

	Message Message
}

// Assistant is one content block of a message from the model.
type Assistant struct {
	Header
	APIError bool // a text by the CLI: the API failed
	Message  Message
}

// Sample returns the usage that the line reports.
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
	// ToolUseID and Data belong to an accepted verdict (kind structured_output).
	ToolUseID string
	Data      json.RawMessage
}

// System is a remark by the CLI that the model does not see.
type System struct {
	Header
	Subtype string
}

// Compacts reports whether the context was compacted here.
func (s *System) Compacts() bool { return s.Subtype == "compact_boundary" }

// Other is a record of a type that is not used here. Most of these are not part of the conversation, such as
// entries about the CLI's queue or the session's costs.
type Other struct{ Header }

// Message is a message in the API's form. Each record of an assistant holds one content block of it.
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

// Blocks returns a message's content blocks; plain text is one block, and content of another form has none. The
// blocks are copies.
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
		if json.Unmarshal(r, &b) == nil { // skip a block of the wrong form, not its neighbours
			blocks = append(blocks, b)
		}
	}
	return blocks
}
