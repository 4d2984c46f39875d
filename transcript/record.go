package transcript

import (
	"encoding/json"
	"strings"
)

// Record is the object of one line, or one of several objects on a damaged line. A field that its type does not
// have, that is missing, or that has the wrong type is empty.
type Record struct {
	Type    string `json:"type"` // one of those below, or another that is not used here
	Subtype string `json:"subtype"`
	Session string `json:"sessionId"`
	UUID    string `json:"uuid"`
	// Parent is the record that this one continues. A compaction begins a new tree; then Logical is the record
	// where the conversation continued from.
	Parent    string `json:"parentUuid"`
	Logical   string `json:"logicalParentUuid"`
	Timestamp string `json:"timestamp"`   // as written: RFC 3339 in UTC, with milliseconds
	Sidechain bool   `json:"isSidechain"` // of a subagent

	Message        Message `json:"message"`           // of a user or an assistant
	APIError       bool    `json:"isApiErrorMessage"` // a text by the CLI: the API failed
	Meta           bool    `json:"isMeta"`            // written by the CLI in the user's name
	CompactSummary bool    `json:"isCompactSummary"`  // the summary of the conversation before a compaction
	// PromptSource is set in messages from outside. Merged are the ids of messages that were merged into this
	// one, which has the id of the last one.
	PromptSource string   `json:"promptSource"`
	Merged       []string `json:"mergedSendUuids"`

	Attachment struct {
		Kind string `json:"type"`
		// SourceUUID is the id of a message that was folded into a running turn (kind queued_command).
		SourceUUID string `json:"source_uuid"`
		// ToolUseID and Data belong to an accepted verdict (kind structured_output).
		ToolUseID string          `json:"toolUseID"`
		Data      json.RawMessage `json:"data"`
	} `json:"attachment"`
}

// The types of records that are used here.
const (
	user       = "user"       // a message to the model: from outside, by the CLI, or with the results of tools
	assistant  = "assistant"  // one content block of a message from the model
	attachment = "attachment" // something the CLI added to the conversation
	system     = "system"     // a remark by the CLI that the model does not see
)

// of reports whether a record belongs to a session. A record without a session belongs to every session.
func (r *Record) of(session string) bool {
	return r.Session == "" || session == "" || strings.EqualFold(r.Session, session)
}

// Sample returns the usage that a message of the model reports. Other records have none that counts.
func (r *Record) Sample() Sample {
	if r.Type != assistant || r.APIError {
		return Sample{}
	}
	return Sample{MessageID: r.Message.ID, Model: r.Message.Model, Usage: r.Message.Usage, Sidechain: r.Sidechain}
}

// Compacts reports whether the context was compacted here.
func (r *Record) Compacts() bool { return r.Type == system && r.Subtype == "compact_boundary" }

// Message is a message in the API's form. Each record of an assistant holds one content block of it.
type Message struct {
	ID         string          `json:"id"`
	Model      string          `json:"model"`
	StopReason string          `json:"stop_reason"`
	Usage      Usage           `json:"usage"`   // of an assistant's
	Content    json.RawMessage `json:"content"` // text, or a list of blocks
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
