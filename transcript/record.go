package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
)

// Record is one line's object, or one of several on a damaged line. Fields that
// a type of record does not have are zero.
type Record struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"`
	Session string `json:"sessionId"`
	UUID    string `json:"uuid"`
	// Parent links a record to the one before it. A compaction starts anew: then
	// Logical names where the conversation went on from.
	Parent    string `json:"parentUuid"`
	Logical   string `json:"logicalParentUuid"`
	Timestamp string `json:"timestamp"`

	Sidechain      bool `json:"isSidechain"` // of a subagent
	Meta           bool `json:"isMeta"`      // said by the CLI, in the user's name
	CompactSummary bool `json:"isCompactSummary"`
	APIError       bool `json:"isApiErrorMessage"`

	// PromptSource is set where somebody outside spoke. Merged are messages that
	// became one with this one, which bears the last one's id.
	PromptSource string   `json:"promptSource"`
	Merged       []string `json:"mergedSendUuids"`

	Message    *Message    `json:"message"`
	Attachment *Attachment `json:"attachment"`
}

// Message is a message as the API has it; of an assistant's each record holds one
// content block.
type Message struct {
	ID         string          `json:"id"`
	Role       string          `json:"role"`
	Model      string          `json:"model"`
	StopReason string          `json:"stop_reason"`
	Content    json.RawMessage `json:"content"` // text, or a list of blocks
}

// Attachment is something the CLI added to the conversation.
type Attachment struct {
	Type string `json:"type"`
	// SourceUUID is the id of a message that was folded into a running turn
	// (type queued_command).
	SourceUUID string `json:"source_uuid"`
	// ToolUseID and Data are of an accepted verdict (type structured_output).
	ToolUseID string          `json:"toolUseID"`
	Data      json.RawMessage `json:"data"`
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
}

// Blocks reads a message's content; plain text is one block. Content of another
// shape has none.
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

// beginnings of a record, where one is looked for in a damaged line.
var beginnings = [][]byte{[]byte(`{"parentUuid":`), []byte(`{"type":`)}

// maxStubs bounds how many cut records one damaged line is searched behind.
const maxStubs = 8

// parse makes records of a line. A line that is one object yields it. In a
// damaged one every object that begins like a record and is whole is found: the
// stub before it, NULs, and what was joined to it without a line end are left.
// whole says that the line was as it should be.
func parse(line []byte) (records []Record, whole bool) {
	line = bytes.TrimSpace(line)
	if len(line) == 0 {
		return nil, true
	}
	if json.Valid(line) {
		var r Record
		if line[0] != '{' || !readable(json.Unmarshal(line, &r)) {
			return nil, true
		}
		return []Record{r}, true
	}
	for stubs := 0; stubs < maxStubs; {
		at := nextBeginning(line)
		if at < 0 {
			break
		}
		line = line[at:]
		var r Record
		d := json.NewDecoder(bytes.NewReader(line))
		if !readable(d.Decode(&r)) {
			stubs++
			line = line[1:] // what joined the stub may be whole
			continue
		}
		records = append(records, r)
		line = line[d.InputOffset():]
	}
	return records, false
}

// readable: a known field of another type is left empty and hides no other.
func readable(err error) bool {
	_, odd := errors.AsType[*json.UnmarshalTypeError](err)
	return err == nil || odd
}

// nextBeginning finds where the next record may begin, -1 if nowhere. Inside of
// JSON text the quotes are escaped, so what is found there is none.
func nextBeginning(line []byte) int {
	first := -1
	for _, b := range beginnings {
		if i := bytes.Index(line, b); i >= 0 && (first < 0 || i < first) {
			first = i
		}
	}
	return first
}
