package transcript

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"sync"
)

// record is the object of one line, or one of several objects on a damaged line. A field that is missing or has the
// wrong type is empty; which ones count depends on Type.
type record struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype"` // of a system record: a remark that the model does not see
	Session string `json:"sessionId"`
	UUID    string `json:"uuid"`
	// Parent is the record that this one continues. A compaction begins a new tree; then Logical is the record
	// where the conversation continued from.
	Parent         string `json:"parentUuid"`
	Logical        string `json:"logicalParentUuid"`
	Timestamp      string `json:"timestamp"`   // RFC 3339 in UTC, with milliseconds
	Sidechain      bool   `json:"isSidechain"` // of a subagent
	Meta           bool   `json:"isMeta"`      // written by the CLI in the user's name
	CompactSummary bool   `json:"isCompactSummary"`
	APIError       bool   `json:"isApiErrorMessage"` // a text by the CLI: the API failed
	// PromptSource is set in messages from outside. Merged are the ids of messages that were merged into this
	// one, which has the id of the last one.
	PromptSource string   `json:"promptSource"`
	Merged       []string `json:"mergedSendUuids"`
	// Message is a message in the API's form. Each record of an assistant holds one content block of it.
	Message struct {
		ID         string          `json:"id"`
		Model      string          `json:"model"`
		StopReason string          `json:"stop_reason"`
		Content    json.RawMessage `json:"content"` // text, or a list of blocks
		Usage      Usage           `json:"usage"`
	} `json:"message"`
	// Attachment is something that the CLI added to the conversation: with SourceUUID a message that was folded
	// into a running turn, of type structured_output an accepted verdict.
	Attachment struct {
		Type       string          `json:"type"`
		SourceUUID string          `json:"source_uuid"`
		ToolUseID  string          `json:"toolUseID"`
		Data       json.RawMessage `json:"data"`
	} `json:"attachment"`
}

// Types of records.
const (
	userRecord      = "user"
	assistantRecord = "assistant"
)

// of reports whether a record belongs to a session. A record without a session belongs to every session.
func (r *record) of(session string) bool {
	return r.Session == "" || session == "" || strings.EqualFold(r.Session, session)
}

// sample returns the usage that the line reports.
func (r *record) sample() Sample {
	return Sample{MessageID: r.Message.ID, Model: r.Message.Model, Usage: r.Message.Usage, Sidechain: r.Sidechain}
}

// blocks returns the message's content blocks.
func (r *record) blocks() []Block { return blocksOf(r.Message.Content) }

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

// blocksOf returns the blocks of a content; plain text is one block, and content of another form has none.
func blocksOf(content json.RawMessage) []Block {
	var text string
	if json.Unmarshal(content, &text) == nil && text != "" {
		return []Block{{Type: "text", Text: text}}
	}
	var raw []json.RawMessage
	if json.Unmarshal(content, &raw) != nil {
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

// decode decodes one line, given without its end, to records. A line that is one object gives one record. In a
// damaged line, decode finds every whole object that begins like a record, and leaves out incomplete records before
// it, NULs, and text that was joined to it without a line end. whole reports that the line was undamaged JSON.
func decode(line []byte) (records []*record, whole bool) {
	line = bytes.Trim(line, " \t\r\n")
	if len(line) == 0 {
		return nil, true
	}
	r := &record{}
	switch err := json.Unmarshal(line, r); {
	case !readable(err):
		return recoverRecords(line), false
	case line[0] != '{':
		return nil, true // no object
	}
	return []*record{r}, true
}

// readable reports whether encoding/json has decoded the other fields in spite of this error.
func readable(err error) bool {
	var odd *json.UnmarshalTypeError
	return err == nil || errors.As(err, &odd)
}

// beginnings matches the beginning of a record, to be looked for in a damaged line. Quotes inside of JSON
// strings are escaped, so that nothing is found there.
var beginnings = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`\{"(parentUuid|type)":`)
})

// maxStubs is how many incomplete records a damaged line may have before the search ends.
const maxStubs = 8

// recoverRecords finds the records in a damaged line.
func recoverRecords(line []byte) (records []*record) {
	for stubs := 0; stubs < maxStubs; {
		at := beginnings().FindIndex(line)
		if at == nil {
			break
		}
		line = line[at[0]:]
		r := &record{}
		dec := json.NewDecoder(bytes.NewReader(line))
		if !readable(dec.Decode(r)) {
			stubs++
			line = line[1:] // a record joined to the incomplete one may be whole
			continue
		}
		records = append(records, r)
		line = line[dec.InputOffset():]
	}
	return records
}
